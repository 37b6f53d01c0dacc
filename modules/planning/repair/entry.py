"""Repairs of `solve()`: it is the sandbox that calls it, without arguments, once."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from modules.planning.names import (
    CLIENT,
    SCALAR_BUILTINS,
    TOOLS,
    FunctionNode,
    PlanNames,
    own_nodes,
)
from modules.planning.repair.draft import Draft, Slip
from modules.sandbox.language.prelude import ENTRY_POINT

_USUAL_NAME = "main"
"""What a script calls its entry point."""


def misnamed_entry(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """The one function that a plan without `solve` can begin with.

    It needs no arguments, and no other function calls it; of several, the one named main.
    """
    if ENTRY_POINT in names.bindings:
        return
    found = [node for node in tree.body if isinstance(node, FunctionNode) and _may_begin(node)]
    called = {
        name.id for name in names.nodes if isinstance(name, ast.Name) and names.scope_of(name)
    }
    found = [node for node in found if names.bindings.of(node.name) == (node,)]
    first = [node for node in found if node.name not in called]
    entry = _only([node for node in first if node.name == _USUAL_NAME]) or _only(first)
    if entry is not None:
        words = f"renamed {entry.name}() to {ENTRY_POINT}()"
        uses = [n for n in names.nodes if isinstance(n, ast.Name) and n.id == entry.name]
        yield Slip(entry, words, partial(_rename, entry, uses))


def takes_nothing(function: FunctionNode) -> bool:
    """Whether a function has no parameters that must be given, doors aside."""
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args]
    needed = given[: len(given) - len(arguments.defaults)]
    return all(p.arg in (TOOLS, CLIENT) for p in needed) and None not in arguments.kw_defaults


def _may_begin(function: FunctionNode) -> bool:
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))
    return takes_nothing(function) and not function.decorator_list and not yields


def _only(functions: Sequence[FunctionNode]) -> FunctionNode | None:
    return functions[0] if len(functions) == 1 else None


def _rename(function: FunctionNode, uses: Sequence[ast.Name], draft: Draft) -> None:
    draft.rename(function, ENTRY_POINT)
    for name in uses:
        draft.rewrite(name, ENTRY_POINT)
        name.id = ENTRY_POINT


_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)
"""Statements that a script runs `solve()` with."""

_SCRIPT_MODULES = ("asyncio", "json", "sys", "pprint")
"""Modules of which a script uses what runs and shows things."""

_DROPPED = f"dropped the call of {ENTRY_POINT}(), which is called anyway"


def own_runs(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """Statements outside of functions that only run `solve()`, and `if __name__ == "__main__":`."""
    if not _defines_solve(tree) or len(names.bindings.of(ENTRY_POINT)) != 1:
        return
    runs = _OwnRuns(tree, names)
    for statement in runs.dropped:
        if runs.is_run(statement):
            yield Slip(statement, _DROPPED, partial(_put_statement, statement, "pass"))
        else:
            words = "dropped what only shows the answer"
            yield Slip(statement, words, partial(_put_statement, statement, "pass"))
    for statement in tree.body:
        match statement:
            case ast.If(test=test, orelse=[]) if _asks_for_main(test):
                words = "skipped what stands under if __name__ == '__main__'"
                yield Slip(statement, words, partial(_put_expression, test, "False"))
            case _:
                pass


class _OwnRuns:
    """Finds what in a script serves nothing but to run `solve()` and to show what it gives."""

    def __init__(self, tree: ast.Module, names: PlanNames) -> None:
        self._names = names
        self._shown: set[str] = set()
        self._runners = {ENTRY_POINT}
        self._runners |= {
            node.name
            for node in tree.body
            if isinstance(node, FunctionNode) and node.name != ENTRY_POINT and self._is_runner(node)
        }
        found: list[ast.stmt] = []
        for statement in tree.body:
            if isinstance(statement, _SIMPLE) and self._may_be_dropped(statement):
                found.append(statement)
                self._shown |= _assigned(statement)
        self.dropped = found if self._are_all_reads_in(found) else []

    def is_run(self, node: ast.AST) -> bool:
        """Whether it calls `solve`, or a function that is there to do so."""
        return any(
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Name)
            and part.func.id in self._runners
            for part in ast.walk(node)
        )

    def _is_runner(self, function: FunctionNode) -> bool:
        """Whether a function without parameters runs `solve()`, and shows the answer at most."""
        is_alone = len(self._names.bindings.of(function.name)) == 1
        is_plain = not function.decorator_list and not any(ast.iter_child_nodes(function.args))
        return is_alone and is_plain and self.is_run(function) and self._only_shows(function)

    def _may_be_dropped(self, statement: ast.stmt) -> bool:
        reads = {part.id for part in ast.walk(statement) if isinstance(part, ast.Name)}
        wanted = self.is_run(statement) or not self._shown.isdisjoint(reads) or _is_loop(statement)
        return wanted and self._only_shows(statement)

    def _only_shows(self, node: ast.AST) -> bool:
        """Whether nothing in it has an effect that `solve()` or an answer could depend on."""
        return all(map(self._has_no_effect, ast.walk(node)))

    def _has_no_effect(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name in self._runners or (
                    name in SCALAR_BUILTINS and self._names.has_door(name)
                )
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))):
                return owner in self._shown or owner in _SCRIPT_MODULES or owner == "loop"
            case ast.Call(func=ast.Attribute(value=ast.Constant() | ast.Call() | ast.Subscript())):
                return True
            case ast.Name(id="tools" | "mcp") | ast.Global() | ast.Nonlocal() | ast.Delete():
                return False
            case ast.Call() | ast.Lambda() | ast.ClassDef() | ast.NamedExpr():
                return False
            case ast.List() | ast.Dict() | ast.Set():
                return False
            case ast.Attribute(ctx=ctx) | ast.Subscript(ctx=ctx):
                return isinstance(ctx, ast.Load)
            case _:
                return True

    def _are_all_reads_in(self, statements: list[ast.stmt]) -> bool:
        """Whether the names that these bind are of use to nothing else."""
        inside = {part for statement in statements for part in ast.walk(statement)}
        bound = [(name, b) for name in self._shown for b in self._names.bindings.of(name)]
        if any(isinstance(b, ast.Global | ast.Nonlocal) for _, b in bound):
            return False
        local = {(name, self._names.scope_of(b)) for name, b in bound} - {
            (name, None) for name in self._shown
        }
        return all(
            node in inside or (node.id, self._names.scope_of(node)) in local
            for node in self._names.nodes
            if isinstance(node, ast.Name) and node.id in self._shown
        )


def needless_parameters(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`solve(tools)`, and parameters of `solve` that it never reads."""
    for solve in tree.body:
        if isinstance(solve, FunctionNode) and solve.name == ENTRY_POINT:
            parameters = _simple_parameters(solve)
            read = {n.id for n in names.nodes if isinstance(n, ast.Name)} - {TOOLS, CLIENT}
            if parameters and not any(parameter.arg in read for parameter in parameters):
                shown = ", ".join(parameter.arg for parameter in parameters)
                words = f"dropped the parameters of {ENTRY_POINT}(): {shown}"
                yield Slip(solve, words, partial(_drop_parameters, solve))


def _defines_solve(tree: ast.Module) -> bool:
    return any(isinstance(node, FunctionNode) and node.name == ENTRY_POINT for node in tree.body)


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a simple statement binds."""
    names = (part for part in ast.walk(statement) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _is_loop(statement: ast.stmt) -> bool:
    """`loop = asyncio.get_event_loop()`, which serves to run something."""
    match statement:
        case ast.Assign(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr=name))
        ):
            return name in ("get_event_loop", "new_event_loop")
        case _:
            return False


def _asks_for_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]
        ):
            return True
        case _:
            return False


def _simple_parameters(solve: FunctionNode) -> list[ast.arg]:
    """The parameters, if all of them are plain ones without defaults."""
    arguments = solve.args
    others = (arguments.posonlyargs, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return [] if any(others) or arguments.defaults else arguments.args


def _put_statement(old: ast.stmt, text: str, draft: Draft) -> None:
    draft.rewrite(old, text)
    draft.replace(old, *ast.parse(text).body)


def _put_expression(old: ast.expr, text: str, draft: Draft) -> None:
    draft.rewrite(old, text)
    draft.replace(old, ast.parse(text, mode="eval").body)


def _drop_parameters(solve: FunctionNode, draft: Draft) -> None:
    first, last = solve.args.args[0], solve.args.args[-1]
    draft.cut_through(first, last)
    solve.args.args = []
