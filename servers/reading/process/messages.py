"""What whoever reads and the process that does it tell each other: lines of JSON.

    → {"id": 1, "path": "/…/report.pdf", "task": "file", "is_careful": false, …}
    ← {"id": 1, "scans": 12}                                 more time is needed
    ← {"id": 1, "extracted": {"markdown": …, "title": …, "page_starts": […], "notes": […], …}}
    ← {"id": 1, "error": "it is encrypted with a password; save a copy without one"}

A hostile file may have taken over the process that replies, so what it says is checked. By hand:
Pydantic would take a quarter of a second of each process's start.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict, cast

from servers.reading.limits import Limits
from servers.reading.markdown import as_title, cleaned, unwrapped
from servers.reading.source import PICTURES_MAX, Extracted

REQUEST_BYTES_MAX = 64 * 1024
ERROR_CHARS_MAX = 500
NOTES_MAX = 50
ADDRESS_CHARS_MAX = 2_000
BYTES_A_CHARACTER = 6
"""At most, escaped in JSON."""

EXIT_RESTS = 64
"""The process's exit code: nothing was asked for, or too much memory is held."""

Task: TypeAlias = Literal["file", "page", "picture"]
"""A file is read, or the answer of a server (of any kind of file); a page's picture described."""


class Settings(TypedDict):
    """What the process is started with; `limits` holds the fields of `Limits`."""

    captions: str
    memory_bytes: int
    idle_seconds: float
    limits: dict[str, float]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be read from a file; careful after a first attempt that ended the process.

    For a page: where it came from, what its server says of it, and how many pictures without a
    description may be named.
    """

    path: Path
    task: Task = "file"
    url: str = ""
    media_type: str = ""
    charset: str = ""
    pictures_named: int = 0
    is_careful: bool = False


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


def request_line(number: int, request: Request) -> bytes:
    """A request as it goes over the pipe; a path that is no text is escaped."""
    fields = asdict(request) | {"id": number, "path": str(request.path.absolute())}
    return json.dumps(fields).encode("ascii") + b"\n"


def read_request(line: bytes) -> tuple[int, Request]:
    """What `request_line` made a line of, and its number."""
    fields = json.loads(line)
    number = fields.pop("id")
    return number, Request(**fields | {"path": Path(fields["path"])})


def reply_line(number: int, reply: Reply) -> bytes:
    """A reply as it goes over the pipe."""
    match reply:
        case Scans():
            told: dict[str, object] = {"scans": reply.count}
        case Refusal():
            told = {"error": reply.message}
        case Extracted():
            told = {"extracted": asdict(reply)}
    line = json.dumps({"id": number} | told, ensure_ascii=False)
    return line.encode("utf-8", errors="replace") + b"\n"


def read_reply(line: bytes, number: int, limits: Limits) -> Reply:
    """The reply in a line.

    Raises:
        BrokenReply: it is none to this request, or of a wrong form.
    """
    try:
        told = cast(object, json.loads(line))
    except (ValueError, RecursionError):
        raise BrokenReply from None
    fields = cast(dict[str, object], told) if isinstance(told, dict) else {}
    if fields.get("id") != number:
        raise BrokenReply
    scans, error = fields.get("scans"), fields.get("error")
    if isinstance(scans, int) and scans >= 0:
        return Scans(scans)
    if isinstance(error, str):
        return Refusal(unwrapped(cleaned(error))[:ERROR_CHARS_MAX])
    return _extracted(fields.get("extracted"), limits)


def _extracted(told: object, limits: Limits) -> Extracted:
    fields = cast(dict[str, object], told) if isinstance(told, dict) else {}
    markdown = fields.get("markdown")
    if not isinstance(markdown, str) or len(markdown) > limits.markdown_chars:
        raise BrokenReply
    starts = [each for each in _list(fields, "page_starts") if isinstance(each, int)]
    is_ordered = starts == sorted(starts) and all(each >= 0 for each in starts)
    if len(starts) != len(_list(fields, "page_starts")) or not is_ordered:
        raise BrokenReply
    return Extracted(
        markdown,
        _text(fields, "title")[:ERROR_CHARS_MAX],
        tuple(starts),
        tuple(str(each)[:ERROR_CHARS_MAX] for each in _list(fields, "notes")[:NOTES_MAX]),
        0 if fields.get("first_line") == 0 else 1,
        as_title(_text(fields, "author")),
        as_title(_text(fields, "date")),
        tuple(str(each)[:ADDRESS_CHARS_MAX] for each in _list(fields, "pictures")[:PICTURES_MAX]),
    )


def _text(fields: dict[str, object], key: str) -> str:
    """A text; empty where it is left out.

    Raises:
        BrokenReply: it is something else.
    """
    found = fields.get(key, "")
    if not isinstance(found, str):
        raise BrokenReply
    return found


def _list(fields: dict[str, object], key: str) -> list[object]:
    """A list; raises as `_text`."""
    found = fields.get(key, [])
    if not isinstance(found, list):
        raise BrokenReply
    return cast(list[object], found)
