"""A tool's result on stdout: as text, as one JSON object, or its data in files."""

import base64
import binascii
import json
from pathlib import Path
from typing import Final, assert_never

from core.errors import StorageError, storing
from core.tools.content import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    ToolResult,
    block_json,
)
from core.values import Json, JsonObject
from modules.terminal.streams import json_safe

SOME_DATA: Final = "data"
"""What is said of data whose media type is not known."""


def result_text(result: ToolResult) -> str:
    """The result for people and scripts: text as it is, anything else as JSON.

    For each piece of data and each link there is a line that describes it.
    """
    if not result.structured and (result.structured is None or result.content):
        return _content_text(result)
    extras = [block for block in result.content if _data_of(block) or isinstance(block, LinkBlock)]
    return "\n".join([shown_value(result.value), *map(_block_line, extras)])


def shown_value(value: Json) -> str:
    """A value on stdout: text as it is, anything else as JSON."""
    safe = json_safe(value)
    return safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False)


def call_document(
    tool: str, result: ToolResult | None, seconds: float | None, error: str | None
) -> JsonObject:
    """One call as JSON; without `result`, `error` says why there is none."""
    content: list[Json] = [block_json(block) for block in result.content] if result else []
    structured = json_safe(result.structured) if result else None
    return {
        "tool": tool,
        "ok": result is not None and not result.is_error,
        "is_error": result is not None and result.is_error,
        "value": json_safe(result.value) if result else None,
        "content": content,
        "structured": structured,
        "seconds": round(seconds, 6) if seconds is not None else None,
        "omitted_bytes": result.omitted_bytes if result else 0,
        "error": error,
    }


def write_output(result: ToolResult, file: Path) -> list[str]:
    """Write the result's data to `file`, or its text where it has no data; says what went where.

    A second piece of data goes to `name-2.suffix`, and so on.

    Raises:
        StorageError: a file can't be written, or the server sent data that is not base64.
    """
    pieces = [
        (decoded, block.mime_type or SOME_DATA)
        for block in result.content
        if not isinstance(block, TextBlock) and (decoded := _decoded(block)) is not None
    ]
    if not pieces:
        pieces = [(f"{result_text(result)}\n".encode("utf-8", "replace"), "text")]
    told: list[str] = []
    for number, (data, kind) in enumerate(pieces, start=1):
        path = file if number == 1 else file.with_stem(f"{file.stem}-{number}")
        with storing(path):
            path.write_bytes(data)
        told.append(f"wrote {len(data):,} bytes of {kind} to {path}")
    return told


def _content_text(result: ToolResult) -> str:
    if not result.content or not all(isinstance(block, TextBlock) for block in result.content):
        return "\n".join(map(_block_line, result.content))
    value = result.value
    # An object that came as text stays as the server wrote it; only a lone `result` is taken out.
    return result.text if isinstance(value, dict) else shown_value(value)


def _block_line(block: ContentBlock) -> str:
    match block:
        case TextBlock():
            return block.text
        case ImageBlock() | AudioBlock():
            return _data_line(block.mime_type, block.data)
        case ResourceBlock():
            if block.text is not None:
                return block.text
            return f"{_data_line(block.mime_type, block.data or '')} {block.uri}"
        case LinkBlock():
            what = block.text or block.name
            return f"[link] {block.uri}{f': {what}' if what else ''}"
        case _:
            assert_never(block)


def _data_line(mime_type: str | None, data: str) -> str:
    size = len(data.rstrip("=")) * 3 // 4  # base64 spends four characters on three bytes
    return f"[{mime_type or SOME_DATA}, {size:,} bytes; --output FILE writes it]"


def _data_of(block: ContentBlock) -> str | None:
    return None if isinstance(block, TextBlock | LinkBlock) else block.data


def _decoded(block: ContentBlock) -> bytes | None:
    data = _data_of(block)
    if data is None:
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise StorageError(f"the server sent data that is not base64: {error}") from error
