"""URLs as they are found in text, and which of them are the same."""

import time

import pytest

from core.provenance.urls import (
    LINKS_MAX,
    addresses_in,
    hosts_named,
    known_keys,
    links_in_list,
    links_on_page,
    parse_url,
    url_runs,
    urls_in,
)


def key(url: str) -> str:
    parsed = parse_url(url)
    assert parsed is not None
    return parsed.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x", "HTTPS://A.Example./x"),
        ("https://a.example/x", "https://www.a.example/x/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("https://a.example/a/../x", "https://a.example/./x"),
        ("https://a.example/%7Eann", "https://a.example/~ann"),
        ("https://a.example/%c3%a4", "https://a.example/ä"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ("https://ａ.example/", "https://a.example/"),
        ("https://a.example/x#y", "https://a.example/x"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]"),
        ("a.example/x", "https://a.example/x"),
        ("//a.example/x", "https://a.example/x"),
        ("https:\\\\a.example\\x", "https://a.example/x"),
    ],
)
def test_what_leads_to_the_same_place_is_the_same(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x", "http://a.example/x"),
        ("https://a.example/x", "https://a.example/X"),
        ("https://a.example/x", "https://a.example/x?y"),
        ("https://a.example/x", "https://u@a.example/x"),
        ("https://a.example/x", "https://a.example:8443/x"),
        ("https://a.example/x", "https://b.a.example/x"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
        ("https://paypal.example/", "https://p\u0430ypal.example/"),
        ("https://faß.example/", "https://fass.example/"),
    ],
)
def test_what_may_carry_something_is_another(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_an_address_of_http_is_known_by_https_too_but_not_the_other_way() -> None:
    assert key("https://a.example/x") in set(known_keys("http://a.example/x"))
    assert key("http://a.example/x") not in set(known_keys("https://a.example/x"))
    assert {key("http://a.example/x"), key("https://a.example/x")} == set(known_keys("a.example/x"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        (
            "[a](https://a.example/x)[b](https://b.example)",
            ["https://a.example/x", "https://b.example"],
        ),
        ("(https://w.example/A_(b))", ["https://w.example/A_(b)"]),
        ("<a href='https://a.example/x'>", ["https://a.example/x"]),
        ("在 https://a.example/x，然后", ["https://a.example/x"]),
        ("www.a.example/x and //b.example/y", ["www.a.example/x", "//b.example/y"]),
        ("a // comment, and/or, 1//2", []),
    ],
)
def test_addresses_end_where_the_text_around_them_says(text: str, found: list[str]) -> None:
    assert [*urls_in(text)] == found


def test_a_run_goes_on_to_the_next_white_space() -> None:
    text = "x=https://a.example/x)y z"
    assert [text[start:end] for start, end in url_runs(text)] == ["https://a.example/x)y"]


def test_a_host_is_named_without_a_scheme() -> None:
    assert [*hosts_named("Is a.example/x, or b.example. down? I ate 1.5 e.g.")] == [
        "a.example/x",
        "b.example",
    ]


def test_links_of_a_page_are_those_to_its_own_host() -> None:
    text = "[a](/x) [b](y.html) <a href=z> https://www.a.example/w https://b.example/ //c.example/v"
    found = {*links_on_page(text, "https://a.example/d/page")}
    paths = ("/x", "/d/y.html", "/d/z", "/w")
    assert {f"https://a.example{path}" for path in paths} <= found
    assert not [url for url in found if "b.example" in url or "c.example" in url]


def test_an_address_without_an_end_is_none() -> None:
    assert parse_url(f"https://a.example/{'x' * 10_000}") is None


@pytest.mark.parametrize(
    "text",
    [
        "a-" * 200_000,
        "https://" * 50_000,
        "](" * 200_000,
        "@a." * 130_000,
        "href=" * 80_000,
        "www." * 100_000,
        "a." * 200_000,
        "//a" * 130_000,
    ],
    ids=["dashes", "schemes", "brackets", "at", "href", "www", "labels", "slashes"],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    part, began = text[:40_000], time.process_time()
    for _ in links_on_page(part, "https://a.example"):
        pass
    for _ in (*url_runs(part), *addresses_in(part), *hosts_named(part)):
        pass
    assert time.process_time() - began < 1.0


def test_of_a_list_without_end_the_first_links_are_known() -> None:
    text = "\n".join(f"https://a{n}.example" for n in range(20))
    assert len({*links_in_list(text)}) == 20
    assert LINKS_MAX == 100_000


def test_addresses_of_people() -> None:
    text = "To: Bob <Bob.B+x@Mail.Example>, eve@evil.example; a@b, pkg@1.2.3"
    assert [key for _, key in addresses_in(text)] == ["bob.b+x@mail.example", "eve@evil.example"]
