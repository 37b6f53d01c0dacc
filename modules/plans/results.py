"""Results of tools that a plan uses as something else than they certainly are.

A value is known where a tool with an output schema is awaited, and where a name is bound to such
values only. What may be meant otherwise passes: names that the plan asks the type of, and whatever
stands where an error would be caught.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from core.tool_spec import ToolSpec
from modules.plans.names import PlanNames
from modules.plans.result_types import JsonType, result_types
from modules.sandbox.prelude import ENTRY_POINT

FOLLOWED_NAMES = 8
"""How many names are followed from one that is used to the call that gave its value."""

BINDINGS_LOOKED_AT = 20
"""Of a name that is bound more often nothing is known."""

_TYPE_QUESTIONS = frozenset({"isinstance", "type", "hasattr", "getattr", "callable", "dir", "vars"})
"""Builtins that a plan asks what a value is."""

_LOOKS_INTO = (ast.Call, ast.keyword, ast.FormattedValue)
"""Where a name stands in a condition that finds out more of a value, whatever its type."""


@dataclass(frozen=True, slots=True)
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
        return self._is_solve(scope) or not self._handles_errors

    def _is_solve(self, scope: ast.AST | None) -> bool:
        return (
            isinstance(scope, ast.AsyncFunctionDef | ast.FunctionDef) and scope.name == ENTRY_POINT
        )

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
        places = self._names.bindings.of(name)
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
            case ast.AnnAssign(value=ast.expr() as value):
                return self.known(value, names_left)
            case ast.NamedExpr(value=value):
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
            case ast.Assign(targets=[only], value=value) if only is target:
                pass
            case _:
                return None
        match value:
            case ast.Await(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="asyncio"), attr="gather"),
                    args=calls,
                    keywords=[],
                )
            ) if _are_all(calls, count) and isinstance(call := calls[position], ast.Call):
                return self._awaited(call)
            case ast.Tuple(elts=values) if _are_all(values, count):
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
