"""What whoever reads and the process that does it tell each other: lines of JSON.

    → {"id": 1, "path": "/…/report.pdf", "task": "file", "is_careful": false, …}
    ← {"id": 1, "scans": 12}                                 more time is needed
    ← {"id": 1, "extracted": {"markdown": …, "title": …, "page_starts": […], "notes": […], …}}
    ← {"id": 1, "error": "it is encrypted with a password; save a copy without one"}

A hostile file may have taken over the process that replies, so what it says is checked by who
asked (`worker`).
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from core.base.frozen import frozen
from servers.reading.source import Extracted

REQUEST_BYTES_MAX = 64 * 1024

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


@frozen
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


@frozen
class Scans:
    """So many pages will be read from their picture."""

    count: int


@frozen
class Refusal:
    """The file can't be read."""

    message: str


Reply: TypeAlias = Extracted | Scans | Refusal


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
