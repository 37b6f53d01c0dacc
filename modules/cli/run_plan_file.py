"""A plan's text as somebody wrote it: from a file or stdin, bounded, and what it may call."""

import ast
import builtins
from pathlib import Path
from typing import BinaryIO

from core.errors import UsageError
from modules.planning.check.syntax import syntax_failure
from modules.planning.names import imports_ours
from modules.sandbox.language.parsing import NotParsed, TooLong, parse

_BUILTIN_NAMES = frozenset(dir(builtins))


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
    return text.replace("\r\n", "\n").replace("\r", "\n")


def may_call_tools(source: str) -> bool:
    """Whether a plan may reach a tool or search for one; False only where it certainly can't.

    Text that is no Python can't. A tool may be called by its bare name, which nobody knows as
    long as no server is looked at: so any name that is neither the plan's own nor Python's may be
    one.
    """
    try:
        tree = parse(source)
    except SyntaxError as error:
        return syntax_failure(error, source) is None  # the sandbox may know it, being newer
    except TooLong:
        return True
    except NotParsed:
        return False
    nodes = list(ast.walk(tree))
    imports = [
        (node, alias)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    if any(imports_ours(node, alias) for node, alias in imports):
        return True
    own = {name for node in nodes for name in _defined(node)}
    own |= {alias.asname or alias.name.partition(".")[0] for _, alias in imports}
    bound = {name for node in nodes for name in _assigned(node)}
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    called = {name for node in nodes for name in _called(node)}
    awaited = {
        name for node in nodes if isinstance(node, ast.Await) for name in _called(node.value)
    }
    unknown = (read - bound) | called  # an assigned name may be a tool's: `add = await add(1, 2)`
    return bool((unknown - own - _BUILTIN_NAMES) | (awaited - own))


def _defined(node: ast.AST) -> tuple[str, ...]:
    """The name that a function, class or parameter has; no tool is meant by it."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return (name,)
        case ast.ClassDef(name=name) | ast.arg(arg=name):
            return (name,)
        case _:
            return ()


def _assigned(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case ast.ExceptHandler(name=str() as name):
            return (name,)
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
            return (name,)
        case _:
            return ()


def _called(node: ast.AST) -> tuple[str, ...]:
    """The bare name that is called."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _head(path: Path, size_bytes: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size_bytes)
