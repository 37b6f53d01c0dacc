"""Titles and snippets as plain text, results as text for a model, links remembered as found."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.web.ports import SearchResult
from servers.web.search.results import (
    NOTHING_FOUND,
    FoundLinks,
    format_results_for_llm,
    plain_text,
    without_tags,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("  two \r\n lines\tand\x0b more ", "two lines and more"),
        ("a\u2028b\u2029c\u0085d\u3000e", "a b c d e"),
        ("bell\x07 \x1b[31mred\x9b", "bell [31mred"),
        ("\u202eevil\u202c \u2066x\u2069 \u200fy\u061c", "evil x y"),
        ("zero\u200bwidth\ufeff and\u2060 soft\u00adhyphen", "zerowidth and softhyphen"),
        ("tags\U000e0049\U000e0067\U000e007f", "tags"),
        ("fillers\u115f\u1160\u3164\uffa0\u034f\u2800end", "fillersend"),
        ("variation\U000e0100\U000e01ef", "variation"),
        ("coded" + "\u200c\u200d" * 20 + "\ufe0f" * 9, "coded"),
        ("private\ue000 half\ud800 unassigned\U000e1000", "private half unassigned"),
        ("می‌خواهم 👩‍🔬 ❤️ हिन्दी 日本語 é", "می‌خواهم 👩‍🔬 ❤ हिन्दी 日本語 é"),
        ("<b>tags</b> &amp; stay", "<b>tags</b> &amp; stay"),
        ("x" * 41, "x" * 39 + "…"),
        ("x" * 40, "x" * 40),
        ("x" * 38 + " yy zz", "x" * 38 + "…"),
    ],
)
def test_only_what_can_be_seen_stays(text: str, shown: str) -> None:
    assert plain_text(text, 40) == shown


@settings(max_examples=50)
@given(st.text(st.characters()))
def test_any_text_becomes_one_bounded_line(text: str) -> None:
    line = plain_text(text, 30)
    assert len(line) <= 30
    assert line == " ".join(line.split())
    assert not {unicodedata.category(c) for c in line} & {"Cc", "Cs", "Zl", "Zp", "Co"}


def test_much_hidden_text_costs_no_time_and_hides_no_more_than_itself() -> None:
    assert plain_text("\u200b" * 10_000_000 + "late", 40) == ""
    assert plain_text("\u200b" * 100 + "soon", 40) == "soon"


def test_emphasis_and_entities_of_an_engine_are_taken_off() -> None:
    text = without_tags("<strong>a</strong> &lt;b&gt; &amp;lt; <EM>c</EM> x<y>z")
    assert text == "a <b> &lt; c x<y>z"


def test_results_are_numbered_text() -> None:
    text = format_results_for_llm(
        [
            SearchResult(1, "First", "https://a.example/", "About a."),
            SearchResult(2, "Second", "https://b.example/", ""),
        ]
    )
    assert text == (
        "Found 2 search results:\n\n"
        "1. First\n   URL: https://a.example/\n   Summary: About a.\n\n"
        "2. Second\n   URL: https://b.example/"
    )


def test_nothing_found_is_said_plainly_with_a_hint() -> None:
    assert format_results_for_llm([]) == NOTHING_FOUND
    assert NOTHING_FOUND.startswith("No results")
    assert "other words" in NOTHING_FOUND


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
    assert found.because(asked) == "found"


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
    assert found.because(asked) == "typed"


def test_the_oldest_are_forgotten_and_a_link_seen_again_is_young() -> None:
    found = FoundLinks(limit=2)
    found.remember(hits("https://a.example/", "https://b.example/"))
    found.remember(hits("https://a.example/"))
    found.remember(hits("https://c.example/"))
    told = [found.because(f"https://{name}.example/") for name in "abc"]
    assert told == ["found", "typed", "found"]
