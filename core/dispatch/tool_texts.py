"""The words of a tool's definition: what is written for the reader and governs no call."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from core.tool_spec import ToolSpec
from core.values import Json, JsonObject

READERS_KEYS: Final = ("description", "title")
"""The keywords of JSON Schema that hold words for the reader and govern nothing."""

SHOWN_KEYS: Final = (*READERS_KEYS, "default", "examples", "$comment")
"""Those, and the keywords whose values are shown and not sent."""

NESTING_MAX: Final = 100
"""Schemas are read so deep; `core.dispatch.definitions` leaves deeper ones out."""


def tool_with_texts(
    tool: ToolSpec, change: Callable[[str], str], keys: Collection[str] = READERS_KEYS
) -> ToolSpec:
    """The tool with its description, and what stands under `keys` in its schemas, changed.

    Names, choices and patterns stay as they are: the server goes by them.
    """
    output = tool.output_schema
    return replace(
        tool,
        description=change(tool.description),
        input_schema=_schema(tool.input_schema, change, keys, 0),
        output_schema=None if output is None else _schema(output, change, keys, 0),
    )


def _schema(
    schema: JsonObject, change: Callable[[str], str], keys: Collection[str], level: int
) -> JsonObject:
    if level > NESTING_MAX:
        return schema
    return {
        key: _value(value, change, keys, level + 1, is_text=key in keys)
        for key, value in schema.items()
    }


def _value(
    value: Json,
    change: Callable[[str], str],
    keys: Collection[str],
    level: int,
    *,
    is_text: bool,
) -> Json:
    if isinstance(value, str):
        return change(value) if is_text else value
    if isinstance(value, dict):
        if not is_text:
            return _schema(value, change, keys, level)
        if level > NESTING_MAX:
            return value
        return {k: _value(v, change, keys, level + 1, is_text=True) for k, v in value.items()}
    if isinstance(value, list) and level <= NESTING_MAX:
        return [_value(one, change, keys, level + 1, is_text=is_text) for one in value]
    return value
