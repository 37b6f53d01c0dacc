"""A URL is read in one way, and one that can be read in two is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.web.errors import AddressRefused
from servers.web.fetching.targets import (
    URL_CHARS_MAX,
    normal_host,
    parse_target,
    redirected,
    shown_url,
)

READ = [
    ("http://example.org", "http://example.org/"),
    ("HTTPS://EXAMPLE.ORG/A", "https://example.org/A"),
    ("  https://example.org/  ", "https://example.org/"),
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:443", "https://example.org/"),
    ("https://example.org:/", "https://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("http://example.org:08080/", "http://example.org:8080/"),
    ("https://example.org./", "https://example.org/"),
    ("https://example.org/a#b", "https://example.org/a"),
    ("https://example.org/a#b?c@d", "https://example.org/a"),
    ("https://example.org?q=a@b:c", "https://example.org/?q=a@b:c"),
    ("https://example.org/a@b", "https://example.org/a@b"),
    ("https://example.org/a/../b/./c", "https://example.org/b/c"),
    ("https://example.org/a/%2e%2E/b", "https://example.org/b"),
    ("https://example.org/../../a/..", "https://example.org/"),
    ("https://example.org/a/.", "https://example.org/a/"),
    ("https://example.org//a//b", "https://example.org//a//b"),
    ("https://example.org/größe?ü=ß", "https://example.org/gr%C3%B6%C3%9Fe?%C3%BC=%C3%9F"),
    ('https://example.org/<a>"{b}', "https://example.org/%3Ca%3E%22%7Bb%7D"),
    ("https://example.org/100%", "https://example.org/100%"),
    ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
    ("https://faß.example/", "https://xn--fa-hia.example/"),
    ("https://日本語。jp/", "https://xn--wgv71a119e.jp/"),
    ("https://ｅｘａｍｐｌｅ.org/", "https://example.org/"),
    ("https://my_site.example.org/", "https://my_site.example.org/"),
    ("https://1.1.1.1/", "https://1.1.1.1/"),
    ("https://１.１.１.１/", "https://1.1.1.1/"),
    ("https://1.1.1.1./", "https://1.1.1.1/"),
    ("http://[2606:4700:0:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ("http://[::FFFF:7F00:1]/", "http://[::ffff:7f00:1]/"),
    ("http://1.example/", "http://1.example/"),
]

REFUSED = [
    ("", "write the address in full"),
    ("example.org", "write the address in full"),
    ("//example.org/", "write the address in full"),
    ("/etc/passwd", "write the address in full"),
    ("http:example.org", "beginning with http://"),
    ("http:/example.org", "beginning with http://"),
    ("https:\\\\example.org", "backslash"),
    ("file:///etc/passwd", "not file:"),
    ("ftp://example.org/", "not ftp:"),
    ("gopher://example.org/", "not gopher:"),
    ("data:text/html,x", "not data:"),
    ("javascript:alert(1)", "not javascript:"),
    ("view-source:https://example.org", "not view-source:"),
    ("ws://example.org/", "not ws:"),
    ("http+unix://x/", "not http+unix:"),
    ("http://", "can't be made out"),
    ("http:///etc", "can't be made out"),
    ("http://:80/", "can't be made out"),
    ("http://?q", "can't be made out"),
    ("http://./", "no name"),
    ("http://a..b/", "no name"),
    ("http://.example.org/", "no name"),
    ("http://example.org../", "no name"),
    ("http://exa*mple.org/", "no name"),
    ("http://exa mple.org/", "spaces"),
    ("http://example.org/a b", "spaces"),
    ("http://example.org/\tx", "spaces"),
    ("http://exam\nple.org/", "spaces"),
    ("http://example.org/\r\nHost: x", "spaces"),
    ("http://example.org/\x00", "spaces"),
    ("http://example.org/\u00a0x", "spaces"),
    ("http://example.org\u200b/", "spaces"),
    ("http://example.org/\u202egpj", "spaces"),
    ("http://example.org/\ud800", "spaces"),
    ("http://example.org\\@10.0.0.1/", "backslash"),
    ("http://user:pw@example.org/", "user name"),
    ("http://user@example.org/", "user name"),
    ("http://@example.org/", "user name"),
    ("http://example.org:80@10.0.0.1/", "user name"),
    ("http://example.org#@10.0.0.1@/\\", "backslash"),
    ("http://%31%30.0.0.1/", "percent-encoded"),
    ("http://example%2eorg/", "percent-encoded"),
    ("http://2130706433/", "hides what it means"),
    ("http://0x7f000001/", "hides what it means"),
    ("http://0x7f.1/", "hides what it means"),
    ("http://0X7F.0.0.1/", "hides what it means"),
    ("http://017700000001/", "hides what it means"),
    ("http://0177.0.0.1/", "hides what it means"),
    ("http://127.1/", "hides what it means"),
    ("http://127.0.1/", "hides what it means"),
    ("http://127.0.0.1.1/", "hides what it means"),
    ("http://127.0.0.01/", "hides what it means"),
    ("http://256.0.0.1/", "hides what it means"),
    ("http://127.0.0.0x1/", "hides what it means"),
    ("http://example.1/", "hides what it means"),
    ("http://0x/", "hides what it means"),
    ("http://①②⑦.1/", "hides what it means"),
    ("http://１２７。１/", "hides what it means"),
    ("http://[::1/", "can't be made out"),
    ("http://::1/", "can't be made out"),
    ("http://[::1]x/", "can't be made out"),
    ("http://[]/", "no IPv6 address"),
    ("http://[127.0.0.1]/", "no IPv6 address"),
    ("http://[v1.x]/", "no IPv6 address"),
    ("http://[fe80::1%25eth0]/", "zone"),
    ("http://[fe80::1%eth0]/", "zone"),
    ("http://example.org:0/", "port 0"),
    ("http://example.org:22/", "port 22"),
    ("http://example.org:25/", "port 25"),
    ("http://example.org:6379/", "port 6379"),
    ("http://example.org:65536/", "port 65536"),
    ("http://example.org:999999/", "can't be made out"),
    ("http://example.org:-1/", "can't be made out"),
    ("http://example.org:８０/", "can't be made out"),
    ("http://example.org:80:80/", "can't be made out"),
    ("http://ex⁄ample.org/", "IDNA"),
    ("http://-ü.example/", "IDNA"),
    ("http://example.org＠10.0.0.1/", "IDNA"),
    ("http://10.0.0.1：80/", "IDNA"),
    ("http://10.0.0.1／.example.org/", "IDNA"),
    ("http://example.org？.10.0.0.1/", "IDNA"),
    ("http://exa\u00admple\u2060.org/", "spaces"),
    ("http://☃.example/", "IDNA"),
    ("http://" + "a" * 64 + ".org/", "no name"),
    ("http://" + "a." * 127 + "org/", "no name"),
    ("http://example.org/" + "a" * URL_CHARS_MAX, "longer than"),
]


def test_an_address_is_brought_into_one_form() -> None:
    assert [parse_target(url).url for url, _ in READ] == [read for _, read in READ]
    assert [parse_target(read).url for _, read in READ] == [read for _, read in READ]


def refused(url: str) -> str:
    """The message, or what was made of it; a row of the table that is wrong shows it."""
    try:
        return f"read as {parse_target(url).url}"
    except AddressRefused as error:
        return str(error)


def test_an_address_that_plays_a_trick_is_refused_with_the_reason() -> None:
    told = [(refused(url), url, reason) for url, reason in REFUSED]
    assert [each for each in told if each[2] not in each[0]] == []
    for message, _, _ in told:
        assert message.isprintable()
        assert "pw" not in message
        assert len(message) < 400


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        (b"/b", "https://example.org/b"),
        (b"c?d#e", "https://example.org/a/c?d"),
        (b"../x", "https://example.org/x"),
        (b"?q", "https://example.org/a/b?q"),
        (b"//other.example/x", "https://other.example/x"),
        (b" http://other.example\t", "http://other.example/"),
        ("/größe".encode(), "https://example.org/gr%C3%B6%C3%9Fe"),
        (b"/gr\xf6\xdfe", "https://example.org/gr%F6%DFe"),
        (b"", "https://example.org/a/b"),
    ],
)
def test_a_redirect_is_joined_to_where_it_came_from(location: bytes, leads_to: str) -> None:
    assert redirected(parse_target("https://example.org/a/b"), location).url == leads_to


@pytest.mark.parametrize(
    "location",
    [
        b"file:///etc/passwd", b"javascript:alert(1)", b"//user@other.example/", b"/a\x00b",
        b"http://[::1", b"/\\other.example", b"http://0x7f.1/", b"/" + b"a" * 9_000, b"/a b",
        b"data:,x", b"http://", b"http://ex\xc3\xa4mple.org/",
    ],
)  # fmt: skip
def test_a_redirect_to_no_web_page_is_refused(location: bytes) -> None:
    with pytest.raises(AddressRefused):
        redirected(parse_target("https://example.org/a/b"), location)


def test_the_parts_of_a_target_fit_together() -> None:
    target = parse_target("http://[2606:4700::1111]:8080/x?y")
    assert (target.host, target.port, target.path) == ("2606:4700::1111", 8080, "/x?y")
    assert target.authority == "[2606:4700::1111]:8080"
    assert target.literal == "2606:4700::1111"
    assert parse_target("https://example.org").literal is None


def test_a_host_is_brought_into_the_form_of_targets() -> None:
    assert normal_host("Wiki.Example.") == "wiki.example"
    assert normal_host("[::1]") == "::1"


def test_an_address_in_a_message_is_short_printable_and_without_a_password() -> None:
    assert shown_url("http://a:b@c/\n\u202e") == "http://c/??"
    assert shown_url("http:\\\\a:b@c") == "http://c"
    assert shown_url("user:pw@example.org") == "user:example.org"
    assert len(shown_url("http://example.org/" + "a" * 900)) == 200
    assert "secret" not in shown_url("http://" + "user" * 60 + ":secret@host/")


@settings(max_examples=20, deadline=None)
@given(st.text(st.sampled_from("htps:/@\\?#[]%.0x1aü１。 \n-"), max_size=30))
def test_whatever_is_given_is_read_or_refused_and_stays_what_it_is(rest: str) -> None:
    try:
        target = parse_target(f"http://{rest}")
    except AddressRefused:
        return
    assert target.url.isascii()
    assert parse_target(target.url) == target
