"""Addresses and headers of servers: what can be used, and what would leak."""

import pytest

from config.http_address import header_problem, is_host, sends_credentials_in_the_clear, url_problem


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/mcp",
        "http://localhost:8080",
        "http://127.0.0.1:1/mcp?a=b#c",
        "https://[::1]:9/x",
        "HTTPS://EXAMPLE.com",
        "https://bücher.example/mcp",
    ],
)
def test_http_and_https_with_a_host_can_be_used(url: str) -> None:
    assert url_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        *("example.com/mcp", "ftp://example.com", "file:///etc/passwd", "unix:///run/x.sock"),
        *("https://", "https:///mcp", "http://:80", "http://a:99999", "http://a:0", "http://a:b"),
        *("http://[::1", "http://exa mple.com", "http://a\n/b", "\thttp://a", "http://a/\x00"),
    ],
)
def test_anything_else_is_told_what_is_allowed_and_not_quoted(url: str) -> None:
    said = url_problem(url)
    assert said == (
        "no usable address; allowed: an address such as https://example.com/mcp: "
        "http or https, with a host"
    )


def test_a_password_in_the_address_is_refused() -> None:
    said = url_problem("https://me:hunter2@example.com/mcp")
    assert said is not None
    assert "headers" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\n", "ä"])
def test_a_header_needs_a_name_that_is_one(name: str) -> None:
    assert "no name of a header" in (header_problem({"Accept": "x", name: "x"}) or "")


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\0", "schlüssel", "\x7f"])
def test_a_header_value_cannot_write_headers_of_its_own(value: str) -> None:
    said = header_problem({"X-Key": value})
    assert said is not None
    assert "'headers.X-Key'" in said
    assert value not in said


def test_ordinary_headers_are_fine() -> None:
    assert header_problem({"Authorization": "Bearer a.b-c_d=", "X-Note": "a\tb", "A": ""}) is None


@pytest.mark.parametrize(
    ("url", "header", "is_clear"),
    [
        ("http://example.com", "Authorization", True),
        ("http://192.168.0.1/mcp", "X-Api-Key", True),
        ("http://localhost.example.com", "Cookie", True),
        ("http://example.com", "Accept", False),
        ("https://example.com", "Authorization", False),
        ("http://localhost:1", "Authorization", False),
        ("http://app.localhost", "Authorization", False),
        ("http://127.1.2.3", "Authorization", False),
        ("http://[::1]:8", "Authorization", False),
        ("http://[", "Authorization", False),
    ],
)
def test_credentials_in_the_clear_are_noticed_only_where_others_can_read_them(
    url: str, header: str, is_clear: bool
) -> None:
    assert sends_credentials_in_the_clear(url, {header: "x"}) is is_clear


@pytest.mark.parametrize(
    "host",
    [
        *("wiki.local", "localhost", "127.0.0.1", "127.0.0.1:8080", "a:80", "köln.example", "a"),
        *("::1", "[::1]", "[::1]:8080", "fd00::7"),
    ],
)
def test_a_host_stands_as_in_a_url(host: str) -> None:
    assert is_host(host)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "http://a",
            "a/b",
            "a:http",
            "a:123456",
            ":80",
            "*.local",
            "me@a",
            "a b",
            "a?b",
            "a#b",
        ),
        *("a\\b", "a\n", "[a]", "fe80::1%eth0", "x" * 261),
    ],
)
def test_what_is_more_or_less_than_a_host_is_refused(text: str) -> None:
    assert not is_host(text)
