"""What a plan's text says before it runs: its tree, its names, the tools it calls; and repairs."""

import ast
import builtins
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import TypeAlias

from core.base.frozen import frozen
from core.base.text import shorten
from core.run.working_memory import MEMORY
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec, as_identifier
from modules.planning.edits import FORMATTED_ARE_MISPLACED, Edit, PlanText
from modules.sandbox.language import ENTRY_POINT, MAX_PARSED_CHARACTERS, SEARCH, NotParsed, parse

TOOLS = "tools"
CLIENT = "mcp"
CALL_TOOL = "call_tool"

PHRASE_CHARACTERS = 120
"""Longest phrase about one repair: it quotes names that the plan chose."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = FunctionNode | ast.Lambda
Place: TypeAlias = ast.expr | ast.stmt

_BUILTIN_NAMES = frozenset(dir(builtins))

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

_VALUE_MODULES = ("json", "math", "asyncio")


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
        self.assigned = {MEMORY}
        self.nodes: list[ast.AST] = []
        self._star_import = False
        self._bound_by = defaultdict[str, list[ast.AST]](list)
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
            for name in bound_names(node):
                self._bound_by[name].append(node)
            self._note(node)
        self.servers = {as_identifier(tool.server) for tool in tools.known}
        self.searches = any(self.is_search(n) for n in self.nodes if isinstance(n, ast.Call))

    def bound_by(self, name: str) -> tuple[ast.AST, ...]:
        """Every node that binds `name`, whatever its scope, in the order of the tree.

        A `del` and a `global` count too: after them nothing is certain.
        """
        return tuple(self._bound_by.get(name, ()))

    def binds(self, name: str) -> bool:
        """Whether anything in the plan binds `name`; a star import may bind all."""
        return name in self._bound_by or self._star_import

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
        return path if self.is_ours(TOOLS) and not is_search else None

    def is_ours(self, name: str) -> bool:
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
            case ast.Attribute(value=ast.Name(id=("tools" | "mcp") as owner), attr=name):
                may_be = owner == CLIENT or not self.tools.has_name(SEARCH)
                return name == SEARCH and may_be and self.is_ours(owner)
            case _:
                return False

    def is_module(self, name: str) -> bool:
        """Whether nothing but imports binds a name."""
        return all(isinstance(node, ast.Import) for node in self.bound_by(name))

    def is_raw_call(self, call: ast.Call) -> bool:
        """Whether it is `mcp.call_tool(…)`."""
        match call.func:
            case ast.Attribute(value=ast.Name(id="mcp"), attr="call_tool"):
                return self.is_ours(CLIENT)
            case _:
                return False

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

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound = [_bound_name(a) for a in aliases if not imports_ours(node, a)]
                self._star_import = self._star_import or "*" in bound
                self.own.update(name for name in bound if name != "*")
            case ast.Name(id=name, ctx=ast.Store()):
                (self.assigned if self._gets_plain_value(node) else self.own).add(name)
            case ast.Attribute(value=ast.Name(id=("tools" | "mcp") as name), ctx=ast.Store()):
                self.own.add(name)  # the plan changes ours: nothing is certain behind it
            case ast.ExceptHandler(name=str() as name):
                self.assigned.add(name)
            case ast.Name() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                self.own.update(bound_names(node))

    def _gets_plain_value(self, name: ast.Name) -> bool:
        """Whether what a name is bound to here is certainly no function."""
        node, is_item = self.parents[name], False
        while isinstance(node, ast.Tuple | ast.List | ast.Starred):
            node, is_item = self.parents[node], True
        match node:
            case ast.Assign(value=value) | ast.NamedExpr(value=value):
                return self._is_plain(value, or_holds_more=not is_item)
            case ast.AnnAssign(value=value):
                return value is None or self._is_plain(value, or_holds_more=True)
            case ast.For(iter=values) | ast.comprehension(iter=values):
                return self._is_plain(values)
            case _:
                return isinstance(node, ast.AugAssign)

    def _is_plain(self, node: ast.expr, *, or_holds_more: bool = False) -> bool:
        """Whether an expression is certainly no function; it may hold some if `or_holds_more`."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
                return True
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.ListComp():
                return or_holds_more
            case ast.Await(value=value) | ast.Subscript(value=value):
                return self._is_plain(value)
            case ast.BoolOp(values=values):
                return all(map(self._is_plain, values))
            case ast.Call(func=ast.Name(id=name)) if name in SCALAR_BUILTINS:
                return True
            case ast.Call(func=ast.Attribute(value=owner)):
                is_module = isinstance(owner, ast.Name) and owner.id in _VALUE_MODULES
                return is_module or self._looks_like_tool_call(node) or self._is_plain(owner)
            case ast.Call():
                return self._looks_like_tool_call(node)
            case _:
                return False

    def _looks_like_tool_call(self, call: ast.Call) -> bool:
        """Whether it calls a tool's bare name, a search, or something of `tools` or `mcp`."""
        func = call.func
        if isinstance(func, ast.Name):
            known = func.id == SEARCH or self.tools.lookup(func.id) is not None
            return known and not is_builtin(func.id)
        while isinstance(func, ast.Attribute):
            func = func.value
        return isinstance(func, ast.Name) and func.id in (TOOLS, CLIENT)


class ParsedPlan:
    """A plan's text, its tree, and what its names mean.

    Attributes:
        source: The text; its lines end with a line feed alone.
        text: The same, addressed as the tree does.
    """

    def __init__(self, source: str, tree: ast.Module, tools: ToolCatalog) -> None:
        """Look up the names of a tree among the tools."""
        self.source = source
        self.text = PlanText(source)
        self.tree = tree
        self.names = PlanNames(tree, tools)

    def is_placed_right(self, node: Place) -> bool:
        """Whether the tree says truly where a node is; in f-strings older Pythons don't always."""
        if not FORMATTED_ARE_MISPLACED or not any(
            isinstance(parent, ast.JoinedStr) for parent in self.names.ancestors(node)
        ):
            return True
        try:
            there = parse(f"({self.text.between(*self.text.span(node)).decode()}\n)").body
        except (SyntaxError, ValueError, NotParsed, RecursionError):
            return False
        return [ast.dump(found) for found in there] == [f"Expr(value={ast.dump(node)})"]


@frozen
class Repair:
    """One mistake put right: where, in words, and how."""

    place: Place
    words: str
    edits: tuple[Edit, ...]

    @property
    def phrase(self) -> str:
        """What was done, with the line."""
        return f"{shorten(self.words, PHRASE_CHARACTERS)} (line {self.place.lineno})"


def read_plan(
    source: str, tools: ToolCatalog, *, most_characters: int = MAX_PARSED_CHARACTERS
) -> ParsedPlan:
    """Parse a plan and look up its names among the tools; raises what `parse` does."""
    return ParsedPlan(source, parse(source, most_characters=most_characters), tools)


def is_builtin(name: str) -> bool:
    """Whether a bare name means something of Python's own."""
    return name in _BUILTIN_NAMES


def imports_ours(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether an import asks for `tools` or `mcp`, which every plan has without it."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").partition(".")[0] in (TOOLS, CLIENT)
    return alias.name.partition(".")[0] in (TOOLS, CLIENT)


def takes_nothing(function: FunctionNode) -> bool:
    """Whether a function has no parameters that must be given."""
    arguments = function.args
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return needed <= 0 and None not in arguments.kw_defaults


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `root` that run with it, in their order: not those of functions inside."""
    waiting = [*reversed([*ast.iter_child_nodes(root)])]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ScopeNode | ast.ClassDef):
            waiting.extend(reversed([*ast.iter_child_nodes(node)]))


def bound_names(node: ast.AST) -> list[str]:
    """The names that a node binds; a `del` and a `global` count too, and `*` of an import."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [_bound_name(alias) for alias in aliases]
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


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
