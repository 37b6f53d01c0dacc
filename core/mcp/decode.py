"""A server's tools and results as our values (MCP 2025-11-25, "Tools").

Everything here comes from a program that we do not trust: what has the wrong form is left out or
refused with the place named, and a result over the cap is cut with a note.
"""

from dataclasses import replace

from pydantic_core import to_json

from core.mcp.wire import CUT_OFF, LEVELS_MAX
from core.tools.content import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    ToolResult,
)
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

TOOL_NAME_CHARACTERS_MAX = 256
"""A tool with a longer name is left out; the protocol asks for 128 at most."""

TOOL_BYTES_MAX = 256 * 1024
"""A tool whose description or schema is longer is left out; no prompt could carry it."""

MIME_TYPE_CHARACTERS_MAX = 255
"""Two names of 127 and the stroke between them."""

BLOCKS_MAX = 10_000
"""More content blocks in one result are cut off."""

_EFFECT_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")
"""Annotations with which a server says whether a tool changes anything."""


class Malformed(Exception):
    """A part of an answer has not the form that the protocol gives it; the text names it."""


def tool_spec(server: str, raw: Json) -> ToolSpec:
    """A tool of a `tools/list` page.

    Raises:
        Malformed: it has no usable name, or a description or schema of the wrong kind, or it
            runs in a way that we don't know.
    """
    if not isinstance(raw, dict):
        raise Malformed("a tool that is no object")
    name = raw.get("name")
    if not isinstance(name, str) or not _can_be_named(name):
        raise Malformed(f"a tool whose name can't be written: {str(name)[:40]!r}")
    schema = raw.get("inputSchema", {"type": "object"})
    output = raw.get("outputSchema")
    if not isinstance(schema, dict) or not isinstance(output, dict | None):
        raise Malformed(f"tool '{name}', whose schema is no object")
    execution = raw.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise Malformed(f"tool '{name}', which only runs as a task, an experiment of the protocol")
    hints = raw.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    description = _text(raw.get("description")) or _text(raw.get("title"))
    description = description or _text(hints.get("title")) or ""
    if len(description) > TOOL_BYTES_MAX:
        raise Malformed(f"tool '{name}', whose description has {len(description):,} characters")
    for written in map(_written, (schema, output)):
        if len(written) > TOOL_BYTES_MAX:
            raise Malformed(f"tool '{name}', whose schema has over {TOOL_BYTES_MAX:,} bytes")
        if CUT_OFF.encode() in written:
            raise Malformed(f"tool '{name}', whose schema is nested over {LEVELS_MAX} levels deep")
    return ToolSpec(
        server=server,
        name=name,
        description=description,
        input_schema=schema,
        output_schema=output,
        read_only=hints.get("readOnlyHint") is True,
        says_effects=any(isinstance(hints.get(name), bool) for name in _EFFECT_HINTS),
        idempotent=hints.get("idempotentHint") is True,
    )


def definition_bytes(tool: ToolSpec) -> int:
    """About the size of a tool's description and schemas."""
    parts = (tool.description, tool.input_schema, tool.output_schema)
    return sum(len(_written(part)) for part in parts)


def tool_result(raw: JsonObject, bytes_max: int, *, is_promised: bool = False) -> ToolResult:
    """The result of a `tools/call`, cut at `bytes_max` bytes of text and data in all.

    `is_promised` tells that the tool has an output schema.

    Raises:
        Malformed: a content block has not the form of any kind.
    """
    blocks = raw.get("content", [])
    if not isinstance(blocks, list):
        raise Malformed("content that is no list")
    structured = _as_object(raw.get("structuredContent"))
    is_error = raw.get("isError") is True
    content = tuple(_block(block) for block in blocks[:BLOCKS_MAX])
    if more := len(blocks) - len(content):
        note = f"[cut: {more:,} of the result's {len(blocks):,} content blocks are left out]"
        content = (*content, TextBlock(note))
    whole = ToolResult(content, structured, is_error, is_promised=is_promised)
    structured_bytes = len(_written(structured))
    size = sum(map(_size, content)) + structured_bytes
    return whole if size <= bytes_max else _cut(whole, size, structured_bytes, bytes_max)


def _block(raw: Json) -> ContentBlock:
    match raw:
        case {"type": "text", "text": str() as text}:
            return TextBlock(text)
        case {"type": "image", "data": str() as data}:
            return ImageBlock(data, _mime_type(raw) or "application/octet-stream")
        case {"type": "audio", "data": str() as data}:
            return AudioBlock(data, _mime_type(raw) or "application/octet-stream")
        case {"type": "resource", "resource": {"uri": str() as uri} as inner}:
            text, data = _text(inner.get("text")), _text(inner.get("blob"))
            mime_type = _mime_type(inner)
            return ResourceBlock(uri, text, None if text is not None else data, mime_type)
        case {"type": "resource_link", "uri": str() as uri}:
            size = raw.get("size")
            return LinkBlock(
                uri,
                _text(raw.get("name")) or "",
                _text(raw.get("description")),
                _mime_type(raw),
                size if isinstance(size, int) else None,
            )
        case {"type": str() as kind}:
            raise Malformed(f"a content block of type {kind[:40]!r}, in no form that we know")
        case _:
            raise Malformed("a content block without a type")


def _cut(whole: ToolResult, size: int, structured_bytes: int, bytes_max: int) -> ToolResult:
    """As much of a result as the cap allows, and a last text that says what is missing.

    Text is cut where the cap is reached; binary data and structured content are useless in part
    and left out whole.
    """
    room, omitted = bytes_max, 0
    kept: list[ContentBlock] = []
    for block in whole.content:
        left = _size(block)
        if left <= room:
            kept.append(block)
            room -= left
            continue
        if isinstance(block, TextBlock):
            text = block.text[:room].encode()[:room].decode(errors="ignore")
            kept.append(TextBlock(text))
            left -= len(text.encode())
            room = 0
        omitted += left
    structured = whole.structured
    if structured_bytes > room:
        omitted, structured = omitted + structured_bytes, None
    note = (
        f"[cut: {omitted:,} of the result's {size:,} bytes are left out, over the limit of "
        f"{bytes_max:,} that its server has (result_bytes); ask for less]"
    )
    content = (*kept, TextBlock(note))
    return replace(whole, content=content, structured=structured, omitted_bytes=omitted)


def _size(block: ContentBlock) -> int:
    match block:
        case TextBlock(text):
            return _bytes(text)
        case ImageBlock(data) | AudioBlock(data):
            return len(data)
        case ResourceBlock(uri, text, data):
            return len(uri) + _bytes(text or "") + len(data or "")
        case LinkBlock(uri, name, text):
            return len(uri) + len(name) + _bytes(text or "")


def _bytes(text: str) -> int:
    """Length in UTF-8; of plain ASCII, most long results, without encoding it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _written(value: Json) -> bytes:
    """A value as JSON, nothing for none: to know its size, writing it is faster than a walk."""
    return b"" if value is None else to_json(value, inf_nan_mode="constants")


def _as_object(structured: Json) -> JsonObject | None:
    if structured is None or isinstance(structured, dict):
        return structured
    return {"result": structured}


def _mime_type(raw: JsonObject) -> str | None:
    """A block's media type, without what is too long to be one (RFC 6838, section 4.2)."""
    given = _text(raw.get("mimeType"))
    return None if given is None or len(given) > MIME_TYPE_CHARACTERS_MAX else given


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _can_be_named(name: str) -> bool:
    """Whether a tool's name can stand in a prompt and on a line of the terminal."""
    return 0 < len(name) <= TOOL_NAME_CHARACTERS_MAX and name.isprintable()
