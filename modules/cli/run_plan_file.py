"""A plan's text as somebody wrote it: from a file or stdin, bounded, and what it may call."""

import ast
from pathlib import Path
from typing import BinaryIO

from core.base.text import with_line_feeds
from core.errors import UsageError
from core.tools.catalog import ToolCatalog
from modules.planning.names import PlanNames, imports_ours, is_builtin
from modules.sandbox.language import NotParsed, TooLong, parse

_DEFINITIONS = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg),
    *(ast.Import, ast.ImportFrom),
)


def read_plan(file: str, stdin: BinaryIO, max_bytes: int) -> str:
    r"""The text in a file ("-" is stdin), a byte order mark dropped and line ends as `\n`.

    Raises:
        UsageError: it can't be read, is empty, longer than `max_bytes`, or not UTF-8.
    """
    if not file:  # would be the working directory
        raise UsageError("the plan can't be read: the name of its file is empty")
    name = "stdin" if file == "-" else file
    try:
        data = stdin.read(max_bytes + 1) if file == "-" else _head(Path(file), max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"{name}: the plan can't be read: {reason}") from error
    if len(data) > max_bytes:
        raise UsageError(
            f"{name}: longer than the {max_bytes:,} bytes that a plan may have "
            "(sandbox.source_bytes in the profile)"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: not UTF-8 text (byte {error.start}); a plan is Python text"
        ) from error
    if not text.strip():
        raise UsageError(
            f"{name}: empty; a plan is Python with `async def solve():`; "
            "run-plan --help shows an example"
        )
    return with_line_feeds(text)


def may_call_tools(source: str) -> bool:
    """Whether a plan may reach a tool or search for one; False only where it certainly can't.

    A tool may be called by its bare name, which nobody knows as long as no server is looked at: so
    any name that is neither the plan's own nor Python's may be one.
    """
    try:
        tree = parse(source)
    except (SyntaxError, TooLong):  # the sandbox knows newer Python than ours may
        return True
    except NotParsed:
        return False
    names = PlanNames(tree, ToolCatalog(()))
    return any(_may_be_tool(node, names) for node in names.nodes)


def _may_be_tool(node: ast.AST, names: PlanNames) -> bool:
    """Whether a node asks for ours, or for a name that is neither the plan's nor Python's."""
    match node:
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return any(imports_ours(node, alias) for alias in aliases)
        case ast.Await(value=ast.Call(func=ast.Name(id=name))):
            return not _is_defined(name, names)
        case ast.Call(func=ast.Name(id=name)):  # an assigned one too: `add = await add(1, 2)`
            return not (_is_defined(name, names) or is_builtin(name))
        case ast.Name(id=name, ctx=ast.Load()):
            return not (names.bound_by(name) or is_builtin(name))
        case _:
            return False


def _is_defined(name: str, names: PlanNames) -> bool:
    """Whether a name means a function, class, parameter or import of the plan's own."""
    return any(isinstance(node, _DEFINITIONS) for node in names.bound_by(name))


def _head(path: Path, size_bytes: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size_bytes)
