"""What may stand in the `url` and `headers` of a server, and what a host is."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from core.base.http import is_loopback
from core.base.text import lazy_pattern

URL_FORM = "an address such as https://example.com/mcp: http or https, with a host"

_UNPRINTABLE = lazy_pattern(r"[\x00-\x20\x7f]")
_HEADER_NAME = lazy_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2."""

_HEADER_VALUE = lazy_pattern(r"[\t\x20-\x7e]*")
"""Visible ASCII, spaces and tabs: what RFC 9110, section 5.5, lets a new field hold."""

HOST_CHARACTERS_MAX = 260
"""A name (RFC 1035, section 2.3.4: 255 octets on the wire) and a port."""

_HOST = lazy_pattern(
    r"(?:[^\s/@:?#*\\%\[\]]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::\d{1,5})?"
    r"|[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*"
)
"""A name, an IPv4 address, or an IPv6 address in brackets, perhaps with a port; or one without."""

_OPEN_HEADERS = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "content-type", "user-agent"}
)
"""Headers that hold no secret; of every other one it is assumed."""


def url_problem(url: str) -> str | None:
    """Why `url` can't be the address of a server, without quoting it; None if it can.

    User names and passwords are refused: messages name the address.
    """
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without an IPv6 address, a port that is no number
        return f"no usable address; allowed: {URL_FORM}"
    if _UNPRINTABLE.search(url) or parts.scheme not in ("http", "https") or not has_place:
        return f"no usable address; allowed: {URL_FORM}"
    if parts.username is not None:
        return "a user name or password, which messages would show; send it in 'headers'"
    return None


def header_problem(headers: Mapping[str, str]) -> str | None:
    """Which header can't be sent and why, without its value; None if all can.

    A line break in a value would let it write headers of its own (RFC 9110, section 5.5).
    """
    for name, value in headers.items():
        if _HEADER_NAME.fullmatch(name) is None:
            # What stands behind the first odd character may be the value, put there by mistake.
            begins = _HEADER_NAME.match(name)
            beginning = begins[0][:40] if begins is not None else ""
            return (
                f"key 'headers' holds a name that begins with {beginning!r} and is no name of a "
                "header; allowed: ASCII letters, digits and '-'"
            )
        if _HEADER_VALUE.fullmatch(value) is None:
            return (
                f"key 'headers.{name[:40]}' holds a character that a header can't carry; "
                "allowed: visible ASCII characters and spaces"
            )
    return None


def may_hold_credentials(header: str) -> bool:
    """Whether a header of this name may hold a secret; only a few common ones don't."""
    return header.lower() not in _OPEN_HEADERS


def sends_credentials_in_the_clear(url: str, headers: Mapping[str, str]) -> bool:
    """Whether headers that may hold secrets go to another machine without encryption."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return (
        parts.scheme == "http"
        and not is_loopback(parts.hostname or "")
        and any(map(may_hold_credentials, headers))
    )


def is_host(text: str) -> bool:
    """Whether this is a host as it stands in a URL, perhaps with a port: no scheme, path or `*`."""
    return len(text) <= HOST_CHARACTERS_MAX and _HOST.fullmatch(text) is not None
