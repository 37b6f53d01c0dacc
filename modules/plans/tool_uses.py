"""What is certainly wrong with the names and arguments of a plan's tool calls."""

import ast
import difflib

from core.catalog import NEAREST_NAMES_SHOWN
from core.errors import CallRefused
from core.tool_spec import ToolSpec, as_identifier
from core.values import Json
from modules.plans.literal_arguments import check_literals, check_raw_literals
from modules.plans.names import CALL_TOOL, CLIENT, TOOLS, PlanNames
from modules.plans.text import MAX_LINE_CHARACTERS, shorten
from modules.sandbox.prelude import SEARCH

SHOWN_NAME_CHARACTERS = 100
"""How much of a tool's name a message quotes, where the plan made it up."""

NO_TOOL_FITS = (
    "; where no tool fits, compute it in plain Python (20 ** 2, math.sqrt(2)), or return what you "
    "know after FINAL_ANSWER:"
)
"""What is added where a plan made up a tool that is like no other."""

TOOLS_BY_MEANING = 2
"""How many tools a message names for what a made-up name says."""


def tool_mistake(node: ast.AST, names: PlanNames) -> str | None:
    """What is certainly wrong with one use of a tool, in words for the model."""
    match node:
        case ast.Call():
            return _call_mistake(node, names)
        case ast.Attribute(ctx=ast.Load()):
            return _name_mistake(node, names)
        case ast.Subscript(value=ast.Name(id="tools" | "mcp" as door)) if names.has_door(door):
            return f"{door} can't be indexed; write await {_example(names)}"
        case _:
            return None


def _name_mistake(node: ast.Attribute, names: PlanNames) -> str | None:
    """What is wrong with `tools.x`; nothing if it is a tool, a server, or not ours to judge."""
    if (wrong := _door_mistake(node, names)) is not None:
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
    near = difflib.get_close_matches(wanted, [*offered.values()], NEAREST_NAMES_SHOWN)
    hints = [_spelled(name) for name, bare in offered.items() if bare in near]
    hint = f"did you mean {', '.join(hints)}?" if hints else _by_meaning(wanted, server, names)
    hint = hint or _offer(list(offered))
    known = "" if hints else NO_TOOL_FITS
    return f"there is no {TOOLS}.{shorten(path, SHOWN_NAME_CHARACTERS)}; {hint}{known}"


def _by_meaning(wanted: str, server: str, names: PlanNames) -> str:
    """The tools whose descriptions the words of a name fit best: `square` is one use of `power`.

    Where a server was named, only its own tools can be meant.
    """
    words = shorten(wanted, SHOWN_NAME_CHARACTERS).replace("_", " ")
    found = names.tools.search(words, TOOLS_BY_MEANING)
    meant = [t for t in found if names.tools.offers(t)]
    meant = [t for t in meant if server in ("", as_identifier(t.server))]
    shown = [_spelled(names.tools.plan_name(tool)) for tool in meant]
    return f"by its words it may be {' or '.join(shown)}" if shown else ""


def _called_server(node: ast.Attribute, server: str, names: PlanNames) -> str | None:
    """`tools.weather(…)`, where that is the name of a server."""
    call = names.parents[node]
    if not isinstance(call, ast.Call) or call.func is not node:
        return None
    own = [tool for tool in names.tools if as_identifier(tool.server) == server]
    return f"{TOOLS}.{server} is a server and no tool; {_offer([*map(names.tools.plan_name, own)])}"


def _door_mistake(node: ast.Attribute, names: PlanNames) -> str | None:
    """`mcp.x`, and what stands behind a tool as if it were an object."""
    name = shorten(node.attr, SHOWN_NAME_CHARACTERS)
    match node.value:
        case ast.Name(id="mcp") if names.has_door(CLIENT) and node.attr not in (CALL_TOOL, SEARCH):
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


def _named_in_call(node: ast.Attribute, names: PlanNames) -> str | None:
    """The call that `tools.call("add", …)` means: its first argument names a tool on offer."""
    match names.parents[node]:
        case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if func is node:
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
        elif isinstance(call.func, ast.Name) and call.func.id == TOOLS and names.has_door(TOOLS):
            return f"{TOOLS} is no function; write await {_meant_by(call, names)}"
    except CallRefused as refused:
        return str(refused)
    return None


def _meant_by(call: ast.Call, names: PlanNames) -> str:
    match call.args:
        case [ast.Constant(value=str() as name), *_] if (tool := names.tools.get(name)) is not None:
            return _call_of(tool, names)
        case _:
            return _example(names)


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
