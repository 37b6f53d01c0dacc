"""Python signatures of tools, from their JSON Schemas (draft 2020-12, as MCP uses it)."""

import keyword
from collections.abc import Iterable, Iterator

from core.catalog import Parameter, ToolSpec
from core.values import Json, JsonObject

DEFAULT_CHARS = 40
"""Longest default value that a signature shows; longer ones become `...`."""

LITERAL_CHARS = 400
"""Longest `Literal[…]` of an enumeration; longer ones show their type only."""

MAX_SCHEMA_NODES = 200
"""How much of one argument's schema is read; schemas may refer to themselves."""

_SIMPLE = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}


def tool_signature(spec: ToolSpec, name: str) -> str:
    """How a plan calls the tool: `add(a: int | float, b: int | float) -> int | float`.

    Arguments stand in schema order, the `input` wrapper flattened. Where a required argument
    follows an optional one, all from there on are keyword-only (`*`); one whose name is no
    Python name is shown as `**{'name': type}`. The result is what a plan receives: the type of
    the output schema's `result` where that is its only property, `dict` for another object,
    `object` where the server promises nothing.
    """
    return f"{name}({', '.join(_arguments(spec))}) -> {_result_type(spec.output_schema)}"


def _arguments(spec: ToolSpec) -> Iterator[str]:
    named = [p for p in spec.parameters if p.name.isidentifier() and not keyword.iskeyword(p.name)]
    star = _first_keyword_only(named)
    for position, parameter in enumerate(named):
        if position == star:
            yield "*"
        yield f"{parameter.name}: {_type(parameter.schema, spec.input_schema)}{_default(parameter)}"
    for parameter in spec.parameters:
        if parameter not in named:
            yield f"**{{{parameter.name!r}: {_type(parameter.schema, spec.input_schema)}}}"


def _first_keyword_only(parameters: list[Parameter]) -> int | None:
    """Index of the first optional parameter, if a required one follows it."""
    first = next((i for i, p in enumerate(parameters) if not p.required), len(parameters))
    return first if any(p.required for p in parameters[first:]) else None


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return ""
    if "default" not in parameter.schema:
        return " = ..."
    shown = repr(parameter.schema["default"])
    return f" = {shown if len(shown) <= DEFAULT_CHARS else '...'}"


def _result_type(output_schema: JsonObject | None) -> str:
    if output_schema is None:
        return "object"
    properties = output_schema.get("properties")
    if isinstance(properties, dict) and set(properties) == {"result"}:
        return _type(properties["result"], output_schema)
    return _type(output_schema, output_schema)


def _type(schema: Json, root: JsonObject) -> str:
    return _SchemaReader(root).type_of(schema)


class _SchemaReader:
    """Reads one schema as a Python type; `root` is the document that its `$ref`s point into."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes_left = MAX_SCHEMA_NODES

    def type_of(self, schema: Json) -> str:
        """The type's text; `object` swallows all other members of a union."""
        return _join(self._members(schema))

    def _members(self, schema: Json) -> list[str]:
        """The members of the union that the schema is, one for most."""
        self._nodes_left -= 1
        if not isinstance(schema, dict) or self._nodes_left < 0:
            return ["object"]
        if "$ref" in schema:
            return self._members(self._follow(schema["$ref"]))
        if (literal := _literal(schema)) is not None:
            return [literal]
        for key in ("anyOf", "oneOf"):
            if isinstance(variants := schema.get(key), list):
                return [member for variant in variants for member in self._members(variant)]
        if isinstance(parts := schema.get("allOf"), list) and len(parts) == 1:
            return self._members(parts[0])
        if isinstance(kinds := schema.get("type"), list):
            return [self._simple({**schema, "type": kind}) for kind in kinds]
        return [self._simple(schema)]

    def _simple(self, schema: JsonObject) -> str:
        kind = schema.get("type")
        if kind is None and "properties" in schema:
            kind = "object"
        if kind == "array" and (items := schema.get("items")):
            return f"list[{self.type_of(items)}]"
        if kind == "object" and "properties" not in schema:
            values = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(values)}]" if isinstance(values, dict) else "dict"
        return _SIMPLE.get(kind, "object") if isinstance(kind, str) else "object"

    def _follow(self, ref: Json) -> Json:
        """Target of a local reference (RFC 6901 pointer behind `#`), None where there is none."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        target: Json = self._root
        for part in ref[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) else None
        return target


def _join(members: Iterable[str]) -> str:
    unique = list(dict.fromkeys(members))
    return "object" if "object" in unique or not unique else " | ".join(unique)


def _literal(schema: JsonObject) -> str | None:
    """`Literal[…]` of an enumeration or constant, None where Python has no such type."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not values:
        return None
    if not all(value is None or isinstance(value, str | bool | int) for value in values):
        return None
    shown = f"Literal[{', '.join(map(repr, values))}]"
    return shown if len(shown) <= LITERAL_CHARS else None
