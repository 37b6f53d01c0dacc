"""Plans for executors that know no `async`: the same text as ordinary functions.

Standard library only, since it runs in every peer's environment too.
"""

import ast
from collections.abc import Callable
from typing import cast

CALL = "\nsolve()\n"
"""Appended for executors whose value is that of the last expression."""


def without_async(source: str) -> str:
    """The plan with `async` and `await` dropped; a text without them, or that isn't Python, as is.

    Everything else stays as it was written, but for its layout.
    """
    try:
        tree = ast.parse(source)
        dropped = _Dropper()
        tree = dropped.visit(tree)
        return ast.unparse(tree) if dropped.found else source
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


class _Dropper(ast.NodeTransformer):
    """Makes ordinary functions, loops and `with` of asynchronous ones."""

    def __init__(self) -> None:
        self.found = False

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._as(ast.FunctionDef, node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self._as(ast.For, node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self._as(ast.With, node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.found = True
        return cast("ast.AST", self.visit(node.value))

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.found = self.found or bool(node.is_async)
        node.is_async = 0
        return self.generic_visit(node)

    def _as(self, kind: Callable[..., ast.AST], node: ast.AST) -> ast.AST:
        self.found = True
        return ast.copy_location(kind(**dict(ast.iter_fields(self.generic_visit(node)))), node)
