"""What is asked of a server, redirects included, and what its answer means."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias
from urllib.parse import urlencode

from core.base.frozen import frozen
from core.base.http import retry_after_seconds
from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.decoding import ACCEPTED_CODINGS
from servers.web.fetching.targets import Target, redirected, shown_url

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,80}")
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]{1,40})", re.ASCII | re.IGNORECASE)

_ADVICE = {
    401: "it wants a login; try another source",
    403: "it refuses programs, or wants a login; try another source",
    404: "there is no such page; check the address, or search for it",
    407: "it wants a login; try another source",
    410: "the page is gone; search for another",
    429: "it wants fewer requests; try again in some minutes",
    451: "the page is withheld for legal reasons; try another source",
}
_ADVICE_BY_KIND = {
    1: "that is no answer to a request for a page",
    2: "that is only a part of the page; try another source",
    3: "it sends on without saying where; try another source",
    4: "the request is refused; check the address, or try another source",
    5: "the server is in trouble; try again later, or try another source",
}


@frozen
class Answer:
    """Status, headers as they came (names in lower case), and the body of a success."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        """Whether the body is the whole of what was asked for."""
        return 200 <= self.status < 300 and self.status != 206

    def header(self, name: bytes) -> bytes:
        """The first of that name; empty without one."""
        return next((value for key, value in self.headers if key == name), b"")

    def listed(self, name: bytes) -> str:
        """All of that name as one list (RFC 9110, 5.3)."""
        return b", ".join(value for key, value in self.headers if key == name).decode("latin-1")

    @property
    def media_type(self) -> str:
        """Lower-case, without parameters; empty if it is missing or none."""
        named = self.header(b"content-type").decode("latin-1").partition(";")[0].strip().lower()
        return named if _MEDIA_TYPE.fullmatch(named) else ""

    @property
    def charset(self) -> str:
        """That of the Content-Type; empty without one."""
        found = _CHARSET.search(self.header(b"content-type").decode("latin-1"))
        return found[1] if found else ""

    @property
    def content_length(self) -> int | None:
        """The bytes that are announced, as they are on the wire."""
        digits = self.header(b"content-length")
        return int(digits) if digits.isdigit() and len(digits) < 16 else None

    @property
    def pause_seconds(self) -> float | None:
        """The pause that Retry-After asks for; None if it asks for none."""
        names = ("retry-after", "date")
        return retry_after_seconds(
            {name: self.header(name.encode()).decode("latin-1") for name in names}
        )


def status_error(shown: str, status: int) -> PageUnavailable:
    """An answer without success as an error that says what to try."""
    advice = _ADVICE.get(status) or _ADVICE_BY_KIND.get(status // 100, _ADVICE_BY_KIND[5])
    return PageUnavailable(f"{shown} answered with status {status}: {advice}", status)


REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
PRODUCT = "Cortex-R"
"""Our name in a robots.txt (RFC 9309, 2.2.1)."""

USER_AGENT = f"Mozilla/5.0 (compatible; {PRODUCT}; reads pages for its user)"
ACCEPT = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,*/*;q=0.5"
ACCEPT_LANGUAGE = "en;q=0.8,*;q=0.5"

_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te"}
    | {"upgrade", "expect", "cookie", "range"}
)
"""Headers that callers can't set: they belong to the connection, or would make half an answer."""

Headers: TypeAlias = dict[str, str]


@frozen
class Request:
    """One request. `headers` are the caller's, by lower-case name; `body` is that of a POST.

    `may_be_private` is kept from the first one on: it began at a host that the profile opens.
    """

    target: Target
    headers: Headers
    body: bytes | None = None
    body_type: str = ""
    may_be_private: bool = False

    @property
    def method(self) -> str:
        """POST with a body, else GET."""
        return "GET" if self.body is None else "POST"

    def lines(self) -> list[tuple[bytes, bytes]]:
        """All headers as they are sent, Host first (RFC 9112, 3.2)."""
        sent = {
            "host": self.target.authority,
            "user-agent": USER_AGENT,
            "accept": ACCEPT,
            "accept-language": ACCEPT_LANGUAGE,
            **self.headers,
            "accept-encoding": ACCEPTED_CODINGS,
            "connection": "close",
        }
        if self.body is not None:
            sent["content-type"] = self.body_type
            sent["content-length"] = str(len(self.body))
        return [(_titled(name).encode(), value.encode("latin-1")) for name, value in sent.items()]


def first_request(
    target: Target,
    headers: Mapping[str, str] | None,
    form: Mapping[str, str] | None,
    json_value: object,
) -> Request:
    """The request that a caller means.

    Raises:
        ValueError: a mistake of the caller: two bodies, or a header that it can't set.
    """
    given = {name.lower(): value for name, value in (headers or {}).items()}
    for name, value in given.items():
        if name in _OURS or not name.isascii() or not (value.isascii() and value.isprintable()):
            raise ValueError(f"the header {name!r} can't be set, or not to this value")
    if form is not None and json_value is not None:
        raise ValueError("a request has one body: form or json")
    if form is not None:
        body = urlencode(form).encode("ascii")
        return Request(target, given, body, "application/x-www-form-urlencoded")
    if json_value is not None:
        return Request(target, given, json.dumps(json_value).encode(), "application/json")
    return Request(target, given)


def next_request(request: Request, status: int, location: bytes) -> Request:
    """The request that a redirect asks for (RFC 9110, 15.4).

    What belongs to the first origin stays there: the caller's headers are dropped at the border
    for good, and data is not sent across it. A secure page that sends on to an insecure one is not
    followed: what would come could be anybody's.

    Raises:
        AddressRefused: it leads to no web page, or from https to http.
        PageUnavailable: it would carry the data of a POST to another origin.
    """
    target = redirected(request.target, location)
    if request.target.scheme == "https" and target.scheme == "http":
        raise AddressRefused(
            f"{shown_url(request.target.url)} sends on from https to http, which is not followed, "
            f"since anybody on the way could change it; if that will do, ask for "
            f"{shown_url(target.url)} itself"
        )
    is_crossing = target.origin != request.target.origin
    following = replace(request, target=target, headers={} if is_crossing else request.headers)
    if request.body is None or status in (301, 302, 303):
        return replace(following, body=None, body_type="")
    if is_crossing:
        raise PageUnavailable(
            f"{shown_url(request.target.url)} sends the request and its data on to "
            f"{shown_url(target.origin)}, which is not followed; check the address",
            status,
        )
    return following


def _titled(name: str) -> str:
    """`user-agent` as `User-Agent`: some servers look at the capitals."""
    return "-".join(part.capitalize() for part in name.split("-"))
