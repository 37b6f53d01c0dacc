"""Tool calls in what a model wrote: `<tool_call>` blocks, fenced JSON, or JSON by itself.

As lenient as the reading of plans is: a call counts however it is wrapped.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from core.values import Json, JsonObject

MARK = "<tool_call>"

CALLS_MAX = 20
"""More calls in one message are a loop."""

_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


@dataclass(frozen=True)
class WrittenCall:
    """A function's name, and the arguments as they were written."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True)
class Unreadable:
    """Something meant as a call that is none, and why."""

    why: str


def calls_in(text: str) -> list[WrittenCall | Unreadable]:
    """The calls of one message in order; empty if it is an answer."""
    found: list[WrittenCall | Unreadable] = []
    blocks = _BLOCK.findall(text)
    if not blocks:
        found += _calls_of(_objects(text))
    for block in blocks[:CALLS_MAX]:
        calls = list(_calls_of(_objects(block)))
        found += calls or [Unreadable(_complaint(block))]
    return found[:CALLS_MAX]


def _calls_of(objects: Iterator[JsonObject]) -> Iterator[WrittenCall]:
    for value in objects:
        inner = value.get("function")
        call = inner if isinstance(inner, dict) else value
        name = call.get("name")
        arguments = call.get("arguments", call.get("parameters"))
        if isinstance(arguments, str):
            arguments = _parsed(arguments)
        if isinstance(name, str) and isinstance(arguments, dict):
            yield WrittenCall(name, arguments)


def _objects(text: str) -> Iterator[JsonObject]:
    """The outermost JSON objects of a text, those of lists too."""
    decoder = json.JSONDecoder()
    start, tries = text.find("{"), 0
    while start >= 0 and tries < 1_000:
        tries += 1
        try:
            value, end = cast("tuple[Json, int]", decoder.raw_decode(text, start))
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = text.find("{", end)


def _parsed(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _complaint(block: str) -> str:
    try:
        json.loads(block)
    except json.JSONDecodeError as error:
        return f"the call is not JSON: {error.msg} at character {error.pos}"
    except (ValueError, RecursionError):
        return "the call is not JSON"
    return 'a call is an object with "name" and "arguments"'
