"""A tool's definition as something to hold a server to: its hash, and a text to compare by.

The definition is everything that the planner reads or that governs a call: name, description,
both schemas, and the annotations that decide whether a call may be repeated.
"""

import hashlib
import json
import textwrap
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from core.base.text import has_hidden, with_hidden_shown, without_hidden
from core.tools.json_schema import as_object, is_larger
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

TEXT_CHARACTERS_MAX = 8_000
"""A definition's text is cut there; its hash covers the whole."""

TEXT_COLUMNS = 72
"""Longer lines are folded, so that a comparison shows what changed in them."""

NESTING_MAX = 100
"""Schemas nested deeper than that can't be held to, nor shown."""

VALUES_MAX = 50_000
"""Definitions that hold more than so many values can't be held to either."""

READERS_KEYS: Final = ("description", "title")
"""The keywords of JSON Schema that hold words for the reader and govern nothing."""

SHOWN_KEYS: Final = (*READERS_KEYS, "default", "examples", "$comment")
"""Those, and the keywords whose values are shown and not sent."""

_REST = "the rest"
_SETS = ("required", "enum", "type")
"""Keywords whose arrays have no order (JSON Schema 2020-12, Validation, 6.1 and 6.5.3)."""


def tool_with_texts(
    tool: ToolSpec, change: Callable[[str], str], keys: Collection[str] = READERS_KEYS
) -> ToolSpec:
    """The tool with its description, and what stands under `keys` in its schemas, changed.

    Names, choices and patterns stay as they are: the server goes by them.
    """

    def changed(value: Json, level: int = 0, *, is_text: bool = False) -> Json:
        if isinstance(value, str):
            return change(value) if is_text else value
        if level > NESTING_MAX:
            return value
        if isinstance(value, list):
            return [changed(one, level + 1, is_text=is_text) for one in value]
        if isinstance(value, dict):
            return {
                name: changed(one, level + 1, is_text=is_text or name in keys)
                for name, one in value.items()
            }
        return value

    output = tool.output_schema
    return replace(
        tool,
        description=change(tool.description),
        input_schema=as_object(changed(tool.input_schema)),
        output_schema=None if output is None else as_object(changed(output)),
    )


def tool_without_hidden(tool: ToolSpec) -> ToolSpec:
    """The tool as a person sees it; itself if it hides nothing.

    Tool poisoning puts instructions for the model into a tool's description (Invariant Labs,
    2025); written in invisible characters they pass under the eyes of whoever looks at it.
    The description and, in the schemas, titles and descriptions lose such characters. Names,
    choices, defaults and patterns stay as they are: the server goes by them.
    """
    schemas = (tool.input_schema, tool.output_schema)
    texts = [tool.description, *(json.dumps(one, ensure_ascii=False) for one in schemas)]
    return tool_with_texts(tool, without_hidden) if any(map(has_hidden, texts)) else tool


def digest(tool: ToolSpec) -> str:
    """SHA-256 of the definition's canonical JSON, in hex.

    The order of keys does not count, nor that of arrays that stand for sets: servers build these
    from hash tables, whose order differs from run to run.

    Raises:
        ValueError: schemas nested too deeply or too large, or with a number that can't be
            written.
    """
    if is_larger([tool.input_schema, tool.output_schema], VALUES_MAX):
        raise ValueError(f"it holds over {VALUES_MAX:,} values")
    definition: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "read_only": tool.read_only,
        "idempotent": tool.idempotent,
    }
    return hashlib.sha256(_canonical(_in_order("", definition)).encode()).hexdigest()


def definition_text(tool: ToolSpec) -> str:
    """The definition as lines: a part's heading at the margin, what it holds indented below.

    Hidden characters show as escapes. Raises as `digest` does.
    """
    parts = {
        "description": tool.description,
        "input schema": _readable(tool.input_schema),
        "output schema": "none" if tool.output_schema is None else _readable(tool.output_schema),
        "read-only": "yes" if tool.read_only else "no",
        "idempotent": "yes" if tool.idempotent else "no",
    }
    whole = sum(map(len, parts.values()))
    if whole <= TEXT_CHARACTERS_MAX:
        return "\n".join(_part(name, text) for name, text in parts.items())
    left = TEXT_CHARACTERS_MAX
    lines: list[str] = []
    for name, text in parts.items():
        lines.append(_part(name, text[:left]))
        left = max(left - len(text), 0)
    rest = f"{whole - TEXT_CHARACTERS_MAX} characters; hash of all {digest(tool)[:16]}"
    return "\n".join([*lines, _part(_REST, rest)])


def changed_parts(before: str, after: str) -> str:
    """Which parts of two definition texts differ, in a few words."""
    old, new = _parts(before), _parts(after)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    told = [name for name in names if name != _REST] or names
    return ", ".join(told) or "definition"


def _parts(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    heading = ""
    for line in text.split("\n"):
        if line.startswith(" "):
            found.setdefault(heading, []).append(line)
        else:
            heading = line.removesuffix(":")
    return found


def _part(name: str, text: str) -> str:
    lines = [part for line in with_hidden_shown(text).split("\n") for part in _folded(line)]
    return "\n".join([f"{name}:", *(f"  {line}" for line in lines)])


def _folded(line: str) -> list[str]:
    """The line in pieces of a readable width, nothing of it lost."""
    if len(line) <= TEXT_COLUMNS:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip(" ")) + 2, TEXT_COLUMNS // 2)
    return textwrap.wrap(
        line,
        TEXT_COLUMNS,
        subsequent_indent=indent,
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
        break_on_hyphens=False,
    )


def _readable(schema: JsonObject) -> str:
    ordered = _in_order("", schema)
    return json.dumps(ordered, indent=2, sort_keys=True, ensure_ascii=False)


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _in_order(key: str, value: Json, level: int = 0) -> Json:
    """`value` with every array that stands for a set in one order."""
    if level > NESTING_MAX:
        raise ValueError(f"it is nested over {NESTING_MAX} levels deep")
    if isinstance(value, dict):
        return {name: _in_order(name, inner, level + 1) for name, inner in value.items()}
    if isinstance(value, list):
        elements = [_in_order("", element, level + 1) for element in value]
        return sorted(elements, key=_canonical) if key in _SETS else elements
    return value
