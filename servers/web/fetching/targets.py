"""A URL taken apart, with a decision on each trick that can be played in one.

Parsers that disagree on a URL are how guards are passed, so there is one parser here, it is
strict, and what it made is what the request is written from. The decisions:

- `http` and `https` only, written in full. No user name or password.
- No control characters, white space or backslashes, wherever they stand: browsers drop or turn
  them round, each in its own way. Anything else that may not stand in a URL is percent-encoded.
- Hosts are lower-cased and mapped by UTS 46 (full-width digits, ideographic dots, umlauts), one
  dot at the end is dropped, and only then are they looked at.
- A host that ends in a number must be four plain decimal numbers. Decimal, octal, hexadecimal and
  short forms (`2130706433`, `0177.0.0.1`, `0x7f.1`, `127.1`) are refused: nobody writes them who
  doesn't want to be misread. IPv6 stands in brackets, without a zone.
- All ports but those of services that speak no HTTP, as browsers have it (WHATWG Fetch, "bad
  port"), and a few of databases that would take a request for commands.
- Dot segments are resolved (RFC 3986, 5.2.4), and the fragment is dropped.
"""

import ipaddress
import re
from urllib.parse import quote, urljoin

import idna

from core.base.frozen import frozen
from core.base.text import shorten
from servers.web.errors import AddressRefused

URL_CHARS_MAX = 8_000
SHOWN_CHARS_MAX = 200
HOST_CHARS_MAX = 253
LABEL_CHARS_MAX = 63

DEFAULT_PORTS = {"http": 80, "https": 443}

_CLOSED_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95}
    | {101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179}
    | {389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601}
    | {636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566}
    | {6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
    | {2375, 3306, 5432, 6379, 11211, 27017}  # Docker, MySQL, PostgreSQL, Redis, memcached, MongoDB
)

_FORM = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>//)?(?P<authority>[^/?#]*)"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?P<port>:[0-9]{0,5})?")
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*:)?(/*)[^/?#]*@")
_PATH_SAFE = "/%:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?[]"


@frozen
class Target:
    """Where a request goes: `host` in ASCII and without brackets, `path` with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """As it stands in a URL and in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme and authority: what shares secrets (RFC 6454)."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole address."""
        return self.origin + self.path

    @property
    def literal(self) -> str | None:
        """The host if it is an IP address itself."""
        try:
            return str(ipaddress.ip_address(self.host))
        except ValueError:
            return None


def parse_target(url: str) -> Target:
    """A URL of a user, a model or a page.

    Raises:
        AddressRefused: it is none of a web page, or plays a trick; the message says which.
    """
    url = url.strip(" ")
    if len(url) > URL_CHARS_MAX:
        raise _refused(url, f"it is longer than {URL_CHARS_MAX:,} characters")
    _check_characters(url)
    parts = _FORM.fullmatch(url)
    if parts is None:
        raise _refused(url, "write the address in full, as https://example.org/page")
    scheme = parts["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise _refused(url, f"only http and https addresses can be read, not {scheme[:20]}:")
    if not parts["slashes"]:
        raise _refused(url, f"write it in full, beginning with {scheme}://")
    host, port = _authority(url, parts["authority"], scheme)
    path = quote(_without_dots(parts["path"]), safe=_PATH_SAFE)
    return Target(scheme, host, port, path + quote(parts["query"] or "", safe=_QUERY_SAFE))


def redirected(target: Target, location: bytes) -> Target:
    """Where a Location header leads (RFC 9110, 10.2.2).

    Bytes outside of ASCII are taken as they are: servers send UTF-8 there, or worse.

    Raises:
        AddressRefused: to no web page.
    """
    text = quote(location.strip(b" \t")[: URL_CHARS_MAX + 1], safe="".join(map(chr, range(128))))
    _check_characters(text)
    try:
        return parse_target(urljoin(target.url, text))
    except ValueError:
        raise _refused(text, "it is no address") from None


def normal_host(text: str) -> str:
    """A host in the form in which targets hold it: ASCII, lower case, no brackets, no last dot.

    Raises:
        AddressRefused: it is none.
    """
    _check_characters(text)
    if text.startswith("["):
        return _ipv6(text, text.removeprefix("[").removesuffix("]"))
    if "%" in text:
        raise _refused(text, "its host is percent-encoded; write it plainly")
    host = _ascii(text).removesuffix(".")
    if not _HOST.fullmatch(host) or len(host) > HOST_CHARS_MAX:
        raise _refused(text, "its host is no name that a host can have")
    labels = host.split(".")
    if max(map(len, labels)) > LABEL_CHARS_MAX:
        raise _refused(text, "its host is no name that a host can have")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(text, host)
    return host


def shown_url(url: str) -> str:
    """A URL for a message: printable, cut, and without user name and password."""
    plain = "".join(char if char.isprintable() else "?" for char in url.strip()[:URL_CHARS_MAX])
    plain = _USERINFO.sub(r"\1\2", plain.replace("\\", "/"))
    return shorten(plain, SHOWN_CHARS_MAX)


def _refused(url: str, reason: str) -> AddressRefused:
    return AddressRefused(f"{shown_url(url) or 'an empty address'} is not read: {reason}")


def _check_characters(url: str) -> None:
    if "\\" in url:
        raise _refused(url, "there is a backslash in it, which programs read in different ways")
    if not url.isprintable() or any(char.isspace() for char in url):
        raise _refused(url, "there are spaces or control characters in it; percent-encode them")


def _authority(url: str, authority: str, scheme: str) -> tuple[str, int]:
    """Host and port."""
    if "@" in authority:
        raise _refused(url, "there is a user name or a password in it; leave out what is before @")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not parts["host"]:
        raise _refused(url, "its host or port can't be made out")
    try:
        host = normal_host(parts["host"])
    except AddressRefused as error:
        raise _refused(url, str(error).partition(" is not read: ")[2]) from None
    digits = (parts["port"] or "")[1:]
    port = int(digits) if digits else DEFAULT_PORTS[scheme]
    if port in _CLOSED_PORTS or port > 65_535:
        raise _refused(url, f"port {port} is none of web pages")
    return host, port


def _ascii(host: str) -> str:
    """By UTS 46 and IDNA 2008; raises AddressRefused."""
    if host.isascii():
        return host.lower()
    if len(host) > HOST_CHARS_MAX:
        raise _refused(host, "its host is no name that a host can have")
    try:
        return idna.encode(host, uts46=True, std3_rules=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _refused(host, "its host has letters that no host may have (IDNA)") from None


def _ipv4(text: str, host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise _refused(
            text, "its host is a number in a form that hides what it means; write it as 192.0.2.1"
        ) from None


def _ipv6(text: str, inside: str) -> str:
    if "%" in inside:
        raise _refused(text, "its host has a zone, which means something on one machine only")
    try:
        return str(ipaddress.IPv6Address(inside))
    except ValueError:
        raise _refused(text, "what stands in its brackets is no IPv6 address") from None


def _without_dots(path: str) -> str:
    """The path with `.` and `..` resolved, also where a dot is percent-encoded."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments, start=1):
        dots = segment.lower().replace("%2e", ".")
        if dots == "..":
            del kept[-1:]
        elif dots != ".":
            kept.append(segment)
        if dots in (".", "..") and place == len(segments):
            kept.append("")
    return "/" + "/".join(kept)
