"""What the server and the process that reads pages tell each other about one of them.

They talk as the indexer and its reader do (`servers.reading.process.messages`), which knows files
and their text only. So what came is laid into a file after a line of JSON that says where it came
from, and the text of the answer follows a line of JSON that says what else the page holds. The
process may have been taken over by a hostile page: what it tells is checked.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, cast

from servers.reading.markdown import as_title

Task: TypeAlias = Literal["page", "picture"]
"""A page (of any kind of file) is read; a picture is described."""

HEAD_BYTES_MAX = 64 * 1024
PICTURES_MAX = 5
"""Pictures without alternative text that are described, of one page."""

ADDRESS_CHARS_MAX = 2_000

_MARKS = ("⎡", "⎦")
"""Around a picture's number: U+23A1 and U+23A6, pieces of tall brackets, which are taken out of
pages before and which hardly any text holds. Libraries drop characters of private use."""


class BrokenHead(Exception):
    """The line before the content is none that the other side writes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be read. `pictures`: how many of those without a description may be named."""

    task: Task
    url: str = ""
    media_type: str = ""
    charset: str = ""
    pictures: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a page says of itself, and the addresses of pictures whose place the text marks."""

    title: str = ""
    author: str = ""
    date: str = ""
    pictures: tuple[str, ...] = ()


def picture_mark(number: int) -> str:
    """What stands in the text in place of a picture that is to be described."""
    return f"{_MARKS[0]}{number}{_MARKS[1]}"


def without_marks(text: str) -> str:
    """Text in which no mark can stand that is not ours."""
    return text.replace(_MARKS[0], "").replace(_MARKS[1], "")


def packed(asked: Asked, body: bytes) -> bytes:
    """A file to be read."""
    return json.dumps(asdict(asked)).encode("ascii") + b"\n" + body


def unpacked(data: bytes) -> tuple[Asked, bytes]:
    """What `packed` made one of.

    Raises:
        BrokenHead: it is no such file.
    """
    line, _, body = data.partition(b"\n")
    fields = _fields(line[:HEAD_BYTES_MAX])
    count = fields.get("pictures")
    asked = Asked(
        task="picture" if fields.get("task") == "picture" else "page",
        url=_text(fields, "url"),
        media_type=_text(fields, "media_type"),
        charset=_text(fields, "charset"),
        pictures=count if isinstance(count, int) else 0,
    )
    return asked, body


def with_head(told: Told, markdown: str) -> str:
    """The text of an answer."""
    return json.dumps(asdict(told)) + "\n" + markdown


def without_head(text: str) -> tuple[Told, str]:
    """What `with_head` made it of, within bounds.

    Raises:
        BrokenHead: it is no such text.
    """
    line, _, markdown = text.partition("\n")
    fields = _fields(line.encode("utf-8", errors="replace")[:HEAD_BYTES_MAX])
    listed = fields.get("pictures")
    pictures = cast(list[object], listed) if isinstance(listed, list) else []
    addresses = [each[:ADDRESS_CHARS_MAX] for each in pictures if isinstance(each, str)]
    told = Told(
        title=as_title(_text(fields, "title")),
        author=as_title(_text(fields, "author")),
        date=as_title(_text(fields, "date")),
        pictures=tuple(addresses[:PICTURES_MAX]),
    )
    return told, markdown


def _fields(line: bytes) -> dict[str, object]:
    try:
        told = cast(object, json.loads(line))
    except (ValueError, RecursionError):
        raise BrokenHead from None
    if not isinstance(told, dict):
        raise BrokenHead
    return cast(dict[str, object], told)


def _text(fields: dict[str, object], key: str) -> str:
    found = fields.get(key)
    return found if isinstance(found, str) else ""
