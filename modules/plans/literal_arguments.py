"""Arguments that stand in a plan as they are (`a="five"`), held against the tool's schema.

The words are those of the door, which checks all arguments again when the call is made. Of a call
with other arguments beside them each literal is judged for itself.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from core.argument_check import argument_check
from core.errors import CallRefused
from core.schema_check import LinearPatterns
from core.schema_faults import Fault, Place
from core.schema_walk import walk_schema
from core.tool_spec import ToolSpec
from core.values import Json, JsonObject
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
    wrapper = () if tool.wrapper is None else (tool.wrapper,)
    whole: JsonObject = given if tool.wrapper is None else {tool.wrapper: given}
    for fault in walk_schema(tool.input_schema, whole, LinearPatterns()).faults:
        place = fault.place[len(wrapper) :]
        if place and place[0] in given and not _is_put_right(fault, place, tool, given):
            argument = next((a for a, n in names.items() if n == place[0]), str(place[0]))
            inner = "".join(f"[{part!r}]" for part in place[1:])
            raise CallRefused(f"{tool.name}(): argument '{argument}{inner}' {fault.words}")


def _is_put_right(fault: Fault, place: Place, tool: ToolSpec, given: JsonObject) -> bool:
    """Whether the door mends it: text that spells a number, None for what may be left out."""
    if fault.meant is not None:
        return True
    required = {p.name for p in tool.parameters if p.required}
    return len(place) == 1 and given[str(place[0])] is None and place[0] not in required


def _literals(expressions: Iterable[tuple[_Key, ast.expr]]) -> Iterator[tuple[_Key, Json]]:
    for key, expression in expressions:
        try:
            yield key, to_json(ast.literal_eval(expression), max_bytes=MAX_LITERAL_BYTES)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue  # no literal
        except (NotJson, TooLarge):
            continue  # the door has words for it
