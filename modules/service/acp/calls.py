"""How an editor is shown a tool call: title, kind, arguments, files that it is about, result."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.base.json_text import json_start
from core.base.redaction import Redactor
from core.base.text import one_line, shorten
from core.tools.content import ImageBlock
from core.tools.json_schema import as_object
from core.values import Json, JsonObject
from modules.terminal.answer import Room, plain_json
from modules.terminal.wording import arguments_text

ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "fetch", "other"
]

SHOWN_CHARACTERS_MAX: Final = 20_000
"""How much of a result or of arguments is shown."""

TITLE_CHARACTERS: Final = 120
LOCATIONS_MAX: Final = 20

IMAGE_CHARACTERS_MAX: Final = 8 * 1024 * 1024
"""So much base64 of the pictures of one call is sent."""

_PATHS: Final = ("path", "paths", "file", "file_path", "filepath", "filename", "folder")
"""Arguments that name what a call works on."""

_KINDS: Final[Mapping[ToolKind, str]] = {
    "search": "search find grep query lookup",
    "fetch": "fetch download browse visit crawl url webpage",
    "delete": "delete remove erase forget clear",
    "move": "move rename",
    "edit": "write edit create update append insert replace patch save",
    "execute": "run execute exec shell command",
    "read": "read get list show view open describe load",
}


def kind_of(tool: str) -> ToolKind:
    """What kind of a tool it is, by the words of its name; decides about the picture beside it."""
    words = tool.rpartition(".")[2].lower().replace("-", "_").split("_")
    for word in words:
        for kind, meant in _KINDS.items():
            if word in meant.split():
                return kind
    return "other"


def call_told(tool: str, arguments: JsonObject, redactor: Redactor, folder: Path) -> JsonObject:
    """Title, kind, arguments and files of a call; relative paths start at `folder`."""
    inner = arguments.get("input")
    given = inner if isinstance(inner, dict) and len(arguments) == 1 else arguments
    clean = redactor.object(as_object(plain_json(given, room=Room(SHOWN_CHARACTERS_MAX))))
    title = one_line(f"{tool}({arguments_text(clean)})", TITLE_CHARACTERS)
    told: JsonObject = {"title": title, "kind": kind_of(tool), "rawInput": clean}
    if locations := [*_locations(clean, folder)]:
        told["locations"] = locations
    return told


def result_content(
    result: Json, redactor: Redactor, images: Sequence[ImageBlock] = ()
) -> list[Json]:
    """The content of a call that has ended: its result as text, then pictures."""
    text = result if isinstance(result, str) else json_start(result, SHOWN_CHARACTERS_MAX)
    shown: list[Json] = [text_content(shorten(redactor.text(text), SHOWN_CHARACTERS_MAX))]
    room = IMAGE_CHARACTERS_MAX
    for image in images:
        room -= len(image.data)
        if room < 0:
            return [*shown, text_content("[further pictures are not shown: they are too large]")]
        picture: JsonObject = {"type": "image", "data": image.data, "mimeType": image.mime_type}
        shown.append({"type": "content", "content": picture})
    return shown


def text_content(text: str) -> JsonObject:
    """A text within a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def message_chunk(kind: str, text: str) -> JsonObject:
    """A piece of a message, as an update."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def _locations(arguments: JsonObject, folder: Path) -> Iterator[Json]:
    """The files that arguments name."""
    values: list[Json] = []
    for value in map(arguments.get, _PATHS):
        values += value if isinstance(value, list) else [value]
    for value in values[:LOCATIONS_MAX]:
        if isinstance(value, str) and value and "://" not in value and "\0" not in value:
            yield {"path": str(folder / value)}
