"""The links of a page of results: decoded, or dropped."""

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.web.search.duckduckgo_page import MAX_NESTED_REDIRECTS, target_of
from servers.web.search.links import MAX_LINK_CHARACTERS, web_link

TARGET = "https://marsh.example/birds?id=7&lang=en#top"
DECODED = {
    "a direct link": (TARGET, TARGET),
    "the redirect": (f"//duckduckgo.com/l/?uddg={quote(TARGET, safe='')}&rut=ab", TARGET),
    "other parameters first": (f"/l/?kh=-1&uddg={quote(TARGET, safe='')}", TARGET),
    "no slash before the query": (f"//duckduckgo.com/l?uddg={quote(TARGET, safe='')}", TARGET),
    "on a subdomain": (f"https://html.duckduckgo.com/l/?uddg={quote(TARGET, safe='')}", TARGET),
    "encoded twice": (f"/l/?uddg={quote(quote(TARGET, safe=''), safe='')}", TARGET),
    "a redirect to a redirect": (
        "/l/?uddg=" + quote("//duckduckgo.com/l/?uddg=" + quote(TARGET, safe=""), safe=""),
        TARGET,
    ),
    "the engine's name in a path elsewhere": (
        "https://a.example/duckduckgo.com/l/?uddg=https://b.example/",
        "https://a.example/duckduckgo.com/l/?uddg=https://b.example/",
    ),
    "a host that only ends like the engine's": (
        "https://notduckduckgo.com/y.js?ad_domain=x",
        "https://notduckduckgo.com/y.js?ad_domain=x",
    ),
    "a page of the engine, named with its host": (
        "https://duckduckgo.com/about",
        "https://duckduckgo.com/about",
    ),
    "blanks in it": ("/l/?uddg=https%3A%2F%2Fa.example%2Fb%20c", "https://a.example/b%20c"),
    "blanks around it": ("  https://a.example/ \n", "https://a.example/"),
    "invisible characters in a path": (
        "https://a.example/b\u200bc\u202e",
        "https://a.example/b%E2%80%8Bc%E2%80%AE",
    ),
    "letters of other scripts": ("https://é.example/ü", "https://é.example/ü"),
}  # fmt: skip

DROPPED = {
    "nothing": "",
    "an advertisement": "https://duckduckgo.com/y.js?ad_domain=shop.example&u3=https%3A%2F%2Fx",
    "an advertisement with a target": f"//duckduckgo.com/y.js?uddg={quote(TARGET, safe='')}",
    "an advertisement at another path": "//duckduckgo.com/z.js?ad_provider=bing",
    "an advertisement in the redirect": "/l/?uddg=" + quote("//duckduckgo.com/y.js?a=b", safe=""),
    "a redirect without a target": "//duckduckgo.com/l/?rut=ab",
    "a redirect to nothing": "//duckduckgo.com/l/?uddg=",
    "a script": "javascript:alert(1)",
    "a script in the redirect": "/l/?uddg=javascript%3Aalert(1)",
    "a script with a tab": "java\tscript:alert(1)",
    "a file": "/l/?uddg=file%3A%2F%2F%2Fetc%2Fpasswd",
    "data": "data:text/html,hello",
    "no scheme": "/l/?uddg=www.marsh.example",
    "no host": "https:///path",
    "a page of the engine": "/html/?q=more",
    "a user's name": "https://bank.example@evil.example/",
    "a line end": "https://a.example/\r\nHost: b.example",
    "a backslash": "https://a.example\\@b.example/",
    "a port that is none": "https://a.example:99999999/",
    "brackets left open": "https://[::1/",
    "an encoded host": "https://a%2eexample/",
    "half a character": "https://a.example/\ud800",
    "a very long one": "https://a.example/" + "a" * MAX_LINK_CHARACTERS,
    "a very long redirect": "/l/?uddg=https://a.example/&x=" + "a" * 20_000,
    "very many parameters": "/l/?" + "a=b&" * 100 + "uddg=https://a.example/",
}


@pytest.mark.parametrize("case", DECODED)
def test_a_link_leads_to_its_target(case: str) -> None:
    href, target = DECODED[case]
    assert target_of(href) == target


@pytest.mark.parametrize("case", DROPPED)
def test_a_link_that_leads_to_no_page_is_dropped(case: str) -> None:
    assert target_of(DROPPED[case]) is None


PATHS = st.text("aZ09éß日🎉%&=+?#/;:@!'()~.-_\"<>[]|\u200b", max_size=40)


@settings(max_examples=50)
@given(path=PATHS, depth=st.integers(0, MAX_NESTED_REDIRECTS - 1))
def test_any_target_comes_through_nested_redirects(path: str, depth: int) -> None:
    target = f"https://a.example/{path}"
    href = target
    for _ in range(depth):
        href = f"//duckduckgo.com/l/?rut=1&uddg={quote(href, safe='')}"
    assert target_of(href) == web_link(target) is not None


def test_a_redirect_that_never_ends_is_dropped() -> None:
    href = TARGET
    for _ in range(MAX_NESTED_REDIRECTS):
        href = f"/l/?uddg={quote(href, safe='')}"
    assert target_of(href) is None


@settings(max_examples=50)
@given(
    st.text()
    | st.builds(
        str.__add__, st.sampled_from(["//duckduckgo.com/l/?uddg=", "/l/?", "http://"]), st.text()
    )
)
def test_whatever_stands_in_a_link_it_is_a_clean_address_or_nothing(href: str) -> None:
    target = target_of(href)
    if target is not None:
        parts = urlsplit(target)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        assert "@" not in parts.netloc
        assert target.isprintable()
        assert " " not in target
        assert len(target) <= MAX_LINK_CHARACTERS
