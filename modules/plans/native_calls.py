"""Tool calls that a model wrote as calls, not as Python, turned into a plan that makes them.

Every value of a call is written as a Python literal, so that no text in it can become code. The
plan then takes the way of any other: unknown tools and wrong arguments are found by the check.
"""

import math
from collections.abc import Sequence
from typing import Final

from core.catalog import ToolCatalog
from core.ports import NativeToolCall
from core.tool_spec import ToolSpec
from core.turn import FURTHER_PROCESSING
from core.values import Json
from modules.plans.names import CALL_TOOL, CLIENT, TOOLS
from modules.sandbox.prelude import ENTRY_POINT

NAME_CHARACTERS_MAX: Final = 200
"""How much of a tool's name is written into a plan; no tool's is longer."""

_PREFIXES: Final = ("functions.", "tools.", "mcp.")
"""What models write before a tool's name where nobody asked for it."""


def plan_of_calls(calls: Sequence[NativeToolCall], tools: ToolCatalog) -> str | None:
    """A plan that makes these calls in their order; None without calls that Python can write.

    What they give goes on to the next step: only the model knows what it wanted with it. Who
    writes calls waits for their results, and a first call is often no more than a first step.
    """
    if not calls:
        return None
    try:
        awaited = [_call_text(call, tools) for call in calls]
    except (RecursionError, ValueError):  # nested too deeply; integers that nobody can print
        return None
    if len(calls) == 1:
        lines = [f"result = await {awaited[0]}", f'return f"{FURTHER_PROCESSING} {{result}}"']
    else:
        names = [f"result_{number}" for number in range(1, len(calls) + 1)]
        lines = [f"{name} = await {text}" for name, text in zip(names, awaited, strict=True)]
        labels = [call.name[:NAME_CHARACTERS_MAX] for call in calls]
        pairs = zip(labels, names, strict=True)
        shown = ", ".join(f"({label!r}, {name})" for label, name in pairs)
        lines += [
            f"results = [{shown}]",
            r'told = "\n".join([f"{name}: {value}" for name, value in results])',
            f'return f"{FURTHER_PROCESSING} {{told}}"',
        ]
    return "\n".join([f"async def {ENTRY_POINT}():", *(f"    {line}" for line in lines)])


def tool_meant(name: str, tools: ToolCatalog) -> ToolSpec | None:
    """The tool that a model means by a name of its own making: `functions.add`, `math_add`."""
    for prefix in ("", *_PREFIXES):
        if name.startswith(prefix) and (tool := tools.lookup(name.removeprefix(prefix))):
            return tool
    server, _, rest = name.partition("_")
    return tools.lookup(f"{server}.{rest}") if rest else None


def _call_text(call: NativeToolCall, tools: ToolCatalog) -> str:
    """The call as a plan writes it.

    Raises:
        ValueError, RecursionError: a value can't be written.
    """
    tool = tool_meant(call.name, tools)
    if tool is None:
        return _unknown_call_text(call)
    path = f"{TOOLS}.{tools.plan_name(tool)}"
    if tool.takes_whole:
        return f"{path}({_literal(call.arguments)})"
    spelled = {p.name: p.argument for p in tool.parameters}
    named: list[str] = []
    others: dict[str, Json] = {}
    for key, value in call.arguments.items():
        argument = spelled.get(key, key)
        if argument.isascii() and argument.isidentifier() and argument in spelled.values():
            named.append(f"{argument}={_literal(value)}")
        else:
            others[key] = value
    if others:
        named.append(f"**{_literal(others)}")
    return f"{path}({', '.join(named)})"


def _unknown_call_text(call: NativeToolCall) -> str:
    """A call of a tool that doesn't exist, so that the check names the nearest ones."""
    name = call.name[:NAME_CHARACTERS_MAX]
    return f"{CLIENT}.{CALL_TOOL}({name!r}, {_literal(call.arguments)})"


def _literal(value: Json) -> str:
    """A value as Python writes it; numbers that have no literal as `float('inf')`."""
    match value:
        case dict():
            return "{" + ", ".join(f"{k!r}: {_literal(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case _:
            return repr(value)
