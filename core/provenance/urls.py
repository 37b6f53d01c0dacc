"""URLs and e-mail addresses in text, and the form in which two of them are compared.

After RFC 3986, section 6.2.2: case of scheme and host, percent-encoding of what needs none, dot
segments. Beyond it: default ports, the host's trailing dot and leading `www.`, a path's trailing
slash, and letters of all scripts as they look up in DNS (full width folded, Punycode). Letters that
only look alike stay different.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from email.errors import HeaderParseError, InvalidHeaderDefect
from email.headerregistry import AddressHeader
from itertools import islice
from typing import Final, NamedTuple
from unicodedata import category
from urllib.parse import quote, unquote, urljoin

from core.base.text import lazy_pattern, without_hidden

URL_CHARACTERS_MAX: Final = 8_000
"""A longer URL is never known."""

LINKS_MAX: Final = 100_000
"""How many links of one result are known."""

LOCAL_PART_CHARACTERS_MAX: Final = 64
"""RFC 5321, 4.5.3.1.1."""

QUOTED_CHARACTERS_MAX: Final = 2 * LOCAL_PART_CHARACTERS_MAX + 2
"""The same in quotes, each character escaped."""

FIELD_CHARACTERS_MAX: Final = 500
"""Longest field of a mail that is parsed; an address has 320 characters at most."""

PARSED_CHARACTERS_MAX: Final = 10_000
"""How much of one text is parsed; plain addresses are found in all of it."""

COMMENTS_NESTED_MAX: Final = 8

_HOST = lazy_pattern(
    r"\[[^\[\]\s@]{2,64}\]|[^\x00-\x2c/:-@\[-^`{-\x7f\s]{1,255}"  # all but ASCII's specials
)
_IPV4 = lazy_pattern(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)
_QUOTED = lazy_pattern(r"\"((?:[^\"\\]|\\.)+)\"$", re.DOTALL)
_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)
_COMMENT = lazy_pattern(r"\((?:[^()\\]|\\.){0,500}\)", re.DOTALL)
_FOLD = lazy_pattern(r"(?:[ \t]|\r?\n(?=[ \t]))+")
_FIELD_ENDS = lazy_pattern(r"[,;\n]")
_ANGLES = lazy_pattern(r"[<>]")
_ODD_AT = lazy_pattern(
    r"[^\s\"@][\"\s)]{1,9}@\s{0,9}[^\s\"@:]{1,64}|[^\s\"@]@[\s(]{1,9}[^\s\"@:]{1,64}"
)
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
    return (_closed(found[0]) for found in _FOUND.finditer(text))


def url_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where the URLs in a text begin, and the white space behind them.

    For values that a tool takes apart in a way nobody knows: nothing behind a URL is let pass.
    """
    return (found.span() for found in _RUN.finditer(text))


def trimmed(run: str) -> str:
    """A run without the punctuation at its end."""
    return run.rstrip(_TRAILING)


def hosts_named(text: str) -> Iterator[str]:
    """Addresses without a scheme, as people write them: `example.com/about`."""
    return (trimmed(found[0]) for found in _BARE.finditer(text))


def is_bare_address(text: str) -> bool:
    """Whether the whole text is one."""
    return _BARE.fullmatch(text) is not None


def links_on_page(text: str, page: str) -> Iterator[str]:
    """The keys of links in what a reader made of a page, those to the page's own host only."""
    base = parse_url(page)
    if base is None or base.scheme not in ("http", "https"):
        return
    absolute = page if "://" in page else base.key
    for link in islice(_links(text, absolute), LINKS_MAX):
        if (url := parse_url(link)) is not None and url.host == base.host:
            yield from _keys_of(url, link)


def links_in_list(text: str) -> Iterator[str]:
    """The keys of the links in a list of search results."""
    for link in islice(urls_in(text), LINKS_MAX):
        yield from known_keys(link)


def plainer(text: str) -> str:
    """Text with one layer of percent-encoding and HTML's character references taken off."""
    plain = unquote(text) if "%" in text else text
    return html.unescape(plain) if "&" in plain else plain


def host_key(host: str) -> str:
    """A host's name as DNS looks it up, without trailing dot and leading `www.`."""
    name = _dns_name(unquote(host))
    shorter = name.removeprefix("www.")
    return shorter if "." in shorter else name


def _dns_name(host: str) -> str:
    name = host.translate(_DOTS)
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name).lower()
        name = ".".join(map(_label, name.split(".")))
    return name.lower().rstrip(".")


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


def addresses_in(text: str) -> Iterator[tuple[str, str]]:
    """The e-mail addresses in a text: as written, and in the form for comparisons.

    What a mail server might deliver to is found: anywhere a name and a host around an @, and by the
    standard library's parser what fields of a mail may hold besides (quotes, comments, spaces, and
    a host of one label where no field says anything else). Case counts nowhere, a `+tag` does.
    """
    if not text.isascii():
        text = without_hidden(unicodedata.normalize("NFKC", text))
    if "@" not in text:
        return
    plain = dict(_plain_addresses(text))
    if "(" in text:
        bare = text
        for _ in range(COMMENTS_NESTED_MAX):
            bare = _COMMENT.sub("", bare)
        plain.update(_plain_addresses(bare))
    yield from plain.items()
    keys = {*plain.values()}
    yield from (each for each in _addresses_in_fields(text) if each[1] not in keys)


def _plain_addresses(text: str) -> Iterator[tuple[str, str]]:
    """Around each @ a name, quoted or not, and a host of several labels, with nothing between."""
    at = text.find("@")
    while at >= 0:
        if host := _plain_host(text, at + 1):
            if local := _local_part(text, at):
                yield f"{local}@{host}", address_key(local, host)
            elif quoted := _QUOTED.search(text, max(0, at - QUOTED_CHARACTERS_MAX), at):
                yield f"{quoted[0]}@{host}", address_key(_ESCAPED.sub(r"\1", quoted[1]), host)
            elif text[at - 1 : at] == "\\" and (local := _local_part(text, at - 1)):
                yield f"{local}\\@{host}", address_key(f"{local}\\", host)
        at = text.find("@", at + 1)


def _addresses_in_fields(text: str) -> Iterator[tuple[str, str]]:
    """What a text names if it is the field of a mail's header, or several."""
    text = _FOLD.sub(" ", text)
    fields = [field for field in _FIELD_ENDS.split(text) if field.strip()]
    are_all = all("@" in field for field in fields)
    fields += [part for field in fields if "<" in field for part in _ANGLES.split(field)]
    parsed = 0
    for field in dict.fromkeys((text, *fields) if len(text) <= FIELD_CHARACTERS_MAX else fields):
        if "@" not in field:
            continue
        parsed += len(field)
        is_short = len(field) <= FIELD_CHARACTERS_MAX and parsed <= PARSED_CHARACTERS_MAX
        boxes = _mailboxes(field) if is_short else None
        if boxes is None:  # what only the parser would understand is an address that nobody knows
            yield from ((odd[0], odd[0].lower()) for odd in _ODD_AT.finditer(field))
            continue
        for local, host in boxes:
            if are_all or "." in host or host[0] == "[":
                yield field.strip(), address_key(local, host)


def _mailboxes(field: str) -> list[tuple[str, str]] | None:
    """The names and hosts in a field of a mail's header (RFC 5322, 3.4); None: no idea."""
    try:
        header = AddressHeader.value_parser(field.translate(_DOTS))
        found = [(each.local_part or "", each.domain or "") for each in header.mailboxes]
        is_sound = not any(isinstance(each, InvalidHeaderDefect) for each in header.all_defects)
    except (HeaderParseError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return None  # the parser has flaws of its own
    return [
        (local, host)
        for local, host in found
        # Else the words before it belong to no address.
        if local and (is_sound or len(local.split()) == 1)
        if _HOST.fullmatch(host) is not None and _is_last_label(host)
        if not any(map(_is_punctuation, host))
    ]


def _plain_host(text: str, start: int) -> str:
    """The host that begins there, as far as it may be meant: a literal, or labels; else ""."""
    found = _HOST.match(text, start)
    if found is None or found[0][0] == "[":
        return found[0] if found is not None else ""
    host = found[0].partition("..")[0]
    ends = (at for at, char in enumerate(host) if _is_punctuation(char))
    host = host[: next(ends, len(host))].rstrip("._-")
    while host and not _is_last_label(host):
        host = host.rpartition(".")[0]
    return host if "." in host and len(host.rpartition(".")[2]) > 1 else ""


def _is_last_label(host: str) -> bool:
    """Whether a host ends as one can: no domain of the top level begins with a digit."""
    last = host.rstrip(".").rpartition(".")[2]
    return last[:1].isalpha() or host[:1] == "[" or _IPV4.fullmatch(host) is not None


def _is_punctuation(char: str) -> bool:
    """Whether it is one of other scripts that no host holds; Catalan has the dot between two l."""
    return char > "~" and category(char)[0] == "P" and char != "\u00b7"


def address_key(local: str, host: str) -> str:
    """An e-mail address in the form for comparisons."""
    return f"{local.lower()}@{_dns_name(host)}"


def _local_part(text: str, end: int) -> str:
    start = end
    while start > max(0, end - LOCAL_PART_CHARACTERS_MAX):
        if text[start - 1] in _CLOSES_LOCAL_PART:
            break
        start -= 1
    local = text[start:end].lstrip(".,!?*_`")
    while local and _is_punctuation(local[0]):
        local = local[1:]
    return local
