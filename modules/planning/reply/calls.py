"""Tool calls that a model wrote as calls, not as Python, turned into a plan that makes them."""

import ast
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NoReturn, cast

from core.ports import NativeToolCall
from core.tools.catalog import ToolCatalog
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from core.values import Json, JsonObject
from modules.planning.names import CALL_TOOL, CLIENT, TOOLS
from modules.planning.reply.code import plan_of_code
from modules.planning.reply.forms import (
    answer_of_call,
    call_in_python,
    code_of_call,
    mended_objects,
    tool_meant,
)
from modules.planning.reply.own_words import LOOKED_CHARACTERS, is_refused, is_reported
from modules.sandbox.language import ENTRY_POINT, NotParsed, parse
from modules.tools import json_containers

NAME_CHARACTERS_MAX: Final = 200
"""How much of a tool's name is written into a plan; no tool's is longer."""

CALLS_MAX: Final = 50
"""How many calls one reply may hold; a plan may make far fewer."""

TRIES_MAX: Final = 200
"""How many brackets of a reply are tried as the beginning of JSON."""

READ_CHARACTERS_MAX: Final = 256 * 1024
"""How many characters the JSON reader may go through in all, those of failed tries included."""

CALL_TEXT_CHARACTERS_MAX: Final = 500
"""Longest text in JSON that is read as a call."""

CALL_TEXTS_MAX: Final = 10
"""How many such texts are read."""

LEVELS_MAX: Final = 5
"""How many lists and wrappers may stand around a call."""

_NAME_KEYS: Final = ("name", "tool", "tool_name", "function", "function_name", "action")

_ARGUMENT_KEYS: Final = (
    *("arguments", "args", "parameters", "params", "input", "inputs", "kwargs", "action_input"),
    "tool_input",
)

_TEXT_KEYS: Final = ("call", "code", "expression", "tool_call", "function_call")

_OTHER_KEYS: Final = frozenset({"id", "type", "description", "reason", "thought", "call_id"})


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_STRICT: Final = json.JSONDecoder(parse_constant=_refuse)
"""Takes no NaN, as JSON has it."""


def plan_of_calls(calls: Sequence[NativeToolCall], tools: ToolCatalog) -> str | None:
    """A plan that makes these calls in their order; None without calls that Python can write.

    What they give goes on to the next step: only the model knows what it wanted with it. Who
    writes calls waits for their results, and a first call is often no more than a first step.
    """
    if not calls:
        return None
    if len(calls) == 1:
        if (code := code_of_call(calls[0], tools)) is not None:
            return plan_of_code(code, tools, alone=False) or code
        if (said := answer_of_call(calls[0], tools)) is not None:
            return f"async def {ENTRY_POINT}():\n    return {f'{FINAL_ANSWER} {said}'!r}"
    try:
        awaited = [_call_text(call, tools) for call in calls]
    except (RecursionError, ValueError):  # nested too deeply; integers that nobody can print
        return None
    if len(calls) == 1:
        lines = [f"result = await {awaited[0]}", f'return f"{FURTHER_PROCESSING} {{result}}"']
    else:
        names = [f"result_{number}" for number in range(1, len(calls) + 1)]
        lines = [f"{name} = await {text}" for name, text in zip(names, awaited, strict=True)]
        labels = [call.name[:NAME_CHARACTERS_MAX] for call in calls]
        pairs = zip(labels, names, strict=True)
        shown = ", ".join(f"({label!r}, {name})" for label, name in pairs)
        lines += [
            f"results = [{shown}]",
            r'told = "\n".join([f"{name}: {value}" for name, value in results])',
            f'return f"{FURTHER_PROCESSING} {{told}}"',
        ]
    return "\n".join([f"async def {ENTRY_POINT}():", *(f"    {line}" for line in lines)])


def _call_text(call: NativeToolCall, tools: ToolCatalog) -> str:
    """The call as a plan writes it.

    Raises:
        ValueError, RecursionError: a value can't be written.
    """
    tool = tool_meant(call.name, tools)
    if tool is None:
        return _unknown_call_text(call)
    path = f"{TOOLS}.{tools.plan_name(tool)}"
    if tool.takes_whole:
        return f"{path}({_literal(call.arguments)})"
    spelled = {p.name: p.argument for p in tool.parameters}
    named: list[str] = []
    others: dict[str, Json] = {}
    for key, value in call.arguments.items():
        argument = spelled.get(key, key)
        if argument.isascii() and argument.isidentifier() and argument in spelled.values():
            named.append(f"{argument}={_literal(value)}")
        else:
            others[key] = value
    if others:
        named.append(f"**{_literal(others)}")
    return f"{path}({', '.join(named)})"


def _unknown_call_text(call: NativeToolCall) -> str:
    """A call of a tool that doesn't exist, so that the check names the nearest ones."""
    name = call.name[:NAME_CHARACTERS_MAX]
    return f"{CLIENT}.{CALL_TOOL}({name!r}, {_literal(call.arguments)})"


def _literal(value: Json) -> str:
    """A value as Python writes it; numbers that have no literal as `float('inf')`."""
    match value:
        case dict():
            return "{" + ", ".join(f"{k!r}: {_literal(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case _:
            return repr(value)


def json_calls(text: str, tools: ToolCatalog) -> tuple[NativeToolCall, ...]:
    """The calls that stand in a text as JSON, in order; none if it holds none.

    A form that says by its keys that it is a call may name any tool; other objects count where
    they name one that is known.
    """
    strict = json_containers(text, TRIES_MAX, READ_CHARACTERS_MAX, _STRICT)
    return _calls_among(strict, text, tools) or _calls_among(mended_objects(text), text, tools)


def _calls_among(
    values: Iterable[tuple[str, Json]], text: str, tools: ToolCatalog
) -> tuple[NativeToolCall, ...]:
    """The calls in values as they stand in a text, but for those that it reports or refuses."""
    found: list[NativeToolCall] = []
    texts_left, at = CALL_TEXTS_MAX, 0
    for written, value in values:
        place = text.find(written, at)
        before, at = text[max(place - LOOKED_CHARACTERS, 0) : place], place + len(written)
        if is_reported(before) or is_refused(text[at : at + LOOKED_CHARACTERS]):
            continue
        for part in _calls(value, tools, LEVELS_MAX):
            call = part if isinstance(part, NativeToolCall) else None
            if isinstance(part, str) and texts_left > 0:
                texts_left -= 1
                call = _call_in_text(part, tools)
            found += [call] if call is not None else []
        if len(found) >= CALLS_MAX:
            break
    return tuple(found[:CALLS_MAX])


def _calls(value: Json, tools: ToolCatalog, levels: int) -> Iterator[NativeToolCall | str]:
    """The calls in one JSON value, and the texts in it that may be some."""
    if levels == 0:
        return
    match value:
        case list():
            for item in value[:CALLS_MAX]:
                yield from _calls(item, tools, levels - 1)
        case dict():
            if (call := _call(value, tools)) is not None:
                yield call
                return
            for key, inner in [*value.items()][:CALLS_MAX]:
                if not isinstance(inner, str) or key in _TEXT_KEYS:
                    yield from _calls(inner, tools, levels - 1)
        case str() if value.endswith(")") and len(value) <= CALL_TEXT_CHARACTERS_MAX:
            yield value
        case _:
            pass


def _call(value: JsonObject, tools: ToolCatalog) -> NativeToolCall | None:
    """The call that an object is, if it is one."""
    if isinstance(inner := value.get("function"), dict):
        return _call(inner, tools)
    key = next((key for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if key is None:
        return _call_by_key(value, tools)
    name = str(value[key])
    for word in _ARGUMENT_KEYS:
        if word in value and (given := _arguments(value[word], name, tools)) is not None:
            return NativeToolCall(name, given)
    rest = {k: v for k, v in value.items() if k != key and k not in _OTHER_KEYS}
    known = tool_meant(name, tools) is not None
    return NativeToolCall(name, rest) if known and not set(rest) & {*_ARGUMENT_KEYS} else None


def _call_by_key(value: JsonObject, tools: ToolCatalog) -> NativeToolCall | None:
    """`{"add": {"a": 1, "b": 2}}`, where that is the name of a known tool."""
    match [*value.items()]:
        case [(name, given)] if tool_meant(name, tools) is not None:
            arguments = _arguments(given, name, tools)
            return None if arguments is None else NativeToolCall(name, arguments)
        case _:
            return None


def _call_in_text(text: str, tools: ToolCatalog) -> NativeToolCall | None:
    """`"multiply(17, 23)"`: a call of a known tool with literal arguments."""
    try:
        match parse(text).body:
            case [ast.Expr(value=value)]:
                return call_in_python(value, tools)
            case _:
                return None
    except (SyntaxError, ValueError, NotParsed, RecursionError):
        return None


def _arguments(given: Json, name: str, tools: ToolCatalog) -> JsonObject | None:
    """Arguments as an object: given as such, as JSON text (OpenAI), or in order in a list."""
    if isinstance(given, str):
        try:
            given = cast("Json", json.loads(given, parse_constant=_refuse))
        except (ValueError, RecursionError):
            return None
    if isinstance(given, dict):
        return given
    tool = tool_meant(name, tools)
    if not isinstance(given, list) or tool is None or len(given) > len(tool.parameters):
        return None
    return {p.name: value for p, value in zip(tool.parameters, given, strict=False)}
