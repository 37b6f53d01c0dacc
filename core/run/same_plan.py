"""Whether two plans are one: a model that is asked again often changes no more than a comment."""

import ast

COMPARED_CHARACTERS = 12 * 1024
"""Longer plans are compared letter by letter; the sandbox takes none that is longer."""


def is_same_plan(first: str, second: str) -> bool:
    """Whether two plans do the same, as far as that shows without comments, spaces and quotes."""
    if first.strip() == second.strip():
        return True
    if max(len(first), len(second)) > COMPARED_CHARACTERS:
        return False
    try:
        return ast.dump(_tree(first)) == ast.dump(_tree(second))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _tree(source: str) -> ast.Module:
    """The plan without docstrings, which say what it does and do nothing."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return tree
