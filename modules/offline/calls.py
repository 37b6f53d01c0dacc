"""How a plan writes one tool call, in either plan style."""

import keyword
from collections.abc import Mapping
from dataclasses import dataclass

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import PlanStyle
from core.values import Json


class Source(str):
    """Python source that stands for a value, where other strings are the value itself."""

    __slots__ = ()


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


@dataclass(frozen=True, slots=True)
class CallStyle:
    """Writes calls as `tools.name(a=1)` or as `mcp.call_tool('name', {…})`."""

    tools: ToolCatalog
    style: PlanStyle

    def call(self, tool: ToolSpec, arguments: Mapping[str, Json]) -> str:
        """The call's source, without its await."""
        if self.style == "mcp":
            name = tool.qualified_name if self.tools.is_ambiguous(tool) else tool.name
            return f"mcp.call_tool({name!r}, {literal(tool.bind((), arguments))})"
        named = {
            n: v for n, v in arguments.items() if n.isidentifier() and not keyword.iskeyword(n)
        }
        rest = {n: v for n, v in arguments.items() if n not in named}
        written = [f"{name}={literal(value)}" for name, value in named.items()]
        if rest:
            written.append(f"**{literal(rest)}")
        return f"tools.{self.tools.plan_name(tool)}({', '.join(written)})"


def _key(key: str) -> str:
    """A dictionary key; plain names in double quotes, as in JSON."""
    return f'"{key}"' if key.isidentifier() else repr(key)
