"""Slips around `solve()`: it is the sandbox that calls it, without arguments, once.

A plan that runs `solve()` itself would send every tool call twice.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import partial

from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from modules.plans.draft import Draft, Slip
from modules.plans.names import CLIENT, TOOLS, PlanNames
from modules.plans.nodes import FunctionNode, own_nodes
from modules.sandbox.prelude import ENTRY_POINT

_VERDICTS = (FINAL_ANSWER, FURTHER_PROCESSING)

_DROPPED = f"dropped the call of {ENTRY_POINT}(), which is called anyway"


def own_runs(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """Statements outside of functions that only run `solve()`, and `if __name__ == "__main__":`."""
    if not _defines_solve(tree) or len(names.bindings.of(ENTRY_POINT)) != 1:
        return
    for statement in tree.body:
        match statement:
            case ast.Expr(value=value) if _runs_solve(value):
                yield Slip(statement, _DROPPED, partial(_put_statement, statement, "pass"))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _runs_solve(
                value
            ) and _is_only_printed(name, names):
                yield Slip(statement, _DROPPED, partial(_put_expression, value, "None"))
            case ast.If(test=test, orelse=[]) if _asks_for_main(test):
                words = "skipped what stands under if __name__ == '__main__'"
                yield Slip(statement, words, partial(_put_expression, test, "False"))
            case _:
                pass


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


def printed_verdicts(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`print("FINAL_ANSWER: …")` as the end of a `solve` that returns nothing."""
    for solve in tree.body:
        if not isinstance(solve, FunctionNode) or solve.name != ENTRY_POINT:
            continue
        match solve.body[-1]:
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="print"), args=[shown], keywords=[]) as call
            ) if _is_verdict(shown) and "print" not in names.bindings:
                if not any(isinstance(node, ast.Return) for node in own_nodes(solve)):
                    words = "returned the answer instead of printing it"
                    yield Slip(call, words, partial(_return, solve.body[-1], call, shown))
            case _:
                pass


def _defines_solve(tree: ast.Module) -> bool:
    return any(isinstance(node, FunctionNode) and node.name == ENTRY_POINT for node in tree.body)


def _runs_solve(node: ast.expr) -> bool:
    """Whether it is `solve()`, awaited, through `asyncio.run`, or printed."""
    while True:
        match node:
            case ast.Call(func=ast.Name(id="solve"), args=[], keywords=[]):
                return True
            case (
                ast.Await(value=inner)
                | ast.Call(
                    func=ast.Name(id="print")
                    | ast.Attribute(value=ast.Name(id="asyncio"), attr="run"),
                    args=[inner],
                    keywords=[],
                )
            ):
                node = inner
            case _:
                return False


def _is_only_printed(name: str, names: PlanNames) -> bool:
    """Whether a variable serves nothing but `print(…)`."""
    reads = [n for n in names.nodes if isinstance(n, ast.Name) and n.id == name]
    for node in reads:
        parent = names.parents[node]
        if isinstance(node.ctx, ast.Store):
            continue
        match parent:
            case ast.Call(func=ast.Name(id="print")):
                pass
            case _:
                return False
    return len(names.bindings.of(name)) == 1


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


def _is_verdict(shown: ast.expr) -> bool:
    """Whether it is text that begins with a verdict."""
    match shown:
        case ast.Constant(value=str() as text):
            return text.startswith(_VERDICTS)
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            return text.startswith(_VERDICTS)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod()):
            return _is_verdict(left)
        case _:
            return False


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


def _return(statement: ast.stmt, call: ast.Call, shown: ast.expr, draft: Draft) -> None:
    draft.rewrite(call.func, "return ")
    draft.replace(statement, ast.Return(shown))


def sync_solve(tree: ast.Module, names: PlanNames) -> ast.FunctionDef | None:
    """A top-level `def solve` that nothing in the plan uses, so that it may become async."""
    if any(
        isinstance(n, ast.Name) and n.id == ENTRY_POINT and _runs(n, names) for n in names.nodes
    ):
        return None
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == ENTRY_POINT]
    return found[0] if len(found) == 1 else None


def made_async(solve: ast.FunctionDef | None, to_await: Iterable[Slip]) -> Iterator[Slip]:
    """The slip of a `solve` that awaits, or is about to, without being async."""
    if solve is None:
        return
    own = set(own_nodes(solve))
    if any(slip.place in own for slip in to_await) or any(isinstance(n, ast.Await) for n in own):
        yield Slip(solve, f"made {ENTRY_POINT}() async", partial(_make_async, solve))


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
