"""What a tool answers: content blocks of every kind that MCP knows, and the result around them.

Blocks follow MCP 2025-11-25, "Tool Result", field by field; `data` is base64 as it came.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, field
from itertools import islice
from typing import ClassVar, Literal, TypeAlias, assert_never

from core.base.frozen import frozen
from core.base.json_text import UNCOUNTED_BYTES_MAX, at_once, excess, json_start
from core.values import Json, JsonObject

JSON_TEXT_CHARACTERS_MAX = 1024 * 1024
"""Longer text stays text even if it is JSON, and so does what is too dense for a message: parsing
it would hold up the event loop."""


RESULT = "result"
"""The only property in which SDKs wrap a result that is no object; plans receive what is in it."""

COMPARED_CHARACTERS_MAX = 64 * 1024
"""Text beside structured content is told from it by its words; where either is longer, by its first
character: JSON begins with `{` or `[`."""

COMPARED_VALUES_MAX = 5_000
"""The same where structured content holds more names and values."""

ERROR_CHARACTERS_MAX = 20_000
"""How much is told of an error that has no text."""

TEXT_RESULT = "content"
"""The same for text, as the official servers of the protocol write it."""


@frozen
class TextBlock:
    """Text for the model."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


@frozen
class ImageBlock:
    """An image; `data` is base64."""

    type: ClassVar[Literal["image"]] = "image"
    data: str
    mime_type: str


@frozen
class AudioBlock:
    """A sound; `data` is base64."""

    type: ClassVar[Literal["audio"]] = "audio"
    data: str
    mime_type: str


@frozen
class ResourceBlock:
    """A resource that came with the result: `text`, or base64 `data`, never both."""

    type: ClassVar[Literal["resource"]] = "resource"
    uri: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None


@frozen
class LinkBlock:
    """A resource that can be read elsewhere; `text` is its description, `size` in bytes."""

    type: ClassVar[Literal["resource_link"]] = "resource_link"
    uri: str
    name: str = ""
    text: str | None = None
    mime_type: str | None = None
    size: int | None = None


ContentBlock: TypeAlias = TextBlock | ImageBlock | AudioBlock | ResourceBlock | LinkBlock


def block_json(block: ContentBlock) -> JsonObject:
    """A block as a plan sees it: the same five keys whatever its kind, plus a link's own."""
    common: JsonObject = {
        "type": block.type,
        "text": None,
        "data": None,
        "mime_type": None,
        "uri": None,
    }
    return {**common, **asdict(block)}


@frozen
class ToolResult:
    """What a server answered; an error of the tool is a value (`is_error`).

    `omitted_bytes` is how much was cut off because the result was over the server's cap; the
    text then ends in a note that says so. `is_promised` tells that the tool has an output schema,
    by which plans are written.
    """

    content: tuple[ContentBlock, ...]
    structured: JsonObject | None = None
    is_error: bool = False
    omitted_bytes: int = field(default=0, kw_only=True)
    is_promised: bool = field(default=False, kw_only=True)

    @property
    def text(self) -> str:
        """All text, of whatever block, joined by newlines."""
        return "\n".join(text for block in self.content if (text := block_text(block)) is not None)

    @property
    def error_text(self) -> str:
        """What an error says: its text, else what its structured content holds; "" for nothing."""
        if self.text.strip() or not self.structured:
            return self.text
        return json_start(self.structured, ERROR_CHARACTERS_MAX)

    @property
    def value(self) -> Json:
        """The result as a plan receives it: `{"result": x}` and `{"content": "…"}` arrive as `x`.

        Structured content first; else text that is a JSON object; else the text; else the
        blocks themselves as objects (images and the like). Text that says something else than the
        structured content stands in it under `text`. Where the tool promises no dict, what it
        promises comes alone; where it promises nothing, text beside an empty object does.
        """
        if self.structured is None:
            return self._content_value
        plain = _unwrap(self.structured)
        if (self.is_promised and not isinstance(plain, dict)) or not self._says_more:
            return plain
        if not self.is_promised and plain in (None, {}, ""):
            return self._content_value
        return {**self.structured, _free_key(self.structured): self.text}

    @property
    def _content_value(self) -> Json:
        if self.content and all(block_text(block) is not None for block in self.content):
            return _unwrap(_parse_object(self.text))
        return [block_json(block) for block in self.content]

    @property
    def _says_more(self) -> bool:
        """Whether the text has words that the structured content lacks."""
        text, structured = self.text, self.structured
        if not text.strip():
            return False
        parts = [*islice(_written_parts(structured), COMPARED_VALUES_MAX + 1)]
        longest = max(len(text), sum(map(len, parts)))
        if longest > COMPARED_CHARACTERS_MAX or len(parts) > COMPARED_VALUES_MAX:
            return text.lstrip()[:1] not in "{["
        known = {*_words(" ".join(parts))}
        said = (part for block in self.content for part in _said_by(block))
        return not known.issuperset(word for part in said for word in _words(part))


def block_texts(block: ContentBlock) -> tuple[str | None, ...]:
    """Everything that a block holds, its labels included: what is to be bounded or weighed."""
    match block:
        case TextBlock():
            return (block.text,)
        case ImageBlock() | AudioBlock():
            return (block.data, block.mime_type)
        case ResourceBlock():
            return (block.text, block.data, block.uri, block.mime_type)
        case LinkBlock():
            return (block.text, block.name, block.uri, block.mime_type)
        case _:
            assert_never(block)


def block_text(block: ContentBlock) -> str | None:
    """The text that a block holds; None for images, sounds and binary resources."""
    return None if isinstance(block, ImageBlock | AudioBlock) else block.text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _written_parts(value: Json) -> Iterator[str]:
    """The names and values in a value, as JSON and as Python write them."""
    waiting: list[Json] = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as items:
                waiting += items
            case dict() as inner:
                waiting += inner
                waiting += inner.values()
            case scalar:
                yield f"{scalar} {json_start(scalar, COMPARED_CHARACTERS_MAX)}"


def _said_by(block: ContentBlock) -> Iterator[str]:
    """The names and values of a text that is JSON, whatever escapes it has; else the text."""
    if (text := block_text(block)) is None:
        return
    try:
        yield from _written_parts(json.loads(text))
    except (ValueError, RecursionError):
        yield text


def _free_key(structured: JsonObject) -> str:
    key = "text"
    while key in structured:
        key += "_"
    return key


def _parse_object(text: str) -> Json:
    if len(text) > JSON_TEXT_CHARACTERS_MAX or not text.lstrip().startswith("{"):
        return text
    if (
        len(text) > UNCOUNTED_BYTES_MAX
        and at_once(excess(text.encode("utf-8", "replace"))) is not None
    ):
        return text
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(name: str) -> Json:
    """Text with NaN or an infinity in it is no JSON (RFC 8259, section 6), whoever wrote it."""
    raise ValueError(f"{name} is not JSON")


def _unwrap(value: Json) -> Json:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((name, inner),) = value.items()
    is_wrapper = name == RESULT or (name == TEXT_RESULT and isinstance(inner, str))
    return inner if is_wrapper else value
