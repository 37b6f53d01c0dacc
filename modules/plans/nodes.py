"""Walks over a plan's tree that stop where something runs at another time."""

import ast
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `root` that run with it: not those of functions defined inside."""
    waiting = list(ast.iter_child_nodes(root))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
