"""Slips with the names of tools: a tool is meant for certain, and another name is written."""

import ast
from collections.abc import Iterator
from functools import partial
from types import MappingProxyType

from modules.planning.names import CALL_TOOL, CLIENT, TOOLS, PlanNames, is_builtin
from modules.planning.repair.draft import Draft, Slip
from modules.sandbox.language.prelude import AVAILABLE_MODULES, SEARCH

_JSON_WORDS = MappingProxyType({"true": "True", "false": "False", "null": "None"})


def misnamed_tools(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """Places where a tool is meant and named in a way that can't work, or means something else.

    - `remainder = await remainder(…)`: a variable that shadows the tool
    - `tools["add"]`, `mcp.add`, `mcp.tools.add`, `await math.add(…)` for a tool of server math
    - `call_tool(…)` without `mcp.` before it

    And `true`, `false`, `null`, which JSON has in place of Python's words.
    """
    for node in names.nodes:
        path = _meant(node, names)
        if path is not None and isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            is_bare = isinstance(node, ast.Name) and node.id not in _JSON_WORDS
            words = f"{'qualified' if is_bare else 'read'} {_spelled(node)}"
            yield Slip(node, f"{words} as {path}", partial(_rewrite, node, path))


def _meant(node: ast.AST, names: PlanNames) -> str | None:
    """What a node should say instead, where that is certain."""
    match node:
        case ast.Name(id="true" | "false" | "null" as word, ctx=ast.Load()):
            return None if word in names.bindings else _JSON_WORDS[word]
        case ast.Name(ctx=ast.Load()) if _is_called(node, names):
            return _meant_by_name(node, names)
        case ast.Subscript(value=ast.Name(id="tools"), slice=ast.Constant(value=str() as name)):
            return _tool(name, names)
        case ast.Attribute(value=ast.Name(id="mcp"), attr=name) if names.has_door(CLIENT):
            return None if name in (CALL_TOOL, SEARCH) else _tool(name, names)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="mcp"), attr=owner), attr=name):
            path = name if owner == TOOLS else f"{owner}.{name}"
            return _tool(path, names) if names.has_door(CLIENT) else None
        case ast.Attribute(value=ast.Name(id=server), attr=name) if server in names.servers:
            meant = _is_called(node, names) and _means_server(node, server, names)
            return _tool(f"{server}.{name}", names) if meant else None
        case _:
            return None


def _meant_by_name(node: ast.Name, names: PlanNames) -> str | None:
    """Where else to find what is called by a bare name that the plan or Python gives a value."""
    call, name = names.parents[node], node.id
    if not isinstance(call, ast.Call):
        return None
    if name == CALL_TOOL and name not in names.bindings and not names.tools.has_name(name):
        return f"{CLIENT}.{CALL_TOOL}" if names.has_door(CLIENT) else None
    if name not in names.assigned and not is_builtin(name):
        return None
    if names.is_search(call):
        return f"{CLIENT}.{SEARCH}" if names.has_door(CLIENT) else None
    tool = names.called_tool(call)
    if tool is None or not names.has_door(TOOLS):
        return None
    return f"{TOOLS}.{names.tools.plan_name(tool)}"


def _is_called(node: ast.expr, names: PlanNames) -> bool:
    call = names.parents[node]
    return isinstance(call, ast.Call) and call.func is node


def _means_server(node: ast.Attribute, server: str, names: PlanNames) -> bool:
    """Whether `server.tool(…)` can only mean the server, not a module or variable of that name."""
    bound_by = names.bindings.of(server)
    awaited = isinstance(names.parents[names.parents[node]], ast.Await)
    if awaited:  # nothing that a module of the sandbox gives under a tool's name can be awaited
        return all(isinstance(binding, ast.Import) for binding in bound_by)
    return server not in names.bindings and server not in AVAILABLE_MODULES


def _tool(path: str, names: PlanNames) -> str | None:
    """How a plan writes the tool that `path` means, if it means one."""
    tool = names.tools.lookup(path)
    if tool is None or not names.has_door(TOOLS):
        return None
    return f"{TOOLS}.{names.tools.plan_name(tool)}"


def _spelled(node: ast.Name | ast.Attribute | ast.Subscript) -> str:
    """A node as it stands in the plan; only forms that `_meant` knows."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as name)):
            return f"{owner}[{name!r}]"
        case ast.Attribute(value=ast.Attribute() as owner, attr=name):
            return f"{_spelled(owner)}.{name}"
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case _:
            return "a tool"


def _rewrite(node: ast.expr, path: str, draft: Draft) -> None:
    draft.rewrite(node, path)
    draft.replace(node, ast.parse(path, mode="eval").body)
