"""What is asked of a server: the first request, and those that redirects lead to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlencode

from servers.web.faults import AddressRefused, PageUnavailable
from servers.web.targets import Target, redirected, shown_url

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


@dataclass(frozen=True, slots=True)
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

    def lines(self, accepted_codings: str) -> list[tuple[bytes, bytes]]:
        """All headers as they are sent, Host first (RFC 9112, 3.2)."""
        sent = {
            "host": self.target.authority,
            "user-agent": USER_AGENT,
            "accept": ACCEPT,
            "accept-language": ACCEPT_LANGUAGE,
            **self.headers,
            "accept-encoding": accepted_codings,
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
