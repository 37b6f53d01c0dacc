"""Blocks of code of one reply that belong together: helpers and `solve`, cells of a notebook."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.catalog import ToolCatalog
from modules.plans.names import FunctionNode, NotParsed, parse


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """The text of a block, the names that it binds at its top level, and those it must be given.

    Of text that is no Python nothing is known.
    """

    text: str
    defined: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


def read_block(text: str) -> CodeBlock:
    """Parse a block and look up its names."""
    try:
        tree = parse(text)
    except (SyntaxError, NotParsed, RecursionError):
        return CodeBlock(text)
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case _:
                pass
    return CodeBlock(text, frozenset(_defined(tree)), frozenset(read - bound))


def with_helpers(chosen: CodeBlock, others: Sequence[CodeBlock], tools: ToolCatalog) -> str:
    """A block with those others in front of it that define what it needs, and what they need.

    Functions named like tools only stand for the tools in a model's example, and are left out.
    """
    needed = set(chosen.needed)
    parts = [chosen.text]
    for block in reversed(others):
        if any(name in needed and not tools.has_name(name) for name in block.defined):
            parts.insert(0, block.text)
            needed |= block.needed
    return "\n\n".join(parts)


def _defined(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets):
                for target in targets:
                    names = (part for part in ast.walk(target) if isinstance(part, ast.Name))
                    yield from (name.id for name in names)
            case _ if isinstance(statement, FunctionNode | ast.ClassDef):
                yield statement.name
            case _:
                pass
