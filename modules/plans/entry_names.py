"""The slip of an entry point with another name: `async def main():` where `solve` was asked for."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from modules.plans.draft import Draft, Slip
from modules.plans.names import CLIENT, TOOLS, FunctionNode, PlanNames, own_nodes
from modules.sandbox.prelude import ENTRY_POINT

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
