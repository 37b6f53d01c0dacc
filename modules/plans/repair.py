"""Repairs the commonest slips of plans, where only one reading makes sense.

A repair is an edit of the model's own text at the place of the slip, so that lines keep their
numbers and errors quote what the model wrote. The same repairs are made on the syntax tree, and
the edited text must parse to exactly that tree; else the plan is left as it was.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from core.catalog import ToolCatalog
from modules.plans.names import (
    CALL_TOOL,
    CLIENT,
    TOOLS,
    FunctionNode,
    NotParsed,
    PlanNames,
    imports_door,
    is_builtin,
    parse,
)
from modules.plans.values import CONTAINER_BUILTINS, SCALAR_BUILTINS
from modules.sandbox.prelude import ENTRY_POINT, SEARCH

_VALUE_PARENTS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.Subscript),
    *(ast.Attribute, ast.If, ast.While, ast.For, ast.Assert, ast.AugAssign),
)
"""Nodes whose expressions must be values: an unawaited call there can only be a slip."""

_VALUE_BUILTINS = SCALAR_BUILTINS | CONTAINER_BUILTINS
"""Builtins that want values; `asyncio.gather` and a list's `append` may want the call itself."""

MAX_REPAIRS = 50
"""A text with more slips than this is no plan; it is left alone."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replace bytes `start` to `end` of the source; `rank` orders edits at one place."""

    start: int
    end: int
    text: str
    rank: int = 0


def normalise_plan(source: str, tools: ToolCatalog) -> str:
    """The plan with its unambiguous slips repaired, else exactly as given.

    - a tool call without `await` whose value is used (the whole of a statement, an operand, an
      argument of another tool call, …), in an async function or in a sync `solve`
    - `remainder = await remainder(…)`: a variable that shadows the tool; called by `tools.`
    - a generator expression with an `await` in it, which becomes a list
    - `import tools`, `from tools import add`, `import mcp`: nothing needs them
    """
    try:
        tree = parse(source)
        repair = _Repair(source, tree, tools)
        repair.make()
        if not repair.edits:
            return source
        repaired = _edited(source, repair.edits)
        return repaired if ast.dump(parse(repaired)) == ast.dump(tree) else source
    except (SyntaxError, NotParsed, RecursionError):
        return source


class _Repair:
    """Finds the slips of one plan; changes `tree` and collects the `edits` that do the same."""

    def __init__(self, source: str, tree: ast.Module, tools: ToolCatalog) -> None:
        self._tree = tree
        self._tools = tools
        self._names = PlanNames(tree, tools)
        self._line_starts = _line_starts(source)
        self._encoded = source.encode()
        self._reads = list(_reads(self._names.nodes))
        self._awaits_results = _awaits_results(self._names.nodes)
        self._kept_unawaited = {n.id for n in self._reads if not self._is_value_use(n)}
        self.edits: list[_Edit] = []

    def make(self) -> None:
        """Decide every repair first, on the tree as the model wrote it; then apply them all."""
        calls = [node for node in self._names.nodes if isinstance(node, ast.Call)]
        solve = self._sync_solve()
        shadowed = [(c, path) for c in calls if (path := self._shadowed_path(c)) is not None]
        unawaited = [call for call in calls if self._lacks_await(call, solve)]
        generators = [
            node
            for node in self._names.nodes
            if isinstance(node, ast.GeneratorExp) and self._wants_list(node)
        ]
        imports = [
            node
            for node in self._names.nodes
            if isinstance(node, ast.Import | ast.ImportFrom) and _doors(node)
        ]
        if len(shadowed) + len(unawaited) + len(generators) + len(imports) > MAX_REPAIRS:
            return
        if solve is not None and self._must_be_async(solve, unawaited):
            self._make_async(solve)
        for call, path in shadowed:
            self._qualify(call, path)
        for generator in generators:
            self._make_list(generator)
        for call in unawaited:
            self._await(call)
        for statement in imports:
            self._drop_doors(statement)

    # which slips there are

    def _is_tool_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and (
            self._names.called_tool(node) is not None
            or self._names.is_raw_call(node)
            or self._names.is_search(node)
        )

    def _shadowed_path(self, call: ast.Call) -> str | None:
        """Where else to find what it calls by a bare name that the plan or Python gives a value."""
        if not isinstance(call.func, ast.Name):
            return None
        name = call.func.id
        if name not in self._names.assigned and not is_builtin(name):
            return None
        if self._names.is_search(call):
            return f"{CLIENT}.{SEARCH}" if self._names.has_door(CLIENT) else None
        tool = self._names.called_tool(call)
        if tool is None or not self._names.has_door(TOOLS):
            return None
        return f"{TOOLS}.{self._tools.plan_name(tool)}"

    def _lacks_await(self, call: ast.Call, sync_solve: ast.FunctionDef | None) -> bool:
        if not self._is_tool_call(call):
            return False
        scope = self._names.scope_of(call)
        may_await = isinstance(scope, ast.AsyncFunctionDef) or (
            sync_solve is not None and scope is sync_solve
        )
        return may_await and self._is_wanted(call)

    def _is_wanted(self, call: ast.expr) -> bool:
        """Whether the call's value, not the call itself, is what its place wants."""
        match self._names.parents[call]:
            case ast.BoolOp() as choice:
                return self._is_wanted(choice)
            case ast.Expr():
                return True
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return name not in self._kept_unawaited
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                return True
            case _:
                return self._is_value_use(call)

    def _is_value_use(self, node: ast.expr) -> bool:
        parent = self._names.parents[node]
        if isinstance(parent, ast.keyword):
            parent = self._names.parents[parent]
        if isinstance(parent, ast.Call):
            return self._is_tool_call(parent) or self._takes_values(parent)
        if isinstance(parent, ast.BoolOp):
            return self._is_value_use(parent)
        if isinstance(parent, ast.Return):
            return self._returns_values(parent)
        if isinstance(parent, ast.comprehension):
            return parent.iter is node or node in parent.ifs
        return isinstance(parent, _VALUE_PARENTS)

    def _returns_values(self, statement: ast.Return) -> bool:
        """Whether it ends `solve`, or a function whose results nobody awaits once more."""
        scope = self._names.scope_of(statement)
        is_solve = isinstance(scope, FunctionNode) and scope.name == ENTRY_POINT
        return is_solve or not self._awaits_results

    def _takes_values(self, call: ast.Call) -> bool:
        """Whether a function that isn't a tool can only want plain values."""
        match call.func:
            case ast.Name(id=name):
                return name in _VALUE_BUILTINS and self._names.has_door(name)
            case ast.Attribute(value=ast.Name(id="json" | "math")):
                return True
            case ast.Attribute(value=ast.Constant(value=str())):
                return True
            case _:
                return False

    def _wants_list(self, node: ast.GeneratorExp) -> bool:
        """Whether a generator awaits, and its place takes a list as well."""
        if any(generator.is_async for generator in node.generators):
            return False
        match self._names.parents[node]:
            case ast.Call(func=ast.Name(id="next" | "iter")):
                return False
            case _:
                return any(isinstance(child, ast.Await) for child in _own_nodes(node))

    def _sync_solve(self) -> ast.FunctionDef | None:
        """A top-level `def solve` that nothing in the plan uses, so that it may become async."""
        if any(isinstance(n, ast.Name) and n.id == ENTRY_POINT for n in self._names.nodes):
            return None
        found = [
            node
            for node in self._tree.body
            if isinstance(node, ast.FunctionDef) and node.name == ENTRY_POINT
        ]
        return found[0] if len(found) == 1 else None

    def _must_be_async(self, solve: ast.FunctionDef, unawaited: Iterable[ast.Call]) -> bool:
        own = set(_own_nodes(solve))
        return any(call in own for call in unawaited) or any(
            isinstance(node, ast.Await) for node in own
        )

    # how each is repaired

    def _await(self, call: ast.Call) -> None:
        start, end = self._span(call)
        self.edits += [_Edit(start, start, "(await "), _Edit(end, end, ")")]
        self._replace(call, ast.Await(call))

    def _qualify(self, call: ast.Call, path: str) -> None:
        self.edits.append(_Edit(*self._span(call.func), path, rank=1))
        call.func = ast.parse(path, mode="eval").body

    def _make_list(self, node: ast.GeneratorExp) -> None:
        """Brackets inside of the parentheses, which a sole argument shares with its call."""
        start, end = self._span(node)
        self.edits += [_Edit(start + 1, start + 1, "["), _Edit(end - 1, end - 1, "]", rank=2)]
        self._replace(node, ast.ListComp(node.elt, node.generators))

    def _make_async(self, solve: ast.FunctionDef) -> None:
        start, _ = self._span(solve)
        self.edits.append(_Edit(start, start, "async "))
        fields = dict(ast.iter_fields(solve))
        self._replace(solve, ast.AsyncFunctionDef(**fields))

    def _drop_doors(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Replace an import of the doors by what it would bind, or `pass`; other names stay."""
        doors = _doors(statement)
        kept = [alias for alias in statement.names if not imports_door(statement, alias)]
        parts = [f"import {_alias_text(alias)}" for alias in kept]
        parts += [text for alias in doors if (text := _binding(statement, alias))]
        text = "; ".join(parts) or "pass"
        start, end = self._span(statement)
        lines = self._encoded[start:end].count(b"\n")
        self.edits.append(_Edit(start, end, text + "\n" * lines))
        self._replace(statement, *ast.parse(text).body)

    # the tree and the text

    def _replace(self, old: ast.AST, *new: ast.AST) -> None:
        """Put `new` where `old` is; several only where statements stand in a list."""
        parent = self._names.parents[old]
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new[0])
            elif isinstance(value, list):
                items = cast("list[ast.AST]", value)
                if old in items:
                    at = items.index(old)
                    items[at : at + 1] = new
        for node in new:
            self._names.parents[node] = parent
            for child in ast.iter_child_nodes(node):
                self._names.parents[child] = node

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Byte offsets of a node in the source."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return (
            self._line_starts[node.lineno - 1] + node.col_offset,
            self._line_starts[end_line - 1] + end_column,
        )


def _own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `root` that run with it: not those of functions defined inside."""
    waiting = list(ast.iter_child_nodes(root))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _reads(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    """Where names are read as values; a call of a name is not about its value."""
    nodes = list(nodes)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in called:
            yield node


def _awaits_results(nodes: Iterable[ast.AST]) -> bool:
    """Whether the result of an `await` is awaited in turn: then functions may return calls."""
    awaited: set[str] = set()
    for node in nodes:
        match node:
            case ast.Await(value=ast.Await()):
                return True
            case ast.Await(value=ast.Name(id=name)):
                awaited.add(name)
            case ast.Call(func=ast.Attribute(attr="gather"), args=args):
                names = [arg.value if isinstance(arg, ast.Starred) else arg for arg in args]
                awaited |= {name.id for name in names if isinstance(name, ast.Name)}
            case _:
                pass
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in awaited for target in node.targets)
        and any(isinstance(part, ast.Await) for part in ast.walk(node.value))
        for node in nodes
    )


def _doors(statement: ast.Import | ast.ImportFrom) -> list[ast.alias]:
    return [alias for alias in statement.names if imports_door(statement, alias)]


def _alias_text(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _binding(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What an import of a door must bind: only names that the plan doesn't have by itself."""
    if isinstance(statement, ast.Import):
        return f"{alias.asname} = {alias.name}" if alias.asname else ""
    if alias.name == CALL_TOOL:
        return f"{alias.asname or CALL_TOOL} = {CLIENT}.{CALL_TOOL}"
    name = alias.asname or (alias.name if is_builtin(alias.name) else None)
    return f"{name} = {statement.module}.{alias.name}" if name else ""


def _line_starts(source: str) -> list[int]:
    """Byte offset of every line, as Python's tokenizer counts lines."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _edited(source: str, edits: Iterable[_Edit]) -> str:
    """The source with the edits applied; edits at one place in the order of their rank."""
    encoded = source.encode()
    pieces: list[bytes] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.rank)):
        pieces += [encoded[done : edit.start], edit.text.encode()]
        done = edit.end
    return b"".join([*pieces, encoded[done:]]).decode()
