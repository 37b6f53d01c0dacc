"""Repairs with `await`: missing where a call's value is used, or inside of a generator.

What has to be awaited is a call of a tool, a search, `asyncio.gather(…)`, and a call of the plan's
own coroutine functions.
"""

import ast
from collections.abc import Iterator

from modules.planning.edits import Edit
from modules.planning.names import (
    CONTAINER_BUILTINS,
    SCALAR_BUILTINS,
    FunctionNode,
    ParsedPlan,
    PlanNames,
    Repair,
    own_nodes,
)
from modules.sandbox.language import ENTRY_POINT

_VALUE_PARENTS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.Subscript, ast.Expr),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Assert, ast.AugAssign),
)
"""Nodes whose expressions must be values: a call there that isn't awaited is a mistake."""

_VALUE_BUILTINS = SCALAR_BUILTINS | CONTAINER_BUILTINS
"""Builtins that want values; `asyncio.gather` and a list's `append` may want the call itself."""


def missing_awaits(plan: ParsedPlan) -> Iterator[Repair]:
    """Calls without `await` whose value, not the call itself, is what their place wants.

    A `def solve` that awaits, or is about to, becomes async. `asyncio.run(…)`, which has no loop to
    itself there, becomes an `await` too.
    """
    names, solve, uses = plan.names, _sync_solve(plan), _Uses(plan.names)
    awaits = any(isinstance(n, ast.Await) and names.scope_of(n) is solve for n in names.nodes)
    for node in names.nodes:
        if not isinstance(node, ast.Call):
            continue
        scope = names.scope_of(node)
        if not (isinstance(scope, ast.AsyncFunctionDef) or (solve is not None and scope is solve)):
            continue
        if _is_run(node, names):
            awaits = awaits or scope is solve
            edits = (*plan.text.around(node, "(", ")"), *plan.text.instead(node.func, "await "))
            yield Repair(node, "wrote asyncio.run() as await", edits)
        elif uses.is_awaitable(node) and uses.wants_value(node):
            awaits = awaits or scope is solve
            words = f"added await to {_spelled(node, names)}"
            yield Repair(node, words, plan.text.around(node, "(await ", ")"))
    if solve is not None and awaits:
        yield Repair(solve, f"made {ENTRY_POINT}() async", plan.text.around(solve, "async "))


def generators_to_lists(plan: ParsedPlan) -> Iterator[Repair]:
    """Generators that await, in places that take a list as well."""
    for node in plan.names.nodes:
        if isinstance(node, ast.GeneratorExp) and _is_list(node, plan.names):
            start, end = plan.text.span(node)
            brackets = (Edit(start, start + 1, "(["), Edit(end - 1, end, "])"))
            yield Repair(node, "turned a generator that awaits into a list", brackets)


class _Uses:
    """What the calls of one plan are used for."""

    def __init__(self, names: PlanNames) -> None:
        self._names = names
        self._own = _coroutine_functions(names)
        # Then a call may be kept, in a name, a list or a result, to be awaited later.
        self._awaits_kept = any(map(_awaits_what_is_kept, names.nodes))

    def is_awaitable(self, call: ast.Call) -> bool:
        """Whether the call certainly gives something to await."""
        own = isinstance(call.func, ast.Name) and call.func.id in self._own
        return own or self._is_gather(call) or self._is_tool_call(call)

    def wants_value(self, node: ast.expr) -> bool:
        """Whether the value of an expression, not a call to await, is what its place wants."""
        parent = self._names.parents[node]
        if isinstance(parent, ast.keyword):
            parent = self._names.parents[parent]
        match parent:
            case ast.BoolOp() | ast.IfExp():
                return self.wants_value(parent)
            case ast.Call():
                return self._is_tool_call(parent) or self._takes_values(parent)
            case ast.comprehension():
                return parent.iter is node or node in parent.ifs
            case ast.Return():
                return self._ends_solve(parent) or not self._awaits_kept
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                return True
            case ast.Assign(targets=[ast.Name()]) | ast.AnnAssign(target=ast.Name()):
                return not self._awaits_kept
            case ast.List() | ast.Tuple() | ast.Dict() | ast.NamedExpr():
                return not self._awaits_kept and self.wants_value(parent)
            case ast.ListComp(elt=item):
                return item is node and not self._awaits_kept and self.wants_value(parent)
            case _:
                return isinstance(parent, _VALUE_PARENTS)

    def _is_gather(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="gather"):
                return self._names.is_module("asyncio")
            case _:
                return False

    def _is_tool_call(self, call: ast.Call) -> bool:
        return (
            self._names.called_tool(call) is not None
            or self._names.is_raw_call(call)
            or self._names.is_search(call)
        )

    def _ends_solve(self, statement: ast.Return) -> bool:
        scope = self._names.scope_of(statement)
        return isinstance(scope, FunctionNode) and scope.name == ENTRY_POINT

    def _takes_values(self, call: ast.Call) -> bool:
        """Whether a function that isn't a tool can only want plain values."""
        match call.func:
            case ast.Name(id=name):
                return name in _VALUE_BUILTINS and self._names.is_ours(name)
            case ast.Attribute(value=ast.Name(id="json" | "math")):
                return True
            case ast.Attribute(value=ast.Constant(value=str())):
                return True
            case _:
                return False


def _is_run(call: ast.Call, names: PlanNames) -> bool:
    """Whether it is `asyncio.run(…)` of something."""
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run"), args=[_], keywords=[]
        ):
            return names.is_module("asyncio")
        case _:
            return False


def _awaits_what_is_kept(node: ast.AST) -> bool:
    """Whether it awaits what a name or list holds, alone or by `asyncio.gather`."""
    match node:
        case ast.Await(value=value):
            return not isinstance(value, ast.Call)
        case ast.Call(func=ast.Name(id="gather") | ast.Attribute(attr="gather"), args=args):
            return not all(isinstance(argument, ast.Call | ast.Await) for argument in args)
        case _:
            return False


def _sync_solve(plan: ParsedPlan) -> ast.FunctionDef | None:
    """A top-level `def solve` that nothing in the plan uses, so that it may become async."""
    if any(isinstance(n, ast.Name) and n.id == ENTRY_POINT for n in plan.names.nodes):
        return None
    match [n for n in plan.tree.body if isinstance(n, ast.FunctionDef) and n.name == ENTRY_POINT]:
        case [solve]:
            return solve
        case _:
            return None


def _coroutine_functions(names: PlanNames) -> frozenset[str]:
    """The plan's own functions whose call certainly gives something to await."""
    return frozenset(
        node.name
        for node in names.nodes
        if isinstance(node, ast.AsyncFunctionDef)
        and node.name != ENTRY_POINT
        and names.bound_by(node.name) == (node,)
        and not node.decorator_list
        and not isinstance(names.parents[node], ast.ClassDef)
        and not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node))
    )


def _is_list(node: ast.GeneratorExp, names: PlanNames) -> bool:
    """Whether a generator awaits, and its place takes a list as well."""
    if any(generator.is_async for generator in node.generators):
        return False
    match names.parents[node]:
        case ast.Call(func=ast.Name(id="next" | "iter")):
            return False
        case _:
            return any(isinstance(child, ast.Await) for child in own_nodes(node))


def _spelled(call: ast.Call, names: PlanNames) -> str:
    """How the repair names a call."""
    tool = names.called_tool(call)
    return ast.unparse(call.func) if tool is None else f"tools.{names.tools.plan_name(tool)}"
