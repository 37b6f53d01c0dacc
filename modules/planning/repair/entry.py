"""Repairs of `solve()`: the sandbox calls it, without arguments, once, and reads what it returns.

A plan that runs `solve()` itself would send every tool call twice.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from core.turn import VERDICTS
from modules.planning.edits import Edit
from modules.planning.names import (
    FunctionNode,
    ParsedPlan,
    PlanNames,
    Repair,
    is_builtin,
    own_nodes,
    takes_nothing,
)
from modules.sandbox.language import ENTRY_POINT

_DEFINITION = re.compile(rb"(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(")

_USUAL_NAME = "main"
"""What a script calls its entry point."""

_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign)
"""Statements that a script runs `solve()` with."""


def misnamed_entry(plan: ParsedPlan) -> Iterator[Repair]:
    """`async def main():`, the one function that a plan without `solve` can begin with.

    It needs no arguments, and no other function calls it; of several, the one named main.
    """
    names = plan.names
    if names.binds(ENTRY_POINT):
        return
    called = {
        name.id for name in names.nodes if isinstance(name, ast.Name) and names.scope_of(name)
    }
    first = [
        node
        for node in plan.tree.body
        if isinstance(node, FunctionNode)
        and _may_begin(node)
        and names.bound_by(node.name) == (node,)
        and node.name not in called
    ]
    entry = _only([node for node in first if node.name == _USUAL_NAME]) or _only(first)
    if entry is not None and (renamed := _renamed(plan, entry)) is not None:
        uses = [n for n in names.nodes if isinstance(n, ast.Name) and n.id == entry.name]
        edits = [edit for use in uses for edit in plan.text.instead(use, ENTRY_POINT)]
        words = f"renamed {entry.name}() to {ENTRY_POINT}()"
        yield Repair(entry, words, (renamed, *edits))


def own_runs(plan: ParsedPlan) -> Iterator[Repair]:
    """`x = asyncio.run(solve())` and what shows `x`, and `if __name__ == "__main__":`."""
    tree, names = plan.tree, plan.names
    if [type(node) in (ast.FunctionDef, ast.AsyncFunctionDef) for node in _solve(plan)] != [True]:
        return
    for statement in tree.body:
        match statement:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id="__name__"), comparators=[ast.Constant("__main__")]
                ),
                orelse=[],
            ):
                words = "skipped what stands under if __name__ == '__main__'"
                yield Repair(statement, words, plan.text.instead(statement, "pass"))
            case _:
                pass
    runners = {ENTRY_POINT, *_runners(plan)}
    runs, shown = list[ast.stmt](), set[str]()
    for statement in tree.body:
        if isinstance(statement, _SIMPLE):
            is_run = _calls(statement, runners)
            if (is_run or shown & _names(statement)) and _reads_only(
                statement, names, runners | shown
            ):
                runs.append(statement)
                shown |= _names(statement, ast.Store)
    if _is_used_elsewhere(shown, runs, names):
        return
    for statement in runs:
        words = "dropped what only shows the answer"
        if _calls(statement, runners):
            words = f"dropped the call of {ENTRY_POINT}(), which is called anyway"
        yield Repair(statement, words, plan.text.instead(statement, "pass"))


def annotated_verdicts(plan: ParsedPlan) -> Iterator[Repair]:
    """`FINAL_ANSWER: total` as a statement, which Python takes for a declaration."""
    for node in plan.names.nodes:
        match node:
            case ast.AnnAssign(target=ast.Name(id=word), annotation=said, value=None) if (
                f"{word}:" in VERDICTS and plan.names.scope_of(node) is not None
            ):
                text = f'return "{word}: " + str({ast.unparse(said)})'
                yield Repair(node, f"returned what {word}: says", plan.text.instead(node, text))
            case _:
                pass


def _may_begin(function: FunctionNode) -> bool:
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))
    return takes_nothing(function) and not function.decorator_list and not yields


def _only(functions: Sequence[FunctionNode]) -> FunctionNode | None:
    return functions[0] if len(functions) == 1 else None


def _renamed(plan: ParsedPlan, function: FunctionNode) -> Edit | None:
    """Give a function the name of the entry point where it is defined."""
    start, end = plan.text.span(function)
    found = _DEFINITION.match(plan.text.between(start, end))
    return Edit(start + found.start(1), start + found.end(1), ENTRY_POINT) if found else None


def _solve(plan: ParsedPlan) -> tuple[ast.AST, ...]:
    """What binds `solve`, if all of it stands at the top level."""
    bound_by = plan.names.bound_by(ENTRY_POINT)
    return bound_by if all(node in plan.tree.body for node in bound_by) else ()


def _runners(plan: ParsedPlan) -> Iterator[str]:
    """Functions without parameters that are there to run `solve()` and to show its answer."""
    for node in plan.tree.body:
        if (
            isinstance(node, FunctionNode)
            and len(plan.names.bound_by(node.name)) == 1
            and not node.decorator_list
            and not any(ast.iter_child_nodes(node.args))
            and _calls(node, {ENTRY_POINT})
            and _reads_only(node, plan.names, {ENTRY_POINT, *_names(node, ast.Store)})
        ):
            yield node.name


def _calls(node: ast.AST, functions: set[str]) -> bool:
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in functions
        for part in ast.walk(node)
    )


def _reads_only(node: ast.AST, names: PlanNames, known: set[str]) -> bool:
    """Whether it reads nothing but these names, modules and builtins.

    Then nothing that `solve()` or an answer could depend on comes of it.
    """
    if any(isinstance(part, ast.Global | ast.Nonlocal) for part in ast.walk(node)):
        return False
    return all(
        name in known
        or (is_builtin(name) and not names.binds(name))
        or (name in sys.stdlib_module_names and names.is_module(name))
        for name in _names(node, ast.Load)
    )


def _is_used_elsewhere(bound: set[str], runs: Sequence[ast.stmt], names: PlanNames) -> bool:
    """Whether names that these statements bind are of use to others."""
    inside = {part for statement in runs for part in ast.walk(statement)}
    places = [(name, place) for name in bound for place in names.bound_by(name)]
    local = {(name, scope) for name, place in places if (scope := names.scope_of(place))}
    return any(isinstance(place, ast.Global | ast.Nonlocal) for _, place in places) or any(
        isinstance(n, ast.Name)
        and n.id in bound
        and n not in inside
        and (n.id, names.scope_of(n)) not in local
        for n in names.nodes
    )


def _names(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names in a node that are read or bound."""
    found = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in found if isinstance(name.ctx, context)}
