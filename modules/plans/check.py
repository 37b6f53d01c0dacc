"""Checks a plan before it runs, so that the model gets a precise message at no cost.

Only what is certain is reported. It is no wall: whatever passes here still meets the sandbox,
which resolves names and binds arguments again.
"""

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from core.catalog import NEAREST_NAMES_SHOWN, ToolCatalog
from core.errors import CallRefused
from core.tool_spec import ToolSpec
from core.turn import FailureKind, PlanFailure
from core.values import Json
from modules.plans.names import TOOLS, FunctionNode, NotParsed, PlanNames, TooLong, parse
from modules.plans.repair import normalise_plan
from modules.plans.text import MAX_LINE_CHARACTERS, line_text, shorten
from modules.sandbox.prelude import ENTRY_POINT, NO_SOLVE

__all__ = ["check_plan", "normalise_plan"]

_F_STRING = re.compile(r"\b[rR]?[fF][rR]?[\"']")


def check_plan(source: str, tools: ToolCatalog) -> PlanFailure | None:
    """The first thing that is certainly wrong with a plan, by line; None if nothing is.

    Looks at syntax, at `solve()`, at the names after `tools.`, and at the arguments of every call
    that shows them all.
    """
    try:
        tree = parse(source)
    except SyntaxError as error:
        return None if _may_be_newer_python(source) else _syntax_failure(error, source)
    except TooLong:
        return None  # the sandbox will say what it needs to
    except NotParsed as error:
        return PlanFailure("syntax", str(error))
    names = PlanNames(tree, tools)
    if (failure := _check_entry_point(tree, names, source)) is not None:
        return failure
    for node in sorted(_tool_uses(names), key=lambda node: node.lineno):
        if (message := _mistake(node, names)) is not None:
            return _failure_at("tool", message, node.lineno, source)
    return None


def _check_entry_point(tree: ast.Module, names: PlanNames, source: str) -> PlanFailure | None:
    """`solve` must be bound at top level (also under `if` or `try`) and take no arguments."""
    outside = list(_top_level(tree))
    if any(map(_binds_entry_point, outside)) or any(map(_declares_it_global, names.nodes)):
        return None
    functions = [
        node for node in outside if isinstance(node, FunctionNode) and node.name == ENTRY_POINT
    ]
    if not functions:
        return PlanFailure("syntax", NO_SOLVE)
    arguments = functions[-1].args
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    if needed > 0 or None in arguments.kw_defaults:
        message = f"{ENTRY_POINT}() must take no arguments"
        return _failure_at("syntax", message, functions[-1].lineno, source)
    return None


def _binds_entry_point(node: ast.AST) -> bool:
    """Whether it gives the name to a value, of which nothing more is known here."""
    return isinstance(node, ast.Name) and node.id == ENTRY_POINT and isinstance(node.ctx, ast.Store)


def _declares_it_global(node: ast.AST) -> bool:
    """Whether it lets a function bind `solve` for the module."""
    return isinstance(node, ast.Global) and ENTRY_POINT in node.names


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Everything outside of functions and classes."""
    waiting: list[ast.AST] = [*reversed(tree.body)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _tool_uses(names: PlanNames) -> Iterator[ast.Call | ast.Attribute]:
    """Where a plan may name a tool."""
    for node in names.nodes:
        if isinstance(node, ast.Call | ast.Attribute):
            yield node


def _mistake(node: ast.Call | ast.Attribute, names: PlanNames) -> str | None:
    """What is certainly wrong with one use of a tool, in words for the model."""
    if isinstance(node, ast.Call):
        return _call_mistake(node, names)
    return _name_mistake(node, names) if isinstance(node.ctx, ast.Load) else None


def _name_mistake(node: ast.Attribute, names: PlanNames) -> str | None:
    """What is wrong with `tools.x`; nothing if it is a tool, a server, or not ours to judge."""
    path = names.tool_path(node)
    if path is None or path in names.servers or path in names.tools:
        return None
    if (hidden := names.tools.lookup(path)) is not None:
        return None if names.searches else names.tools.not_offered(hidden)
    offered = {names.tools.plan_name(tool): tool.identifier for tool in names.tools}
    known = {names.tools.plan_name(tool): tool.identifier for tool in names.tools.known}
    shared = [name for name, bare in known.items() if bare == path]
    if shared:
        return f"several servers offer {path}; write {' or '.join(map(_spelled, shared))}"
    wanted = path.rpartition(".")[2]
    near = difflib.get_close_matches(wanted, [*offered.values()], NEAREST_NAMES_SHOWN, cutoff=0.5)
    hints = [_spelled(name) for name, bare in offered.items() if bare in near]
    hint = f"did you mean {', '.join(hints)}?" if hints else _offer(list(offered))
    return f"there is no {TOOLS}.{path}; {hint}"


def _spelled(name: str) -> str:
    return f"{TOOLS}.{name}"


def _offer(names: list[str]) -> str:
    """The tools on offer, as many as a line takes."""
    return f"on offer: {shorten(', '.join(map(_spelled, names)), MAX_LINE_CHARACTERS) or 'nothing'}"


def _call_mistake(call: ast.Call, names: PlanNames) -> str | None:
    """What is wrong with the arguments of a call, where all of them are in sight."""
    try:
        if names.is_raw_call(call):
            _bind_raw(call, names)
        elif (tool := names.called_tool(call)) is not None:
            if not names.tools.offers(tool) and not names.searches:
                return names.tools.not_offered(tool)
            _bind(call, tool)
    except CallRefused as refused:
        return str(refused)
    return None


def _bind(call: ast.Call, tool: ToolSpec) -> None:
    """Bind a call's arguments by name, with stand-ins for their values."""
    if tool.takes_whole or any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    kwargs: dict[str, Json] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            return
        kwargs[keyword.arg] = None
    tool.bind([None] * len(call.args), kwargs)


def _bind_raw(call: ast.Call, names: PlanNames) -> None:
    """Bind `mcp.call_tool("name", {"key": …})` where name and keys are written out."""
    match call.args:
        case [ast.Constant(value=str() as name)]:
            _raw_tool(name, names)
        case [ast.Constant(value=str() as name), ast.Dict(keys=keys)]:
            tool = _raw_tool(name, names)
            written = [k.value for k in keys if isinstance(k, ast.Constant)]
            texts = [key for key in written if isinstance(key, str)]
            if len(texts) == len(keys):
                tool.bind_raw(dict.fromkeys(texts))
        case _:
            pass


def _raw_tool(name: str, names: PlanNames) -> ToolSpec:
    """The tool that a raw call names; one that isn't on offer only in a plan that searches."""
    found = names.tools.lookup(name) if names.searches else None
    return found or names.tools.resolve(name)


def _may_be_newer_python(source: str) -> bool:
    """Whether only this Python may think it wrong: f-strings were freed in 3.12 (PEP 701).

    The sandbox's parser knows the new form whatever Python runs us, so it shall decide.
    """
    return sys.version_info < (3, 12) and _F_STRING.search(source) is not None


def _syntax_failure(error: SyntaxError, source: str) -> PlanFailure:
    return _failure_at("syntax", f"SyntaxError: {error.msg}", error.lineno, source)


def _failure_at(kind: FailureKind, message: str, line: int | None, source: str) -> PlanFailure:
    return PlanFailure(kind, message, line, line_text(source, line))
