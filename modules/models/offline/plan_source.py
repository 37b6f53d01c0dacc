"""How a plan is written: tools that it can call, values, calls, the whole text.

Calls are those of typed functions, whatever form the profile has its prompts teach.
"""

import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final

from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.tools.spec import Parameter, ToolSpec
from core.turn import FINAL_ANSWER
from core.values import Json
from modules.models.offline.arithmetic.tree import Kind
from modules.models.offline.tools.pieces import types_of

AS_IT_IS: Final = f'return f"{FINAL_ANSWER} {{answer}}"'
"""The line that gives what is in `answer`."""

_FITTING: Final[dict[Kind, frozenset[str]]] = {
    "number": frozenset({"number", "integer"}),
    "integer": frozenset({"number", "integer"}),
    "text": frozenset({"string"}),
    "numbers": frozenset({"array"}),
}

_MODULES: Final = ("asyncio", "datetime", "decimal", "json", "math", "re", "statistics")


class Source(str):
    """Python source that stands for a value, where other strings are the value itself."""

    __slots__ = ()


def find_tool(tools: ToolCatalog, name: str, kinds: tuple[Kind, ...]) -> ToolSpec | None:
    """The first tool called `name` whose first parameters take `kinds` and need no more."""
    for tool in tools:
        first, others = tool.parameters[: len(kinds)], tool.parameters[len(kinds) :]
        fits = len(first) == len(kinds) and all(map(_fits, first, kinds))
        if tool.name == name and fits and not any(p.required for p in others):
            return tool
    return None


def tool_that_needs(tools: ToolCatalog, names: Iterable[str], *needed: str) -> ToolSpec | None:
    """The first tool that requires just these arguments; the names come best first."""
    for name in names:
        for tool in tools:
            required = [parameter.name for parameter in tool.parameters if parameter.required]
            if tool.name == name and required == [*needed]:
                return tool
    return None


def takes(tool: ToolSpec, name: str) -> bool:
    """Whether the tool has a parameter of this name."""
    return any(parameter.name == name for parameter in tool.parameters)


def _fits(parameter: Parameter, kind: Kind) -> bool:
    """Whether a parameter takes a value of this kind; one without a type takes any."""
    types = types_of(parameter.schema)
    return not types or bool(types & _FITTING[kind])


def literal(value: Json) -> str:
    """A value as Python source; user text only ever gets into a plan through here."""
    if isinstance(value, Source):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, dict):
        items = (f"{_key(key)}: {literal(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return repr(value)


def filled(part: str, values: Mapping[str, object]) -> list[str]:
    """The lines of `part`, with a value in the place of each name between `@`.

    Values are source text or numbers: words of a user only as `literal` writes them.
    """
    for name, value in values.items():
        part = part.replace(f"@{name}@", str(value))
    return part.strip("\n").splitlines()


def call_source(inputs: DecisionInputs, tool: ToolSpec, arguments: Mapping[str, Json]) -> str:
    """A call, without its await: `tools.name(a=1)`."""
    named = {n: v for n, v in arguments.items() if n.isidentifier() and not keyword.iskeyword(n)}
    rest = {n: v for n, v in arguments.items() if n not in named}
    written = [f"{name}={literal(value)}" for name, value in named.items()]
    if rest:
        written.append(f"**{literal(rest)}")
    return f"tools.{inputs.tools.plan_name(tool)}({', '.join(written)})"


def call_line(inputs: DecisionInputs, tool: ToolSpec, arguments: Mapping[str, Json]) -> str:
    """What calls a tool and puts what it gives into `answer`."""
    return f"answer = await {call_source(inputs, tool, arguments)}"


def indented(lines: Iterable[str]) -> list[str]:
    """The lines, one level further in."""
    return [f"    {line}" if line else "" for line in lines]


def whole_plan(body: Iterable[str]) -> str:
    """The plan whose `solve()` has these lines, and which imports the modules that they name."""
    lines = indented(body)
    source = "\n".join(lines)
    imports = [f"import {name}" for name in _MODULES if re.search(rf"\b{name}\.", source)]
    if "Decimal(" in source:
        imports.append("from decimal import Decimal")
    return "\n".join([*imports, *([""] if imports else []), "async def solve():", source]) + "\n"


def _key(key: str) -> str:
    """A dictionary key; plain names in double quotes, as in JSON."""
    return f'"{key}"' if key.isidentifier() else repr(key)
