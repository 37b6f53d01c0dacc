"""Where a plan binds each name: the ground on which something can be said of a name's value."""

import ast
from collections import defaultdict
from collections.abc import Iterable


class Bindings:
    """Every place of a plan that binds a name, whatever its scope."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        """Look at all `nodes` of the plan's tree."""
        self._places: defaultdict[str, list[ast.AST]] = defaultdict(list)
        for node in nodes:
            for name in _bound_names(node):
                self._places[name].append(node)

    def of(self, name: str) -> tuple[ast.AST, ...]:
        """The nodes that bind `name`, in the order of the tree.

        A `del` and a `global` count too: after them nothing is certain.
        """
        return tuple(self._places.get(name, ()))

    def __contains__(self, name: object) -> bool:
        """Whether anything in the plan binds `name`; a star import may bind all."""
        return name in self._places or "*" in self._places


def _bound_names(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.ExceptHandler(name=str() as name):
            return [name]
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
            return [name]
        case ast.MatchMapping(rest=str() as name):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case _:
            return []
