"""What the values of a plan's expressions certainly are, as far as its tools promise types."""

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal, TypeAlias, cast, get_args

from core.base.frozen import frozen
from core.tools.content import RESULT, TEXT_RESULT
from core.tools.findings import KIND_WORDS
from core.tools.json_schema import Contradiction, as_object, merge, wrapped_result
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.names import FunctionNode, PlanNames
from modules.sandbox.language import ENTRY_POINT

JsonType: TypeAlias = Literal["number", "boolean", "string", "array", "object", "null"]

ResultTypes: TypeAlias = frozenset[JsonType] | None

CHOICES_MAX: Final = 20
"""A schema that is a choice between more than so many others counts as unknown."""

CHOICE_LEVELS: Final = 3
"""Choices within choices beyond this count as unknown."""

_KINDS: Final = cast("tuple[JsonType, ...]", get_args(JsonType))

_TYPES: Final[dict[str, JsonType]] = {"integer": "number", **{kind: kind for kind in _KINDS}}

_OBJECT: Final[frozenset[JsonType]] = frozenset({"object"})

FOLLOWED_NAMES = 8
"""How many names are followed from one that is used to the call that gave its value."""

BINDINGS_LOOKED_AT = 20
"""Of a name that is bound more often nothing is known."""

_TYPE_QUESTIONS = frozenset({"isinstance", "type", "hasattr", "getattr", "callable", "dir", "vars"})
"""Builtins that a plan asks what a value is."""

_LOOKS_INTO = (ast.Call, ast.keyword, ast.FormattedValue)
"""Where a name stands in a condition that finds out more of a value, whatever its type."""


def result_types(tool: ToolSpec) -> ResultTypes:
    """What `await tools.name(…)` gives; what the server's answers are checked against."""
    schema = tool.output_schema
    if schema is None:
        return None
    whole = _joined(schema, schema)
    properties = as_object(whole.get("properties"))
    required = _names(whole.get("required"))
    if (wrapped := wrapped_result(properties, schema)) is not None:
        known = wrapped in required
        return _types(properties[wrapped], schema, CHOICE_LEVELS) if known else None
    # An object of one property may arrive without it, whatever else the schema allows.
    kept = any(name not in (RESULT, TEXT_RESULT) for name in required)
    return _OBJECT if kept and whole.get("type") == "object" else None


def result_keys(tool: ToolSpec) -> tuple[str, ...]:
    """The keys that a tool's result has where it is a dict."""
    schema = tool.output_schema or {}
    return tuple(as_object(_joined(schema, schema).get("properties")))


def in_words(types: frozenset[JsonType]) -> str:
    """The types as the model is told: "a number", "text or None"."""
    return " or ".join(KIND_WORDS[kind] for kind in _KINDS if kind in types)


def _types(schema: Json, root: JsonObject, levels: int) -> ResultTypes:
    found = _joined(schema, root)
    kinds = found.get("type")
    names = [kinds] if isinstance(kinds, str) else _names(kinds)
    if isinstance(kinds, list) and len(names) < len(kinds):
        return None
    if names and all(name in _TYPES for name in names):
        if found.get("nullable") is True:  # OpenAPI's word for it
            names.append("null")
        types: frozenset[JsonType] = frozenset(_TYPES[name] for name in names)
        return types
    for key in ("anyOf", "oneOf"):
        choices = found.get(key)
        if isinstance(choices, list) and "type" not in found and levels > 0:
            return _union(choices, root, levels - 1)
    return None


def _union(choices: list[Json], root: JsonObject, levels: int) -> ResultTypes:
    if not 0 < len(choices) <= CHOICES_MAX:
        return None
    union: set[JsonType] = set()
    for choice in choices:
        types = _types(choice, root, levels)
        if types is None:
            return None
        union |= types
    return frozenset(union)


def _joined(schema: Json, root: JsonObject) -> JsonObject:
    try:
        return merge(schema, root)
    except Contradiction:
        return {}


def _names(value: Json) -> list[str]:
    items = value if isinstance(value, list) else []
    return [name for name in items if isinstance(name, str)]


@frozen
class Known:
    """A value of which something is known; `types` is None for the answer of `mcp.call_tool`."""

    source: str
    types: frozenset[JsonType] | None
    tool: ToolSpec | None = None


RAW = Known("mcp.call_tool", None)


class Results:
    """What is known of the values of one plan's expressions."""

    def __init__(self, names: PlanNames) -> None:
        """Nothing is looked at before it is asked for."""
        self._names = names
        self._by_name: dict[tuple[str, ast.AST | None], Known | None] = {}

    def known(self, node: ast.expr, names_left: int = FOLLOWED_NAMES) -> Known | None:
        """What an expression certainly is, as far as tools say."""
        match node:
            case ast.Await(value=ast.Call() as call):
                return self._awaited(call)
            case ast.NamedExpr(value=value):
                return self.known(value, names_left)
            case ast.Name(id=name, ctx=ast.Load()) if names_left > 0:
                return self._named(name, node, names_left - 1)
            case _:
                return None

    def is_certain(self, node: ast.AST) -> bool:
        """Whether what goes wrong at a node ends the plan: nothing around it handles errors."""
        if any(
            isinstance(parent, ast.Try | ast.TryStar | ast.With | ast.AsyncWith)
            for parent in self._names.ancestors(node)
        ):
            return False
        scope = self._names.scope_of(node)
        is_solve = isinstance(scope, FunctionNode) and scope.name == ENTRY_POINT
        return is_solve or not self._handles_errors

    @cached_property
    def _handles_errors(self) -> bool:
        return any(isinstance(node, ast.Try | ast.TryStar) for node in self._names.nodes)

    @cached_property
    def _questioned(self) -> frozenset[str]:
        """Names whose type the plan asks for: it may know better."""
        return frozenset(self._questions())

    def _questions(self) -> Iterator[str]:
        for node in self._names.nodes:
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in _TYPE_QUESTIONS:
                    asked: list[ast.expr] = node.args
                case ast.Match(subject=subject):
                    asked = [subject]
                case _:
                    continue
            yield from (part.id for part in asked if isinstance(part, ast.Name))
        yield from self._examined()

    def _examined(self) -> Iterator[str]:
        """Names that a condition looks into (`if "result" in str(r)`): it may ask for the type."""
        inside: set[ast.AST] = set()
        for node in self._names.nodes:  # parents come before their children
            parent = self._names.parents.get(node)
            if parent in inside or _is_condition(node, parent):
                inside.add(node)
                if isinstance(node, ast.Name) and isinstance(parent, _LOOKS_INTO):
                    yield node.id

    def _awaited(self, call: ast.Call) -> Known | None:
        if self._names.is_raw_call(call):
            return RAW
        tool = self._names.called_tool(call)
        if tool is None or (types := result_types(tool)) is None:
            return None
        return Known(f"tools.{self._names.tools.plan_name(tool)}", types, tool)

    def _named(self, name: str, node: ast.Name, names_left: int) -> Known | None:
        """What all bindings of a name in the scope of its use agree on."""
        key = (name, self._names.scope_of(node))
        if key not in self._by_name:
            self._by_name[key] = None  # a name that is bound to itself is unknown
            self._by_name[key] = self._agreed(*key, names_left)
        return self._by_name[key]

    def _agreed(self, name: str, scope: ast.AST | None, names_left: int) -> Known | None:
        places = self._names.bound_by(name)
        if name in self._questioned or not 0 < len(places) <= BINDINGS_LOOKED_AT:
            return None
        found = [self._bound(place, scope, names_left) for place in places]
        first, *others = found
        if first is None or any(k is None or k.types != first.types for k in others):
            return None
        same = all(k == first for k in others)
        return first if same else Known("the tool", first.types)

    def _bound(self, binding: ast.AST, scope: ast.AST | None, names_left: int) -> Known | None:
        """What one assignment gives its name; nothing is known of those in other scopes."""
        if not isinstance(binding, ast.Name) or self._names.scope_of(binding) is not scope:
            return None
        parent = self._names.parents[binding]
        match parent:
            case ast.Assign(value=value, targets=targets) if binding in targets:
                return self.known(value, names_left)
            case ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
                return self.known(value, names_left)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self._unpacked(parent, elts.index(binding), len(elts), names_left)
            case _:
                return None

    def _unpacked(
        self, target: ast.expr, position: int, count: int, names_left: int
    ) -> Known | None:
        """`a, b = await asyncio.gather(tools.x(…), tools.y(…))`, and tuples of values."""
        match self._names.parents[target]:
            case ast.Assign(
                targets=[_],
                value=ast.Await(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id="asyncio"), attr="gather"),
                        args=calls,
                        keywords=[],
                    )
                ),
            ) if _are_all(calls, count) and isinstance(call := calls[position], ast.Call):
                return self._awaited(call)
            case ast.Assign(targets=[_], value=ast.Tuple(elts=values)) if _are_all(values, count):
                return self.known(values[position], names_left)
            case _:
                return None


def _is_condition(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether it decides if something else in its parent runs."""
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return node is test
        case ast.Assert(test=test):
            return node is test
        case ast.BoolOp(values=values):
            return node is not values[-1]
        case ast.comprehension(ifs=tests):
            return node in tests
        case _:
            return False


def _are_all(values: list[ast.expr], count: int) -> bool:
    """Whether these are as many as the names, none of them unpacked on the way."""
    return len(values) == count and not any(isinstance(value, ast.Starred) for value in values)
