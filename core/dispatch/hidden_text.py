"""Characters that a person does not see and a model reads: a way to hide orders in a tool.

Tool poisoning puts instructions for the model into a tool's description (Invariant Labs, 2025);
written in invisible characters they pass under the eyes of whoever looks at it. What counts as
hidden is Unicode's Default_Ignorable_Code_Point (UAX #44): tags, zero-width characters,
bidirectional controls, blank fillers. The joiners and variation selectors that emoji and many
scripts need are left alone, except in runs so long that they can only be a code.
"""

import json
import re

from core.dispatch.tool_texts import tool_with_texts
from core.tool_spec import ToolSpec
from core.values import JsonObject

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
