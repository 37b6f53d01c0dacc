"""What a tool's parameter takes, read from its JSON Schema (2020-12, the common part)."""

from core.tools.catalog import ToolCatalog
from core.tools.spec import Parameter, ToolSpec
from core.values import Json, JsonObject
from modules.offline.arithmetic.operations import Kind

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


def fits(parameter: Parameter, kind: Kind) -> bool:
    """Whether a parameter takes a value of this kind; one without a type takes any."""
    types = types_of(parameter.schema)
    return not types or bool(types & _FITTING[kind])


def find_tool(tools: ToolCatalog, name: str, kinds: tuple[Kind, ...]) -> ToolSpec | None:
    """The first tool called `name` whose first parameters take `kinds` and need no more."""
    for tool in tools:
        if tool.name == name and _takes(tool, kinds):
            return tool
    return None


def _takes(tool: ToolSpec, kinds: tuple[Kind, ...]) -> bool:
    parameters = tool.parameters
    return (
        len(parameters) >= len(kinds)
        and all(fits(p, kind) for p, kind in zip(parameters, kinds, strict=False))
        and not any(p.required for p in parameters[len(kinds) :])
    )
