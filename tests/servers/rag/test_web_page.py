"""Only public pages are fetched, whatever name, number or redirect leads elsewhere."""

from collections.abc import Callable, Sequence
from pathlib import Path

import httpx2
import pytest

from servers.rag.page_text import page_markdown
from servers.rag.passages import Extracted
from servers.rag.web_page import PAGE_BYTES_MAX, PageRefused, WebPage, fetch_page, is_public

PUBLIC = "93.184.215.14"
NAMES = {"example.org": [PUBLIC], "inside.example": ["10.0.0.7"], "both.example": [PUBLIC, "::1"]}


def lookup(host: str, port: int) -> Sequence[str]:
    if host not in NAMES:
        raise OSError("no such host")
    return NAMES[host]


def fetch(url: str, answer: Callable[[httpx2.Request], httpx2.Response]) -> WebPage:
    with httpx2.Client(transport=httpx2.MockTransport(answer)) as client:
        return fetch_page(url, lookup=lookup, client=client)


def page(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/html; charset=utf-8"}, text="<p>x")


def never(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"{request.url} was asked")


def test_the_connection_goes_to_the_address_that_was_looked_at() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return page(request)

    got = fetch("https://example.org/a?b=1#c", answer)
    assert (got.media_type, got.data) == ("text/html", b"<p>x")
    assert asked[0].url.host == PUBLIC
    assert asked[0].headers["host"] == "example.org"
    assert asked[0].extensions["sni_hostname"] == "example.org"
    assert asked[0].url.raw_path == b"/a?b=1"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://10.1.2.3/",
        "http://192.168.0.1:8080/", "http://172.16.0.1/", "http://169.254.169.254/latest/meta-data",
        "http://0.0.0.0/", "http://100.64.0.1/", "http://[fd00::1]/", "http://[fe80::1]/",
        "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
        "http://224.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://inside.example/",
        "http://both.example/", "http://unknown.example/", "http://user:pw@example.org/",
        "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "example.org", "",
        "http://", "http://example.org:99999/", "http://exa mple.org/", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_what_is_no_public_page_is_refused_before_any_connection(url: str) -> None:
    with pytest.raises(PageRefused):
        fetch(url, never)


def test_redirects_are_looked_at_in_the_same_way() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/in":
            return httpx2.Response(302, headers={"location": "http://inside.example/secret"})
        if request.url.path == "/round":
            return httpx2.Response(301, headers={"location": "/round"})
        if request.url.path == "/on":
            return httpx2.Response(307, headers={"location": "../page"})
        return page(request)

    assert fetch("http://example.org/on", answer).url == "http://example.org/page"
    for path, told in (("in", "not on the public internet"), ("round", "more than 5 times")):
        with pytest.raises(PageRefused, match=told):
            fetch(f"http://example.org/{path}", answer)


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (httpx2.Response(404, text="no"), "status 404"),
        (httpx2.Response(200, headers={"content-type": "image/png"}, content=b"x"), "image/png"),
        (httpx2.Response(200, content=b"x" * (PAGE_BYTES_MAX + 1)), "larger than"),
    ],
)
def test_a_page_that_is_none_or_too_large_is_refused(response: httpx2.Response, told: str) -> None:
    with pytest.raises(PageRefused, match=told):
        fetch("http://example.org/", lambda _: response)


def test_a_page_that_drips_is_given_up() -> None:
    ticks = iter((0.0, 30.0))
    with (
        httpx2.Client(transport=httpx2.MockTransport(page)) as client,
        pytest.raises(PageRefused, match="takes longer"),
    ):
        fetch_page("http://example.org/", lookup=lookup, client=client, clock=lambda: next(ticks))


def test_a_connection_that_fails_is_told_in_one_line() -> None:
    def down(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    with pytest.raises(PageRefused, match=r"example.org/ can't be read: connection refused"):
        fetch("http://example.org/", down)


def test_addresses_are_looked_at_through_their_disguises() -> None:
    assert is_public(PUBLIC)
    assert is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    for address in ("::ffff:10.0.0.1", "64:ff9b::a00:1", "fe80::1%eth0", "240.0.0.1", "x"):
        assert not is_public(address)


def test_a_page_becomes_markdown_with_title_and_source(tmp_path: Path) -> None:
    seen: list[str] = []

    def extract(path: Path) -> Extracted:
        seen.append(path.suffix)
        return Extracted(path.read_text(), title="Title")

    def fetched(url: str) -> WebPage:
        return WebPage(url, "text/html", b"text")

    told = page_markdown("http://example.org/", extract, fetched)
    assert told == "# Title\n\ntext\n\n[Source: http://example.org/]"
    assert seen == [".html"]
