"""What a plan's text says before it runs: its syntax tree, its names, and the tools it calls."""

import ast
import builtins
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec, as_identifier
from modules.sandbox.language.parsing import parse
from modules.sandbox.language.prelude import ENTRY_POINT, SEARCH


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


SCALAR_BUILTINS = frozenset(
    {
        *("abs", "bool", "float", "int", "isinstance", "len", "print", "range", "repr"),
        *("round", "str", "sum", "type"),
    }
)
"""Builtins that give numbers or text, whatever they are given."""

CONTAINER_BUILTINS = frozenset(
    {"dict", "enumerate", "list", "max", "min", "reversed", "set", "sorted", "tuple", "zip"}
)
"""Builtins that give back what they are given, or collections of it."""

IsToolCall: TypeAlias = Callable[[ast.Call], bool]

_VALUE_MODULES = ("json", "math", "asyncio")


def is_plain_value(node: ast.expr, is_tool_call: IsToolCall) -> bool:
    """Whether an expression is certainly no function and holds none."""
    waiting: list[ast.expr] = [node]
    while waiting:
        parts = _parts(waiting.pop(), is_tool_call)
        if parts is None:
            return False
        waiting.extend(parts)
    return True


def _parts(node: ast.expr, is_tool_call: IsToolCall) -> Sequence[ast.expr] | None:
    """The expressions that must be plain for this one to be so; None if it may not be."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return ()
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.Dict(values=parts) | ast.BoolOp(values=parts):
            return parts
        case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.DictComp(value=part):
            return (part,)
        case ast.Await(value=part) | ast.Subscript(value=part) | ast.Starred(value=part):
            return (part,)
        case ast.IfExp(body=yes, orelse=no):
            return (yes, no)
        case ast.Call():
            return () if is_tool_call(node) else _parts_of_call(node)
        case _:
            return None


def _parts_of_call(call: ast.Call) -> Sequence[ast.expr] | None:
    match call.func:
        case ast.Name(id=name) if name in SCALAR_BUILTINS:
            return ()
        case ast.Name(id=name) if name in CONTAINER_BUILTINS:
            return call.args
        case ast.Attribute(value=ast.Name(id=module)) if module in _VALUE_MODULES:
            return ()
        case ast.Attribute(value=owner) if not isinstance(owner, ast.Name):
            return (owner,)
        case _:
            return None


TOOLS = "tools"
CLIENT = "mcp"
CALL_TOOL = "call_tool"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = FunctionNode | ast.Lambda

_BUILTIN_NAMES = frozenset(dir(builtins))


class PlanNames:
    """The names that a plan binds, and with them what its calls mean.

    A plan may give a tool's name to a function or import of its own: then the bare name means
    that. So it does where the name may be bound to a function in any other way. An assignment of
    a plain value is different: it is how plans shadow a tool by accident.
    """

    def __init__(self, tree: ast.Module, tools: ToolCatalog) -> None:
        """Read every binding and the parent of every node."""
        self.tools = tools
        self.parents: dict[ast.AST, ast.AST] = {}
        self.own: set[str] = set()
        self.assigned: set[str] = set()
        self.nodes: list[ast.AST] = []
        self._star_import = False
        self._scopes: dict[ast.AST, ScopeNode | None] = {tree: None}
        waiting = deque[ast.AST]([tree])
        while waiting:
            node = waiting.popleft()
            self.nodes.append(node)
            inner = self._inner_scope(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                self._scopes[child] = inner
                waiting.append(child)
        for node in self.nodes:
            self._note(node)
        self.servers = {as_identifier(tool.server) for tool in tools.known}
        self.searches = any(self.is_search(n) for n in self.nodes if isinstance(n, ast.Call))

    @cached_property
    def bindings(self) -> Bindings:
        """Every place that binds a name."""
        return Bindings(self.nodes)

    def tool_path(self, node: ast.expr) -> str | None:
        """`x` or `server.x` for `tools.x` or `tools.server.x`, where `tools` is ours."""
        match node:
            case ast.Attribute(value=ast.Name(id="tools"), attr=path):
                pass
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="tools"), attr=server), attr=name
            ) if server in self.servers:
                path = f"{server}.{name}"
            case _:
                return None
        is_search = path == SEARCH and not self.tools.has_name(SEARCH)
        return path if self.has_door(TOOLS) and not is_search else None

    def has_door(self, name: str) -> bool:
        """Whether `tools` or `mcp` means ours everywhere in the plan."""
        return name not in self.assigned and name not in self.own

    def called_tool(self, call: ast.Call) -> ToolSpec | None:
        """The tool that `tools.x(…)` or a bare `x(…)` calls for certain, on offer or not."""
        path = self.tool_path(call.func)
        if path is not None:
            return self.tools.lookup(path)
        return self._bare_tool(call)

    def is_search(self, call: ast.Call) -> bool:
        """Whether it is `search_tools(…)`, also behind `mcp.` or `tools.`.

        A server's tool of that name is behind `tools.`, and never meant by the bare one.
        """
        match call.func:
            case ast.Name(id=name):
                return name == SEARCH and name not in self.own and not self._star_import
            case ast.Attribute(value=ast.Name(id=("tools" | "mcp") as door), attr=name):
                ours = door == CLIENT or not self.tools.has_name(SEARCH)
                return name == SEARCH and ours and self.has_door(door)
            case _:
                return False

    def is_raw_call(self, call: ast.Call) -> bool:
        """Whether it is `mcp.call_tool(…)`."""
        func = call.func
        return (
            isinstance(func, ast.Attribute)
            and func.attr == CALL_TOOL
            and self._is_door(func.value, CLIENT)
        )

    def scope_of(self, node: ast.AST) -> ScopeNode | None:
        """The innermost function around a node; None at module or class level."""
        return self._scopes[node]

    def _inner_scope(self, node: ast.AST) -> ScopeNode | None:
        if isinstance(node, ScopeNode):
            return node
        return None if isinstance(node, ast.ClassDef) else self._scopes[node]

    def _bare_tool(self, call: ast.Call) -> ToolSpec | None:
        if not isinstance(call.func, ast.Name) or self._star_import:
            return None
        name = call.func.id
        awaited = isinstance(self.parents.get(call), ast.Await)
        taken = name in self.own or name in (ENTRY_POINT, SEARCH)
        if taken or (is_builtin(name) and not awaited):
            return None
        return self.tools.lookup(name)

    def _is_door(self, node: ast.expr, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name and self.has_door(name)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.own.add(name)
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                self.own.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                self._note_import(node, names)
            case ast.Name(id=name, ctx=ast.Store()):
                (self.assigned if self._gets_plain_value(node) else self.own).add(name)
            case ast.Attribute(value=ast.Name(id=("tools" | "mcp") as name), ctx=ast.Store()):
                self.own.add(name)  # the plan changes the door: nothing is certain behind it
            case ast.ExceptHandler(name=str() as name):
                self.assigned.add(name)
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                self.own.add(name)
            case ast.MatchMapping(rest=str() as name):
                self.own.add(name)
            case _:
                pass

    def _note_import(self, node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> None:
        for alias in names:
            if imports_door(node, alias):
                continue
            if alias.name == "*":
                self._star_import = True
            else:
                self.own.add(alias.asname or alias.name.partition(".")[0])

    def _gets_plain_value(self, name: ast.Name) -> bool:
        """Whether what a name is bound to here is certainly no function."""
        node: ast.AST = name
        while isinstance(node := self.parents[node], ast.Tuple | ast.List | ast.Starred):
            pass
        match node:
            case ast.Assign(value=value) | ast.NamedExpr(value=value):
                return is_plain_value(value, self._looks_like_tool_call)
            case ast.AnnAssign(value=value):
                return value is None or is_plain_value(value, self._looks_like_tool_call)
            case ast.For(iter=values) | ast.comprehension(iter=values):
                return is_plain_value(values, self._looks_like_tool_call)
            case _:
                return isinstance(node, ast.AugAssign)

    def _looks_like_tool_call(self, call: ast.Call) -> bool:
        """Whether it calls a tool's bare name, a search, or something of `tools` or `mcp`."""
        func = call.func
        if isinstance(func, ast.Name):
            known = func.id == SEARCH or self.tools.lookup(func.id) is not None
            return known and not is_builtin(func.id)
        while isinstance(func, ast.Attribute):
            func = func.value
        return isinstance(func, ast.Name) and func.id in (TOOLS, CLIENT)


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """A plan's text, its tree, and what its names mean."""

    source: str
    tree: ast.Module
    names: PlanNames


def read_plan(source: str, tools: ToolCatalog) -> ParsedPlan:
    """Parse a plan and look up its names among the tools; raises what `parse` does."""
    tree = parse(source)
    return ParsedPlan(source, tree, PlanNames(tree, tools))


def is_builtin(name: str) -> bool:
    """Whether a bare name means something of Python's own."""
    return name in _BUILTIN_NAMES


def imports_door(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether an import asks for `tools` or `mcp`, which every plan has without it."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").partition(".")[0] in (TOOLS, CLIENT)
    return alias.name.partition(".")[0] in (TOOLS, CLIENT)


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `root` that run with it: not those of functions defined inside."""
    waiting = list(ast.iter_child_nodes(root))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ScopeNode | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
