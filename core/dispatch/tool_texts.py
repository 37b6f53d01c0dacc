"""The words of a tool's definition: what is written for the reader and governs no call."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from core.tools.spec import ToolSpec
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


# Characters that a person does not see and a model reads: a way to hide orders in a tool.
#
# Tool poisoning puts instructions for the model into a tool's description (Invariant Labs, 2025);
# written in invisible characters they pass under the eyes of whoever looks at it. What counts as
# hidden is Unicode's Default_Ignorable_Code_Point (UAX #44): tags, zero-width characters,
# bidirectional controls, blank fillers. The joiners and variation selectors that emoji and many
# scripts need are left alone, except in runs so long that they can only be a code.

_HIDDEN = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    "]|[\u200c\u200d\ufe00-\ufe0f]{3,}"
)


def count_hidden(text: str) -> int:
    """How many hidden characters `text` holds."""
    if text.isascii():  # most is, and this is much quicker to find out
        return 0
    return sum(len(found) for found in _HIDDEN.findall(text))


def without_hidden(text: str) -> str:
    """`text` as a person sees it."""
    return _HIDDEN.sub("", text)


def with_hidden_shown(text: str) -> str:
    """`text` with every hidden character as an escape, for a person to look at."""
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def tool_without_hidden(tool: ToolSpec) -> ToolSpec:
    """The tool as a person sees it; itself if it hides nothing.

    The description and, in the schemas, titles and descriptions lose their hidden characters.
    Names, choices, defaults and patterns stay as they are: the server goes by them.
    """
    texts = [tool.description, *(_written(s) for s in (tool.input_schema, tool.output_schema))]
    if not any(map(count_hidden, texts)):
        return tool
    return tool_with_texts(tool, without_hidden)


def _written(schema: JsonObject | None) -> str:
    return json.dumps(schema, ensure_ascii=False)
