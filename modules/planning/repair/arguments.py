"""Slips at the border of a call: all arguments written as one dict, a result parsed once more."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from core.errors import CallRefused
from core.tools.spec import Parameter, ToolSpec
from modules.planning.names import PlanNames
from modules.planning.repair.draft import Draft, Slip

_LOADS_TEXT = "(lambda value: json.loads(value) if isinstance(value, str) else value)"
"""`json.loads` for what may be text."""

_LOADS_NEEDS = frozenset({"isinstance", "str"})


def dicts_of_arguments(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`tools.add({"a": 1, "b": 2})`, where the dict can't be the first argument itself."""
    for node in names.nodes:
        match node:
            case ast.Call(args=[ast.Dict() as given], keywords=[]):
                tool = names.called_tool(node)
                if tool is not None and _holds_all(given, tool):
                    words = f"unpacked the dict of arguments of tools.{names.tools.plan_name(tool)}"
                    yield Slip(given, words, partial(_unpack, given, node))
            case _:
                pass


def parsed_results(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`json.loads(…)` of what a tool gives that promises no type: text, or JSON parsed already."""
    if not _LOADS_NEEDS.isdisjoint(names.own | names.assigned):
        return
    for node in names.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="json"), attr="loads") as loads,
                args=[value],
                keywords=[],
            ) if _is_untyped(value, names):
                yield Slip(node, "left json.loads out where it is no text", partial(_ask, loads))
            case _:
                pass


def _is_untyped(node: ast.expr, names: PlanNames) -> bool:
    """Whether a tool without an output schema certainly gave it."""
    match node:
        case ast.Await(value=ast.Call() as call) | (ast.Call() as call):
            tool = names.called_tool(call)
            return tool is not None and tool.output_schema is None
        case ast.Name(id=name):
            bound = names.bindings.of(name)
            parent = names.parents[bound[0]] if len(bound) == 1 else None
            return (
                isinstance(parent, ast.Assign)
                and isinstance(parent.value, ast.Await | ast.Call)
                and _is_untyped(parent.value, names)
            )
        case _:
            return False


def _ask(loads: ast.Attribute, draft: Draft) -> None:
    draft.rewrite(loads, _LOADS_TEXT)
    draft.replace(loads, ast.parse(_LOADS_TEXT, mode="eval").body)


def _holds_all(given: ast.Dict, tool: ToolSpec) -> bool:
    """Whether the dict's keys are the tool's arguments, and the dict is none of them."""
    keys = [key.value for key in given.keys if isinstance(key, ast.Constant)]
    names = [key for key in keys if isinstance(key, str)]
    if tool.takes_whole or not names or len(names) != len(given.keys):
        return False
    is_argument = _binds(tool, [None], ()) and _may_be_dict(tool.parameters)
    return not is_argument and _binds(tool, (), names)


def _may_be_dict(parameters: Sequence[Parameter]) -> bool:
    """Whether the first argument may be a dict, as far as its schema says a type."""
    kinds = parameters[0].schema.get("type") if parameters else None
    return not isinstance(kinds, str) or kinds == "object"


def _binds(tool: ToolSpec, args: list[None] | tuple[()], names: list[str] | tuple[()]) -> bool:
    try:
        tool.bind(args, dict.fromkeys(names))
    except CallRefused:
        return False
    return True


def _unpack(given: ast.Dict, call: ast.Call, draft: Draft) -> None:
    draft.insert("**", given)
    call.args, call.keywords = [], [ast.keyword(None, given)]
