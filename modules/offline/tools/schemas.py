"""Tools by what their parameters take, read from JSON Schemas (2020-12, the common part)."""

from collections.abc import Iterable

from core.tools.catalog import ToolCatalog
from core.tools.spec import Parameter, ToolSpec
from core.values import Json, JsonObject
from modules.offline.arithmetic.tree import Kind

_FITTING: dict[Kind, frozenset[str]] = {
    "number": frozenset({"number", "integer"}),
    "integer": frozenset({"number", "integer"}),
    "text": frozenset({"string"}),
    "numbers": frozenset({"array"}),
}


def types_of(schema: Json) -> frozenset[str]:
    """The JSON types that the schema allows, null aside; empty if it does not say."""
    if not isinstance(schema, dict):
        return frozenset()
    found: set[str] = set()
    kind = schema.get("type")
    for name in kind if isinstance(kind, list) else [kind]:
        if isinstance(name, str):
            found.add(name)
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else []:
            found |= types_of(option)
    return frozenset(found - {"null"})


def choices_of(schema: JsonObject) -> tuple[Json, ...]:
    """The values that an enum allows; empty if there is no enum."""
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else ()


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
