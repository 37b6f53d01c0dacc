"""What a server answered, and what that means for whoever asked."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from servers.web.faults import PageUnavailable

RETRY_STATUSES = frozenset({429, 503})

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


@dataclass(frozen=True, slots=True)
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
        """The pause that Retry-After asks for (RFC 9110, 10.2.3); None if it asks for none.

        A date counts from the server's own Date, so that clocks need not agree.
        """
        asked = self.header(b"retry-after").strip()
        if asked.isdigit():
            return float(asked[:9])
        until, now = _moment(asked), _moment(self.header(b"date"))
        return max(0.0, (until - now).total_seconds()) if until and now else None


def status_fault(shown: str, status: int) -> PageUnavailable:
    """An answer without success as an error that says what to try."""
    advice = _ADVICE.get(status) or _ADVICE_BY_KIND.get(status // 100, _ADVICE_BY_KIND[5])
    return PageUnavailable(f"{shown} answered with status {status}: {advice}", status)


def _moment(text: bytes) -> datetime | None:
    """An HTTP date; None if it is none."""
    try:
        moment = parsedate_to_datetime(text[:60].decode("ascii"))
    except (ValueError, TypeError, UnicodeDecodeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
