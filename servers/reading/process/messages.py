"""What the indexer and the process that reads files tell each other: lines of JSON.

    → {"id": 1, "path": "/…/report.pdf", "careful": false}
    ← {"id": 1, "scans": 12}                                 more time is needed
    ← {"id": 1, "extracted": {"markdown": …, "title": …, "page_starts": […], "notes": […]}}
    ← {"id": 1, "error": "it is encrypted with a password; save a copy without one"}

A hostile file may have taken over the process that replies, so what it says is checked. By hand:
Pydantic would take a quarter of a second of each process's start.
"""

import json
from dataclasses import asdict, dataclass
from typing import TypeAlias, TypedDict, cast

from servers.rag.passages import Extracted
from servers.reading.limits import Limits
from servers.reading.markdown import cleaned, one_line

REQUEST_BYTES_MAX = 64 * 1024
ERROR_CHARS_MAX = 500
NOTES_MAX = 50
BYTES_A_CHARACTER = 6
"""At most, escaped in JSON."""


class Settings(TypedDict):
    """What the process is started with; `limits` holds the fields of `Limits`."""

    captions: str
    memory_bytes: int
    idle_seconds: float
    limits: dict[str, float]


class Request(TypedDict):
    """One file to read; `careful` after a first attempt that ended the process."""

    id: int
    path: str
    careful: bool


@dataclass(frozen=True, slots=True)
class Scans:
    """So many pages will be read from their picture."""

    count: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The file can't be read."""

    message: str


Reply: TypeAlias = Extracted | Scans | Refusal


class BrokenReply(Exception):
    """Something else than a reply to the request."""


def request_line(request: Request) -> bytes:
    """A request as it goes over the pipe; a path that is no text is escaped."""
    return json.dumps(request).encode("ascii") + b"\n"


def reply_line(request_id: int, reply: Reply) -> bytes:
    """A reply as it goes over the pipe."""
    match reply:
        case Scans():
            told: dict[str, object] = {"scans": reply.count}
        case Refusal():
            told = {"error": reply.message}
        case Extracted():
            told = {"extracted": asdict(reply)}
    line = json.dumps({"id": request_id} | told, ensure_ascii=False)
    return line.encode("utf-8", errors="replace") + b"\n"


def read_reply(line: bytes, request_id: int, limits: Limits) -> Reply:
    """The reply in a line.

    Raises:
        BrokenReply: it is none to this request, or of a wrong form.
    """
    try:
        told = cast(object, json.loads(line))
    except (ValueError, RecursionError):
        raise BrokenReply from None
    fields = cast(dict[str, object], told) if isinstance(told, dict) else {}
    if fields.get("id") != request_id:
        raise BrokenReply
    scans, error = fields.get("scans"), fields.get("error")
    if isinstance(scans, int) and scans >= 0:
        return Scans(scans)
    if isinstance(error, str):
        return Refusal(one_line(cleaned(error))[:ERROR_CHARS_MAX])
    return _extracted(fields.get("extracted"), limits)


def _extracted(told: object, limits: Limits) -> Extracted:
    fields = cast(dict[str, object], told) if isinstance(told, dict) else {}
    markdown, title = fields.get("markdown"), fields.get("title")
    starts, notes = fields.get("page_starts"), fields.get("notes")
    first_line = 0 if fields.get("first_line") == 0 else 1
    if not (isinstance(markdown, str) and isinstance(title, str)):
        raise BrokenReply
    if not (isinstance(starts, list) and isinstance(notes, list)):
        raise BrokenReply
    offsets = [each for each in cast(list[object], starts) if isinstance(each, int)]
    is_ordered = offsets == sorted(offsets) and all(each >= 0 for each in offsets)
    if len(offsets) != len(cast(list[object], starts)) or not is_ordered:
        raise BrokenReply
    if len(markdown) > limits.markdown_chars:
        raise BrokenReply
    lines = (str(each)[:ERROR_CHARS_MAX] for each in cast(list[object], notes)[:NOTES_MAX])
    return Extracted(markdown, title[:ERROR_CHARS_MAX], tuple(offsets), tuple(lines), first_line)
