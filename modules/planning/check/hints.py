"""Hints for a plan that failed while it ran: where the values of the failing line come from.

The error says what a value is, not why. A hint names the tool that gave it, and the type that the
tool promises, or the value that was seen where it promises none; it never says more than that.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from core.base.text import shorten
from core.tools.catalog import ToolCatalog
from core.tools.findings import QUOTED_CHARACTERS_MAX, quoted, value_words
from core.tools.spec import ToolSpec
from core.turn import PlanFailure, ToolCall
from core.values import Json
from modules.planning.names import PlanNames, read_plan
from modules.planning.prompt.schema_types import ANYTHING
from modules.planning.prompt.stubs import tool_signature
from modules.sandbox.language import NotParsed

HINTS_MAX: Final = 2
"""How many values of a line are explained."""

HINT_CHARACTERS: Final = 200
"""Longest hint: names are the plan's, types the server's."""

KEYS_SHOWN: Final = 6
"""How many keys of a dict that was seen are named."""

FOLLOWED_NAMES: Final = 4
"""How many names are followed from one on the failing line to a tool."""

_OF_VALUES: Final = ("TypeError", "AttributeError", "KeyError", "IndexError", "ValueError")
"""Errors that a value of another kind than expected leads to."""

_ADVICE: Final = MappingProxyType(
    {
        "'coroutine' object": "a call was not awaited: write await before it, in an async def",
        "awaitable is required": "give asyncio.gather() the calls, as *calls, without await",
        "cannot use 'list' as a dict key": "a call that takes several takes a list as *list",
        "the JSON object must be str": "it is no text but the value itself: leave json.loads out",
    }
)
"""What to write, by what an error says of the values."""


def with_value_hints(
    failure: PlanFailure, source: str, tools: ToolCatalog, calls: Sequence[ToolCall] = ()
) -> PlanFailure:
    """The failure with hints added, if it is about values and its line uses results of tools.

    `source` is the text that ran, and `calls` are those that it made. Other failures, and plans
    that can't be read, come back as they are. Meant for a thread, as `prepare_plan` is.
    """
    if failure.kind != "error" or not failure.message.startswith(_OF_VALUES):
        return failure
    try:
        names = read_plan(source, tools).names
    except (SyntaxError, NotParsed, RecursionError):
        return failure
    advice = [words for said, words in _ADVICE.items() if said in failure.message][:1]
    seen = {call.tool: call.result for call in calls if call.ok}
    told = value_hints(names, failure.line, seen)
    return replace(failure, message="; ".join([failure.message, *advice, *told]))


def value_hints(
    names: PlanNames, line: int | None, seen: Mapping[str, Json] = MappingProxyType({})
) -> list[str]:
    """Where the values of a line come from, the first few; `seen` is what tools gave."""
    return list(dict.fromkeys(_hints(names, line, seen)))[:HINTS_MAX]


def _hints(names: PlanNames, line: int | None, seen: Mapping[str, Json]) -> Iterator[str]:
    for node in names.nodes:
        match node:
            case ast.Name(lineno=at, ctx=ast.Load()) if at == line:
                hint = _hint(node, names, seen)
            case ast.Await(lineno=at, value=ast.Call() as call) if at == line:
                tool = names.called_tool(call)
                hint = "" if tool is None else _seen_words(tool, names.tools, seen)
            case _:
                continue
        if hint:
            yield shorten(hint, HINT_CHARACTERS)


def _hint(node: ast.Name, names: PlanNames, seen: Mapping[str, Json]) -> str:
    """What a name stands for, if the first place in its scope that binds it says so; else ""."""
    name = behind = node.id
    item = False
    for _ in range(FOLLOWED_NAMES):
        value, is_item = _value_of(behind, names.scope_of(node), names)
        item = item or is_item
        match value:
            case ast.Await(value=ast.Call() as call) if tool := names.called_tool(call):
                promised = _words(name, tool, names.tools, item=item)
                return promised or _seen_words(tool, names.tools, seen)
            case ast.Name(id=behind):
                continue
            case _:
                return ""
    return ""


def _words(name: str, tool: ToolSpec, tools: ToolCatalog, *, item: bool) -> str:
    if tool.output_schema is None:
        return ""
    spelled = tools.plan_name(tool)
    given = tool_signature(tool, spelled).rpartition(" -> ")[2]
    if given == ANYTHING:
        return ""
    role = "is an item of what" if item else "is what"
    return f"{name} {role} tools.{spelled} gives: {given}"


def _seen_words(tool: ToolSpec, tools: ToolCatalog, seen: Mapping[str, Json]) -> str:
    """What the tool gave in this plan; nothing if it wasn't called, or promises a type."""
    if tool.output_schema is not None or tool.qualified_name not in seen:
        return ""
    given = f"tools.{tools.plan_name(tool)} gave"
    match seen[tool.qualified_name]:
        case str() as text if len(text) <= QUOTED_CHARACTERS_MAX:
            return f"{given} {value_words(text)}: use it as it is"
        case str() as text:
            return f"{given} a text of {len(text):,} characters, {quoted(text)}: use it as it is"
        case dict() as inner if inner:
            keys = ", ".join(quoted(key) for key in [*inner][:KEYS_SHOWN])
            return f"{given} a dict with the keys {keys}"
        case list() as items if items:
            return f"{given} a list of {len(items):,}, the first {value_words(items[0])}"
        case other:
            return f"{given} {value_words(other)}"


def _value_of(name: str, scope: ast.AST | None, names: PlanNames) -> tuple[ast.expr | None, bool]:
    """What a name is bound to first, and whether it is an item of that."""
    for binding in names.bound_by(name):
        if names.scope_of(binding) is not scope:
            continue
        match names.parents[binding]:
            case ast.Assign(value=v) | ast.NamedExpr(value=v) | ast.AnnAssign(value=v):
                return v, False
            case ast.For(iter=values) | ast.comprehension(iter=values):
                return values, True
            case _:
                continue
    return None, False
