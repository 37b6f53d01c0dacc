"""URLs and e-mail addresses in text, and the form in which two of them are compared.

After RFC 3986, section 6.2.2: case of scheme and host, percent-encoding of what needs none, dot
segments. Beyond it: default ports, the host's trailing dot and leading `www.`, a path's trailing
slash, and letters of all scripts as they look up in DNS (full width folded, Punycode). Letters that
only look alike stay different.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urljoin

from core.base.text import lazy_pattern

URL_CHARACTERS_MAX: Final = 8_000
"""A longer URL is never known."""

LINKS_MAX: Final = 100_000
"""How many links of one result are known."""

LOCAL_PART_CHARACTERS_MAX: Final = 64
"""RFC 5321, 4.5.3.1.1."""

_AT_HOST = lazy_pattern(r"@((?:[\w-]{1,63}\.){1,10}[^\W\d_][\w-]{1,62})")
_CLOSES_LOCAL_PART: Final = frozenset(" \t\r\n\"'()<>[]{},;:\\@|/=\u00a0")

_BEGINS = (
    r"(?:[A-Za-z][A-Za-z0-9+.\-]{0,30}:[/\\]{2}"
    r"|[hH][tT]{2}[pP][sS]?:[/\\]?(?=[^\s/\\])"
    r"|(?<![\w/:.\\])[/\\]{2}(?=[^\s/\\.]{1,255}\.\w)"
    r"|\b[wW]{3}\d?\.(?=\w))"
)
_NOT_IN_URL = r"\s<>\"'`{}|^\[\]\u3001\u3002\uff0c\uff1b\uff01\uff1f\uff09\u300d\u300f\u3011\u201d"
_FOUND = lazy_pattern(rf"(?<![A-Za-z]){_BEGINS}(?:\[[0-9a-fA-F:.]{{2,45}}\])?[^{_NOT_IN_URL}]*")
_RUN = lazy_pattern(rf"{_BEGINS}\S*")
_BARE = lazy_pattern(
    r"(?<![\w@./:\\\-])(?:[\w-]{1,63}\.){1,30}[^\W\d_]{2,24}\.?(?::\d{1,5})?(?:[/?#][^\s<>\"'`{}|^]*)?"
)
_RELATIVE = lazy_pattern(
    r"\]\(\s{0,20}<?([^)\s<>]+)|\b(?:href|src)\s{0,20}=\s{0,20}[\"']?([^\"'\s<>]+)"
)
_SCHEME = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.\-]{0,30}):(.*)", re.DOTALL)
_ENCODED = lazy_pattern(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
_STRIPPED_BY_BROWSERS = str.maketrans("", "", "\t\r\n")
_TRAILING: Final = ".,;:!?'\")]}>*_~`\u2026\u3002\uff0c\u3001\uff09\u201d\u2019"
_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}


class Url(NamedTuple):
    """A URL in its form for comparisons; `key` is all but the fragment."""

    scheme: str
    host: str
    key: str
    fragment: str


def parse_url(text: str) -> Url | None:
    """A URL's form for comparisons; without a scheme it is one of https. None if it is none.

    Nothing is dropped that could carry data: user name, password and odd ports stay.
    """
    if len(text) > URL_CHARACTERS_MAX:
        return None
    text = text.strip().translate(_STRIPPED_BY_BROWSERS)
    split = _SCHEME.match(text)
    if split is not None and (split[2][:2] in ("//", "\\\\") or split[1].lower() in _PORTS):
        scheme, rest = split[1].lower(), split[2]
    else:
        scheme, rest = "https", text
    rest = rest.replace("\\", "/").lstrip("/")
    rest, _, fragment = rest.partition("#")
    rest, mark, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    user, at, place = authority.rpartition("@")
    host, port = _host_and_port(place)
    if not host and scheme != "file":
        return None
    port = f":{port}" if port not in ("", _PORTS.get(scheme)) else ""
    path = _without_dots(f"{slash}{_plainly_encoded(path)}").rstrip("/")
    query = f"{mark}{_plainly_encoded(query)}" if query else ""
    return Url(scheme, host, f"{scheme}://{user}{at}{host}{port}{path}{query}", fragment)


def known_keys(text: str) -> tuple[str, ...]:
    """The keys under which a URL is known: one of http, or of no scheme, is so by https too."""
    url = parse_url(text)
    return () if url is None else _keys_of(url, text)


def _keys_of(url: Url, text: str) -> tuple[str, ...]:
    if url.scheme == "http":
        return url.key, f"https{url.key[len(url.scheme) :]}"
    if url.scheme == "https" and text.lstrip()[:6].lower() != "https:":
        return url.key, f"http{url.key[len(url.scheme) :]}"
    return (url.key,)


def urls_in(text: str) -> Iterator[str]:
    """The URLs in prose, markdown or HTML, without what closes them there."""
    for found in _FOUND.finditer(text):
        yield _closed(found[0])


def url_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where the URLs in a text begin, and the white space behind them.

    For values that a tool takes apart in a way nobody knows: nothing behind a URL is let pass.
    """
    for found in _RUN.finditer(text):
        yield found.span()


def trimmed(run: str) -> str:
    """A run without the punctuation at its end."""
    return run.rstrip(_TRAILING)


def hosts_named(text: str) -> Iterator[str]:
    """Addresses without a scheme, as people write them: `example.com/about`."""
    for found in _BARE.finditer(text):
        yield trimmed(found[0])


def is_bare_address(text: str) -> bool:
    """Whether the whole text is one."""
    return _BARE.fullmatch(text) is not None


def links_on_page(text: str, page: str) -> Iterator[str]:
    """The keys of links in what a reader made of a page, those to the page's own host only."""
    base = parse_url(page)
    if base is None or base.scheme not in ("http", "https"):
        return
    absolute = page if "://" in page else base.key
    for link in _limited(_links(text, absolute)):
        if (url := parse_url(link)) is not None and url.host == base.host:
            yield from _keys_of(url, link)


def links_in_list(text: str) -> Iterator[str]:
    """The keys of the links in a list of search results."""
    for link in _limited(urls_in(text)):
        yield from known_keys(link)


def plainer(text: str) -> str:
    """Text with one layer of percent-encoding and HTML's character references taken off."""
    plain = unquote(text) if "%" in text else text
    return html.unescape(plain) if "&" in plain else plain


def host_key(host: str) -> str:
    """A host's name as DNS looks it up, without trailing dot and leading `www.`."""
    name = unquote(host).translate(_DOTS)
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name).lower()
        name = ".".join(map(_label, name.split(".")))
    name = name.lower().rstrip(".")
    shorter = name.removeprefix("www.")
    return shorter if "." in shorter else name


def _label(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):  # IPv6
        host, _, port = place.partition("]")
        return f"{host.lower()}]", port.removeprefix(":")
    host, _, port = place.partition(":")
    return host_key(host), port.lstrip("0")


def _plainly_encoded(text: str) -> str:
    """Percent-encoding only where it is needed, in capitals (RFC 3986, 6.2.2.1 and 6.2.2.2)."""
    if "%" in text:
        text = _ENCODED.sub(_decoded, text)
    if text.isascii():
        return text
    return "".join(char if char.isascii() else quote(char, errors="replace") for char in text)


def _decoded(found: re.Match[str]) -> str:
    char = chr(int(found[1], 16))
    return char if char in _UNRESERVED else found[0].upper()


def _without_dots(path: str) -> str:
    """A path without `.` and `..` segments (RFC 3986, 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    for part in path.split("/")[1:]:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    return "".join(f"/{part}" for part in kept)


def _closed(found: str) -> str:
    """A URL cut before the bracket that closes the text around it, and before punctuation."""
    if (first := found.find(")")) >= 0:
        if "(" not in found:
            return found[:first]
        depth = 0
        for position, char in enumerate(found):
            depth += (char == "(") - (char == ")")
            if depth < 0:
                return found[:position]
    return found.rstrip(".,;:!?*_\u2026")


def _links(text: str, base: str) -> Iterator[str]:
    yield from urls_in(text)
    for found in _RELATIVE.finditer(text):
        link = found[1] or found[2]
        if ":" not in link.partition("/")[0]:
            try:
                yield urljoin(base, html.unescape(link))
            except ValueError:  # brackets that are no IPv6 address
                continue


def _limited(links: Iterable[str]) -> Iterator[str]:
    for number, link in enumerate(links):
        if number == LINKS_MAX:
            return
        yield link


def addresses_in(text: str) -> Iterator[tuple[str, str]]:
    """The e-mail addresses in a text: as written, and in the form for comparisons.

    Only what stands without quotes before the @; case counts nowhere, a `+tag` does.
    """
    for found in _AT_HOST.finditer(text):
        local = _local_part(text, found.start())
        if local:
            written = f"{local}{found[0]}"
            yield written, f"{local.lower()}@{host_key(found[1])}"


def _local_part(text: str, end: int) -> str:
    start = end
    while start > max(0, end - LOCAL_PART_CHARACTERS_MAX):
        if text[start - 1] in _CLOSES_LOCAL_PART:
            break
        start -= 1
    return text[start:end].lstrip(".,!?*_`")
