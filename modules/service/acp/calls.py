"""How an editor is shown a tool call: title, arguments, files that it is about, result."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from core.base.json_text import json_start
from core.base.redaction import Redactor
from core.base.text import one_line, shorten
from core.tools.content import ImageBlock
from core.tools.json_schema import as_object
from core.values import Json, JsonObject
from modules.terminal.answer import Room, plain_json
from modules.terminal.wording import arguments_text

SHOWN_CHARACTERS_MAX: Final = 20_000
"""How much of a result or of arguments is shown."""

TITLE_CHARACTERS: Final = 120
LOCATIONS_MAX: Final = 20

IMAGE_CHARACTERS_MAX: Final = 8 * 1024 * 1024
"""So much base64 of the pictures of one call is sent."""

_PATHS: Final = ("path", "paths", "file", "file_path", "filepath", "filename", "folder")
"""Arguments that name what a call works on."""


def call_told(tool: str, arguments: JsonObject, redactor: Redactor, folder: Path) -> JsonObject:
    """Title, arguments and files of a call; relative paths start at `folder`.

    Of no kind: a guess by the tool's name, which a server chooses, would let editors allow it that
    allow reading and searching without asking (`acpx --approve-reads`).
    """
    inner = arguments.get("input")
    given = inner if isinstance(inner, dict) and len(arguments) == 1 else arguments
    clean = redactor.object(as_object(plain_json(given, room=Room(SHOWN_CHARACTERS_MAX))))
    title = one_line(f"{tool}({arguments_text(clean)})", TITLE_CHARACTERS)
    told: JsonObject = {"title": title, "kind": "other", "rawInput": clean}
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
