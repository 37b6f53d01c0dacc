"""Slips with `await`: missing where a call's value is used, or put where there is nothing to await.

What has to be awaited is a call of a tool, a search, `asyncio.gather(…)`, and a call of the plan's
own coroutine functions.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import partial

from modules.planning.names import (
    CONTAINER_BUILTINS,
    SCALAR_BUILTINS,
    FunctionNode,
    PlanNames,
    own_nodes,
)
from modules.planning.repair.draft import Draft, Slip
from modules.sandbox.language.prelude import ENTRY_POINT

_VALUE_PARENTS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.Subscript),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Assert, ast.AugAssign),
)
"""Nodes whose expressions must be values: an unawaited call there can only be a slip."""

_HOLDERS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp)
"""What holds values, or the calls themselves for a later `asyncio.gather(*calls)`."""

_NEVER_AWAITED = frozenset({"bool", "float", "int", "len", "print", "repr", "round", "str"})
"""Builtins before which models write `await`."""

_VALUE_BUILTINS = SCALAR_BUILTINS | CONTAINER_BUILTINS
"""Builtins that want values; `asyncio.gather` and a list's `append` may want the call itself."""


def made_async(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """A `def solve` that awaits, or is about to."""
    solve = sync_solve(tree, names)
    if solve is None:
        return
    awaits, own = AwaitSlips(names, solve), set(own_nodes(solve))
    to_await = [*awaits.missing(), *awaits.runs()]
    if any(slip.place in own for slip in to_await) or any(isinstance(n, ast.Await) for n in own):
        yield Slip(solve, f"made {ENTRY_POINT}() async", partial(_make_async, solve))


def missing_awaits(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """Calls without `await` whose value, not the call itself, is what their place wants."""
    yield from AwaitSlips(names, sync_solve(tree, names)).missing()


def asyncio_runs(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`asyncio.run(…)` of something to await, where the plan is running already."""
    yield from AwaitSlips(names, sync_solve(tree, names)).runs()


def misplaced_awaits(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`await print(…)`, `gather(await a(), await b())`, `gather([a(), b()])`."""
    yield from AwaitSlips(names, sync_solve(tree, names)).misplaced()


def generators(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """Generators that await, in places that take a list as well."""
    yield from AwaitSlips(names, sync_solve(tree, names)).generators()


class AwaitSlips:
    """Finds the calls of one plan that should be awaited and aren't, and the other way round."""

    def __init__(self, names: PlanNames, sync_solve: ast.FunctionDef | None) -> None:
        """`sync_solve` is a `solve` that may become async."""
        self._names = names
        self._sync_solve = sync_solve
        self._own = _coroutine_functions(names)
        self._awaits_results = _awaits_results(names.nodes)
        self._awaits_names = any(map(self._awaits_name, names.nodes))
        reads = _reads(names.nodes)
        self._kept_unawaited = {n.id for n in reads if not self._is_value_use(n)}

    def missing(self) -> Iterator[Slip]:
        """Calls without `await` whose value, not the call itself, is what their place wants."""
        for node in self._names.nodes:
            if isinstance(node, ast.Call) and self._lacks_await(node):
                yield Slip(node, f"added await to {self._spelled(node)}", partial(_await, node))

    def runs(self) -> Iterator[Slip]:
        """`asyncio.run(…)` of something to await, where the plan is running already."""
        for node in self._names.nodes:
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run"),
                    args=[ast.Call() as run],
                    keywords=[],
                ) if self._is_awaitable(run) and self._may_await(node):
                    words = f"awaited {self._spelled(run)} instead of asyncio.run"
                    yield Slip(node, words, partial(_await_run, node, run))
                case _:
                    pass

    def misplaced(self) -> Iterator[Slip]:
        """`await print(…)`, `gather(await a(), await b())`, `gather([a(), b()])`."""
        for node in self._names.nodes:
            match node:
                case ast.Await(value=ast.Call(func=ast.Name(id=name))) if self._is_scalar(name):
                    yield Slip(node, f"dropped await before {name}()", partial(_drop, node))
                case ast.Call() if self._is_gather(node):
                    yield from self._in_gather(node)
                case _:
                    pass

    def generators(self) -> Iterator[Slip]:
        """Generators that await, in places that take a list as well."""
        for node in self._names.nodes:
            if isinstance(node, ast.GeneratorExp) and self._wants_list(node):
                yield Slip(
                    node, "turned a generator that awaits into a list", partial(_make_list, node)
                )

    # what is awaited

    def _is_awaitable(self, call: ast.Call) -> bool:
        own = isinstance(call.func, ast.Name) and call.func.id in self._own
        return own or self._is_gather(call) or self._is_tool_call(call)

    def _is_gather(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="gather"):
                bound_by = self._names.bindings.of("asyncio")
                return all(isinstance(node, ast.Import) for node in bound_by)
            case _:
                return False

    def _is_tool_call(self, call: ast.Call) -> bool:
        return (
            self._names.called_tool(call) is not None
            or self._names.is_raw_call(call)
            or self._names.is_search(call)
        )

    def _awaits_name(self, node: ast.AST) -> bool:
        """Whether it awaits what a name or list holds, alone or by `asyncio.gather`."""
        match node:
            case ast.Await(value=value):
                return not isinstance(value, ast.Call)
            case ast.Call():
                return self._is_gather(node) and any(
                    not isinstance(argument, ast.Call | ast.Await) for argument in node.args
                )
            case _:
                return False

    def _spelled(self, call: ast.Call) -> str:
        """How the repair names a call."""
        tool = self._names.called_tool(call)
        if tool is not None:
            return f"tools.{self._names.tools.plan_name(tool)}"
        parts: list[str] = []
        func: ast.expr = call.func
        while isinstance(func, ast.Attribute):
            parts.append(func.attr)
            func = func.value
        parts.append(func.id if isinstance(func, ast.Name) else "…")
        return ".".join(reversed(parts))

    # which slips there are

    def _lacks_await(self, call: ast.Call) -> bool:
        if not self._is_awaitable(call):
            return False
        return self._may_await(call) and self._is_wanted(call)

    def _may_await(self, call: ast.Call) -> bool:
        """Whether it stands where an `await` may: in an async function, or one that becomes so."""
        scope = self._names.scope_of(call)
        return isinstance(scope, ast.AsyncFunctionDef) or (
            self._sync_solve is not None and scope is self._sync_solve
        )

    def _is_wanted(self, call: ast.expr) -> bool:
        """Whether the call's value, not the call itself, is what its place wants."""
        match self._names.parents[call]:
            case ast.BoolOp() as choice:
                return self._is_wanted(choice)
            case ast.IfExp() as choice if call is not choice.test:
                return self._is_wanted(choice)
            case ast.List() | ast.Tuple() | ast.Dict() | ast.ListComp() as holder:
                return self._holds_values(holder, call) and self._is_wanted(holder)
            case ast.Expr():
                return True
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return name not in self._kept_unawaited
            case ast.NamedExpr(target=ast.Name(id=name)) as assigned:
                return name not in self._kept_unawaited and self._is_wanted(assigned)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                return True
            case _:
                return self._is_value_use(call)

    def _is_value_use(self, node: ast.expr) -> bool:
        parent = self._names.parents[node]
        if isinstance(parent, ast.keyword):
            parent = self._names.parents[parent]
        if isinstance(parent, ast.Call):
            return self._is_tool_call(parent) or self._takes_values(parent)
        if isinstance(parent, ast.BoolOp | ast.IfExp):
            return self._is_value_use(parent)
        if isinstance(parent, _HOLDERS):
            return self._holds_values(parent, node) and self._is_value_use(parent)
        if isinstance(parent, ast.Return):
            return self._returns_values(parent)
        if isinstance(parent, ast.comprehension):
            return parent.iter is node or node in parent.ifs
        return isinstance(parent, _VALUE_PARENTS)

    def _holds_values(self, holder: ast.expr, item: ast.expr) -> bool:
        """Whether a list or the like holds values: nothing awaits what it holds later on."""
        is_item = not isinstance(holder, ast.ListComp) or holder.elt is item
        return is_item and not self._awaits_names

    def _returns_values(self, statement: ast.Return) -> bool:
        """Whether it ends `solve`, or a function whose results nobody awaits once more."""
        scope = self._names.scope_of(statement)
        is_solve = isinstance(scope, FunctionNode) and scope.name == ENTRY_POINT
        return is_solve or not self._awaits_results

    def _takes_values(self, call: ast.Call) -> bool:
        """Whether a function that isn't a tool can only want plain values."""
        match call.func:
            case ast.Name(id=name):
                return name in _VALUE_BUILTINS and self._names.has_door(name)
            case ast.Attribute(value=ast.Name(id="json" | "math")):
                return True
            case ast.Attribute(value=ast.Constant(value=str())):
                return True
            case _:
                return False

    def _is_scalar(self, name: str) -> bool:
        """Whether it is a builtin that gives a plain value, and the plan means that builtin."""
        is_own = name in self._names.bindings or self._names.tools.has_name(name)
        return name in _NEVER_AWAITED and not is_own

    def _in_gather(self, call: ast.Call) -> Iterator[Slip]:
        match call.args:
            case [ast.List() | ast.ListComp() as listed]:
                yield Slip(call, "unpacked the list in asyncio.gather", partial(_unpack, listed))
            case _:
                for argument in call.args:
                    if isinstance(argument, ast.Await) and self._gives_value(argument.value):
                        words = "dropped await inside asyncio.gather"
                        yield Slip(argument, words, partial(_drop, argument))

    def _gives_value(self, node: ast.expr) -> bool:
        """Whether awaiting it gives something that can't be awaited once more."""
        return isinstance(node, ast.Call) and self._is_tool_call(node)

    def _wants_list(self, node: ast.GeneratorExp) -> bool:
        """Whether a generator awaits, and its place takes a list as well."""
        if any(generator.is_async for generator in node.generators):
            return False
        match self._names.parents[node]:
            case ast.Call(func=ast.Name(id="next" | "iter")):
                return False
            case _:
                return any(isinstance(child, ast.Await) for child in own_nodes(node))


def _coroutine_functions(names: PlanNames) -> frozenset[str]:
    """The plan's own functions whose call certainly gives something to await."""
    return frozenset(
        node.name
        for node in names.nodes
        if isinstance(node, ast.AsyncFunctionDef)
        and node.name != ENTRY_POINT
        and names.bindings.of(node.name) == (node,)
        and not node.decorator_list
        and not isinstance(names.parents[node], ast.ClassDef)
        and not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node))
    )


def _reads(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """Where names are read as values; a call of a name is not about its value."""
    nodes = list(nodes)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in called:
            yield node


def _awaits_results(nodes: Iterable[ast.AST]) -> bool:
    """Whether the result of an `await` is awaited in turn: then functions may return calls."""
    awaited: set[str] = set()
    for node in nodes:
        match node:
            case ast.Await(value=ast.Await()):
                return True
            case ast.Await(value=ast.Name(id=name)):
                awaited.add(name)
            case ast.Call(func=ast.Attribute(attr="gather"), args=args):
                names = [arg.value if isinstance(arg, ast.Starred) else arg for arg in args]
                awaited |= {name.id for name in names if isinstance(name, ast.Name)}
            case _:
                pass
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in awaited for target in node.targets)
        and any(isinstance(part, ast.Await) for part in ast.walk(node.value))
        for node in nodes
    )


def _await(call: ast.Call, draft: Draft) -> None:
    draft.insert("(await ", call, ")")
    draft.replace(call, ast.Await(call))


def _await_run(call: ast.Call, run: ast.Call, draft: Draft) -> None:
    draft.rewrite(call.func, "(await ")
    draft.insert("", call, ")")
    draft.replace(call, ast.Await(run))


def _drop(awaiting: ast.Await, draft: Draft) -> None:
    draft.cut_word("await", awaiting)
    draft.replace(awaiting, awaiting.value)


def _unpack(listed: ast.List | ast.ListComp, draft: Draft) -> None:
    draft.insert("*", listed)
    draft.replace(listed, ast.Starred(listed, ast.Load()))


def _make_list(node: ast.GeneratorExp, draft: Draft) -> None:
    """Brackets inside of the parentheses, which a sole argument shares with its call."""
    draft.insert_inside("[", node, "]")
    draft.replace(node, ast.ListComp(node.elt, node.generators))


def sync_solve(tree: ast.Module, names: PlanNames) -> ast.FunctionDef | None:
    """A top-level `def solve` that nothing in the plan uses, so that it may become async."""
    if any(
        isinstance(n, ast.Name) and n.id == ENTRY_POINT and _runs(n, names) for n in names.nodes
    ):
        return None
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == ENTRY_POINT]
    return found[0] if len(found) == 1 else None


def _make_async(solve: ast.FunctionDef, draft: Draft) -> None:
    draft.insert("async ", solve)
    draft.replace(solve, ast.AsyncFunctionDef(**dict(ast.iter_fields(solve))))


def _runs(node: ast.AST, names: PlanNames) -> bool:
    """Whether a node isn't under `if False:`, as a repair leaves it."""
    return not any(
        isinstance(parent, ast.If)
        and isinstance(parent.test, ast.Constant)
        and parent.test.value is False
        for parent in names.ancestors(node)
    )
