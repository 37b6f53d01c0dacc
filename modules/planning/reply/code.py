"""Python without `solve()` in a reply: blocks that belong together, and the plan they amount to."""

import ast
from collections.abc import Container, Iterator, Sequence
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.tools.catalog import ToolCatalog
from modules.planning.names import CLIENT, TOOLS, FunctionNode, bound_names, takes_nothing
from modules.sandbox.language import ENTRY_POINT, NotParsed, parse

_INDENT: Final = "    "

_OURS_CALLED: Final = lazy_pattern(rf"\b(?:{TOOLS}|{CLIENT})\.[\w.]{{1,200}}\(")
"""Something like the call of a tool; "there are no tools." is none."""

_SHOWS: Final = frozenset({"print", "pprint"})
"""What shows a value and computes none."""


def plan_of_code(source: str, tools: ToolCatalog, *, alone: bool) -> str | None:
    """The plan that a text without `solve` amounts to; None where it is no code that computes.

    - functions of which one may be the entry stand as they are, unless statements beside them call
      tools: the repair of plans finds it
    - anything else goes into `async def solve():`, and its last value is what that returns
    - functions that all need arguments, and nothing that calls them, are no plan

    `alone` says that nothing marks the text as code: then it must call a tool, or consist of
    nothing but arithmetic, because words and sentences may be Python too.

    Python that does not parse comes back as it is if it means to call a tool: its error is then
    told by line.
    """
    try:
        tree = parse(source)
    except SyntaxError:
        return source if _OURS_CALLED.search(source) else None
    except (NotParsed, RecursionError):
        return None
    nodes = [*ast.walk(tree)]
    calls_tool = any(_is_tool_call(node, tools) for node in nodes)
    if not (calls_tool or (_is_arithmetic(tree) if alone else any(map(_computes, nodes)))):
        return None
    if _has_entry(tree) and not _works_outside(tree, tools):
        return source
    return None if all(map(_only_defines, tree.body)) else _wrapped(source, tree)


def _is_tool_call(node: ast.AST, tools: ToolCatalog) -> bool:
    """Whether it calls something of `tools` or `mcp`, or a tool's bare name."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return tools.has_name(name) and name not in ("print", "round", "sum")
        case ast.Call(func=ast.Attribute(value=owner)):
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            return isinstance(owner, ast.Name) and owner.id in (TOOLS, CLIENT)
        case _:
            return False


def _computes(node: ast.AST) -> bool:
    """Whether it gives a value that does not stand in the text already."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _SHOWS:
            return False
        case ast.Call() | ast.Await() | ast.BinOp() | ast.Compare():
            return True
        case _:
            return False


def _is_arithmetic(tree: ast.Module) -> bool:
    """Whether it is one expression of numbers and operators: `2**10`."""
    if len(tree.body) != 1 or not isinstance(statement := tree.body[0], ast.Expr):
        return False
    parts = [*ast.walk(statement.value)]
    return any(isinstance(part, ast.BinOp) for part in parts) and all(
        isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        or (isinstance(part, ast.Constant) and isinstance(part.value, int | float))
        for part in parts
    )


def _only_defines(statement: ast.stmt) -> bool:
    return isinstance(statement, FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom)


def _has_entry(tree: ast.Module) -> bool:
    """Whether a top-level function can be called without arguments."""
    return any(isinstance(node, FunctionNode) and takes_nothing(node) for node in tree.body)


def _works_outside(tree: ast.Module, tools: ToolCatalog) -> bool:
    """Whether statements outside of functions call tools: then these are the plan."""
    return any(
        _is_tool_call(node, tools)
        for statement in tree.body
        if not _only_defines(statement)
        for node in ast.walk(statement)
    )


def _wrapped(source: str, tree: ast.Module) -> str:
    """The text inside of `solve`, indented but for the inside of texts of several lines."""
    lines = source.split("\n")
    last = tree.body[-1]
    inside = set(_lines_of_texts(tree))
    if len(tree.body) > 1 and all(map(_is_value, tree.body)):
        return _listed(lines, tree.body, inside)
    if (result := _result_name(last)) is not None:
        lines.append(f"return {result}")
    elif _is_value(last):
        lines[last.lineno - 1] = _inserted("return ", lines[last.lineno - 1], last.col_offset)
    return "\n".join([f"async def {ENTRY_POINT}():", *_indented(lines, _INDENT, inside)])


def _indented(lines: Sequence[str], indent: str, inside: Container[int]) -> Iterator[str]:
    """The lines further to the right, but for those inside of texts, by number."""
    for number, line in enumerate(lines, start=1):
        yield line if number in inside or not line.strip() else indent + line


def _listed(lines: list[str], statements: Sequence[ast.stmt], inside: Container[int]) -> str:
    """`sin(1)` and `cos(1)` on lines of their own, as a plan that returns all of their values."""
    for statement in reversed(statements):
        if statement.end_lineno is not None and statement.end_col_offset is not None:
            at = statement.end_lineno - 1
            lines[at] = _inserted(",", lines[at], statement.end_col_offset)
    inner = _indented(lines, _INDENT * 2, inside)
    return "\n".join([f"async def {ENTRY_POINT}():", f"{_INDENT}return [", *inner, f"{_INDENT}]"])


def _inserted(text: str, line: str, offset_bytes: int) -> str:
    """A line with a text put in, at an offset as syntax trees count them."""
    encoded = line.encode()
    return f"{encoded[:offset_bytes].decode()}{text}{encoded[offset_bytes:].decode()}"


def _is_value(statement: ast.stmt) -> bool:
    """Whether it is an expression that is there for its value.

    One that prints is not: what a plan prints is its answer if it returns none.
    """
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name not in _SHOWS
        case _:
            return isinstance(statement, ast.Expr)


def _result_name(last: ast.stmt) -> str | None:
    """What the last statement gives a name to, if it is an assignment."""
    match last:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name
        case ast.Assign(targets=[ast.Tuple(elts=targets)]):
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            return ", ".join(names) if len(names) == len(targets) > 0 else None
        case _:
            return None


def _lines_of_texts(tree: ast.Module) -> Iterator[int]:
    """The lines, but for the first, of texts that go over several."""
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )
        if is_text and isinstance(node, ast.expr) and node.end_lineno is not None:
            yield from range(node.lineno + 1, node.end_lineno + 1)


@frozen
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
    nodes = [*ast.walk(tree)]
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    binding = (n for n in nodes if not isinstance(n, ast.Global | ast.Nonlocal))
    bound = {name for node in binding for name in bound_names(node)}
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
