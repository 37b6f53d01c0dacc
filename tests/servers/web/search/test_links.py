"""The memory of what searches returned tells a found page from a typed one."""

import pytest

from servers.web.ports import SearchResult
from servers.web.search.links import FoundLinks


def hits(*links: str) -> list[SearchResult]:
    return [SearchResult(n, "t", link, "s") for n, link in enumerate(links, 1)]


def test_a_link_is_found_once_a_search_returned_it() -> None:
    found = FoundLinks()
    assert found.because("https://a.example/x") == "typed"
    found.remember(hits("https://a.example/x"))
    assert found.because("https://a.example/x") == "found"
    assert found.because("https://a.example/y") == "typed"


@pytest.mark.parametrize(
    ("returned", "asked"),
    [
        ("https://a.example", "https://a.example/"),
        ("https://a.example/x", "http://a.example/x/"),
        ("https://a.example/x#part", "https://a.example/x"),
        ("https://a.example/x", " HTTPS://A.Example.:443/x#other "),
        ("http://a.example:80/", "http://a.example"),
        ("https://a.example/b%20c?q=%C3%A9", "https://a.example/b c?q=é"),
        ("https://a.example:8443/", "https://a.example:8443"),
    ],
)
def test_two_ways_to_write_an_address_are_one_link(returned: str, asked: str) -> None:
    found = FoundLinks()
    found.remember(hits(returned))
    assert asked in found


@pytest.mark.parametrize(
    "asked",
    [
        "https://a.example/X",
        "https://a.example:8443/x",
        "https://a.example/x?y",
        "https://b.example/x",
        "https://[::1/x",
        "https://a.example:port/x",
        "",
    ],
)
def test_another_address_is_not_found(asked: str) -> None:
    found = FoundLinks()
    found.remember(hits("https://a.example/x"))
    assert asked not in found


def test_the_oldest_are_forgotten_and_a_link_seen_again_is_young() -> None:
    found = FoundLinks(limit=2)
    found.remember(hits("https://a.example/", "https://b.example/"))
    found.remember(hits("https://a.example/"))
    found.remember(hits("https://c.example/"))
    assert len(found) == 2
    assert "https://a.example/" in found
    assert "https://b.example/" not in found
