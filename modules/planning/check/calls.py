"""What is certainly wrong with the names and arguments of a plan's tool calls."""

import ast
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from core.base.text import shorten
from core.errors import CallRefused
from core.tools.schema_check import argument_check
from core.tools.spec import ToolSpec, as_identifier
from core.values import Json, JsonObject
from modules.planning.names import CALL_TOOL, CLIENT, TOOLS, PlanNames
from modules.sandbox.language import MAX_LINE_CHARACTERS, SEARCH
from modules.sandbox.values import NotJson, TooLarge, to_json

_JOINT_CONDITIONS: Final = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "dependencies", "dependentRequired"),
        *("dependentSchemas", "unevaluatedProperties"),
    }
)
"""Conditions on an object as a whole: nothing certain can be said of one argument alone."""

MAX_LITERAL_BYTES: Final = 64 * 1024
"""Larger than any literal of a plan that is looked at."""

_Key = TypeVar("_Key", int, str)

SHOWN_NAME_CHARACTERS = 100
"""How much of a tool's name a message quotes, where the plan made it up."""

IN_PYTHON = "compute it in plain Python (20 ** 3, math.sqrt(2)) if it can be computed"
"""What is said first where a plan made up a tool that is spelt like no other."""

OR_ANSWER = "where neither helps, return what you know after FINAL_ANSWER:"


def check_literals(
    tool: ToolSpec, args: Sequence[ast.expr], kwargs: Mapping[str, ast.expr]
) -> None:
    """Check the literals among a call's arguments, which are known to bind.

    Raises:
        CallRefused: one doesn't fit, or all are there and don't fit together.
    """
    by_position = [*_literals(enumerate(args))]
    by_name = dict(_literals(kwargs.items()))
    if len(by_position) == len(args) and len(by_name) == len(kwargs):
        bound = tool.bind([value for _, value in by_position], by_name)
        argument_check(tool).checked(bound)
    elif not tool.takes_whole:
        _check_each(tool, dict(by_position), by_name)


def check_raw_literals(tool: ToolSpec, given: ast.Dict) -> None:
    """Check the dict of `mcp.call_tool(name, {…})` where all of it is literal.

    Raises:
        CallRefused: it doesn't fit.
    """
    for _, arguments in _literals([(0, given)]):
        if isinstance(arguments, dict):
            argument_check(tool).checked(tool.bind_raw(arguments))


def _check_each(tool: ToolSpec, by_position: dict[int, Json], by_name: dict[str, Json]) -> None:
    """Judge single arguments, where the schema has a say about single ones."""
    if tool.arguments_schema.keys() & _JOINT_CONDITIONS:
        return
    names = {p.argument: p.name for p in tool.parameters}
    given: JsonObject = {tool.parameters[at].name: value for at, value in by_position.items()}
    given |= {names.get(argument, argument): value for argument, value in by_name.items()}
    argument_check(tool).check_known(given if tool.wrapper is None else {tool.wrapper: given})


def _literals(expressions: Iterable[tuple[_Key, ast.expr]]) -> Iterator[tuple[_Key, Json]]:
    for key, expression in expressions:
        try:
            yield key, to_json(ast.literal_eval(expression), max_bytes=MAX_LITERAL_BYTES)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue  # no literal
        except (NotJson, TooLarge):
            continue  # the sandbox has words for it


def tool_mistake(node: ast.AST, names: PlanNames) -> str | None:
    """What is certainly wrong with one use of a tool, in words for the model."""
    match node:
        case ast.Call():
            return _call_mistake(node, names)
        case ast.Attribute(ctx=ast.Load()):
            return _name_mistake(node, names)
        case ast.Subscript(value=ast.Name(id="tools" | "mcp" as owner)) if names.is_ours(owner):
            return f"{owner} can't be indexed; write await {_example(names)}"
        case _:
            return None


def _name_mistake(node: ast.Attribute, names: PlanNames) -> str | None:
    """What is wrong with `tools.x`; nothing if it is a tool, a server, or not ours to judge."""
    if (wrong := _attribute_mistake(node, names)) is not None:
        return wrong
    path = names.tool_path(node)
    if path is None or path in names.tools:
        return None
    if path in names.servers:
        return _called_server(node, path, names)
    if (hidden := names.tools.lookup(path)) is not None:
        return None if names.searches else names.tools.not_offered(hidden)
    server, _, wanted = path.rpartition(".")
    offered = {
        names.tools.plan_name(tool): tool.identifier
        for tool in names.tools
        if server in ("", as_identifier(tool.server))
    }
    known = {names.tools.plan_name(tool): tool.identifier for tool in names.tools.known}
    shared = [name for name, bare in known.items() if bare == path]
    if shared:
        return f"several servers offer {path}; write {' or '.join(map(_spelled, shared))}"
    if (named := _named_in_call(node, names)) is not None:
        return f"there is no {TOOLS}.{path}; write await {named}"
    alike = [
        tool for tool in names.tools.spelt_alike(wanted) if names.tools.plan_name(tool) in offered
    ]
    if alike:
        hint = f"did you mean {', '.join(_spelled(names.tools.plan_name(t)) for t in alike)}?"
    else:
        hint = f"{_python_for(wanted)}; {_offer(list(offered))}; {OR_ANSWER}"
    return f"there is no {TOOLS}.{shorten(path, SHOWN_NAME_CHARACTERS)}; {hint}"


def _python_for(wanted: str) -> str:
    """How Python computes what a made-up tool is called after."""
    for module in (math, statistics):
        if wanted in dir(module) and not wanted.startswith("_"):
            name = module.__name__
            return f"Python has it: import {name}, then {name}.{wanted}(…)"
    return IN_PYTHON


def _called_server(node: ast.Attribute, server: str, names: PlanNames) -> str | None:
    """`tools.weather(…)`, where that is the name of a server."""
    call = names.parents[node]
    if not isinstance(call, ast.Call) or call.func is not node:
        return None
    own = [tool for tool in names.tools if as_identifier(tool.server) == server]
    return f"{TOOLS}.{server} is a server and no tool; {_offer([*map(names.tools.plan_name, own)])}"


def _attribute_mistake(node: ast.Attribute, names: PlanNames) -> str | None:
    """`mcp.x`, and what stands behind a tool as if it were an object."""
    name = shorten(node.attr, SHOWN_NAME_CHARACTERS)
    match node.value:
        case ast.Name(id="mcp") if names.is_ours(CLIENT) and node.attr not in (CALL_TOOL, SEARCH):
            instead = f"{CLIENT}.{CALL_TOOL}('tool_name', {{'argument': value}})"
            return f"there is no {CLIENT}.{name}; write await {instead}"
        case ast.Attribute() as tool if (path := names.tool_path(tool)) is not None:
            known = names.tools.get(path)
            is_dunder = node.attr.startswith("__")
            if known is None or is_dunder or path in names.servers:
                return None
            spelled = _spelled(names.tools.plan_name(known))
            return (
                f"{spelled} is a function and has no .{name}; write await {_call_of(known, names)}"
            )
        case _:
            return None


def _named_in_call(called: ast.expr, names: PlanNames) -> str | None:
    """The call that `tools.call("add", …)` means: its first argument names a tool on offer."""
    match names.parents[called]:
        case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if func is called:
            tool = names.tools.get(name)
            return _call_of(tool, names) if tool is not None else None
        case _:
            return None


def _call_of(tool: ToolSpec, names: PlanNames) -> str:
    """How a plan calls a tool: `tools.add(a=…, b=…)`, the required arguments only."""
    required = [f"{p.argument}=…" for p in tool.parameters if p.required]
    call = f"{_spelled(names.tools.plan_name(tool))}({', '.join(required)})"
    return shorten(call, MAX_LINE_CHARACTERS)


def _example(names: PlanNames) -> str:
    """A call of the first tool on offer."""
    return next((_call_of(tool, names) for tool in names.tools), f"{TOOLS}.name(argument=value)")


def _spelled(name: str) -> str:
    return f"{TOOLS}.{name}"


def _offer(names: list[str]) -> str:
    """The tools on offer, as many as a line takes."""
    return f"on offer: {shorten(', '.join(map(_spelled, names)), MAX_LINE_CHARACTERS) or 'nothing'}"


def _call_mistake(call: ast.Call, names: PlanNames) -> str | None:
    """What is wrong with the arguments of a call, where all of them are in sight."""
    try:
        if names.is_raw_call(call):
            _check_raw(call, names)
        elif (tool := names.called_tool(call)) is not None:
            if not names.tools.offers(tool) and not names.searches:
                return names.tools.not_offered(tool)
            _check(call, tool)
        elif isinstance(call.func, ast.Name) and call.func.id == TOOLS and names.is_ours(TOOLS):
            meant = _named_in_call(call.func, names) or _example(names)
            return f"{TOOLS} is no function; write await {meant}"
    except CallRefused as refused:
        return str(refused)
    return None


def _check(call: ast.Call, tool: ToolSpec) -> None:
    """Bind a call's arguments by name, with stand-ins for their values; then look at literals."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    kwargs: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            return
        kwargs[keyword.arg] = keyword.value
    wrapped = not call.args and [*kwargs] == [tool.wrapper]  # depends on what it holds
    if not tool.takes_whole and not wrapped:
        tool.bind([None] * len(call.args), dict.fromkeys(kwargs))
    check_literals(tool, call.args, kwargs)


def _check_raw(call: ast.Call, names: PlanNames) -> None:
    """Check `mcp.call_tool("name", {"key": …})` where name and keys are written out."""
    match call.args:
        case [ast.Constant(value=str() as name)]:
            _raw_tool(name, names)
        case [ast.Constant(value=str() as name), ast.Dict(keys=keys) as given]:
            tool = _raw_tool(name, names)
            written = [k.value for k in keys if isinstance(k, ast.Constant)]
            texts: dict[str, Json] = {key: None for key in written if isinstance(key, str)}
            if len(written) == len(keys) and len(texts) == len(keys):
                tool.bind_raw(texts)
                check_raw_literals(tool, given)
        case _:
            pass


def _raw_tool(name: str, names: PlanNames) -> ToolSpec:
    """The tool that a raw call names; one that isn't on offer only in a plan that searches."""
    found = names.tools.lookup(name) if names.searches else None
    return found or names.tools.resolve(name)
