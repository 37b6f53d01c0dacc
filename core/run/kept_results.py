"""The results that failed plans leave for the retries of their step, so that work is not repeated.

A retry that makes the same call again gets the result that the failed plan got, and nothing is
sent; only of tools that are marked read-only or idempotent (MCP 2025-11-25, "Tool annotations").
Each result is given to a plan once, in the order in which the calls were made: a plan that asks
the same thing once more than the plans before it gets a real answer, so polling is never cheated.

What is kept is a replay of what happened. As soon as a retry sends a call that may change
something, and that no failed plan of the step has sent, results of before may be untrue, and
those that it has not yet taken are forgotten.
"""

import hashlib
import json
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias

from core.base.frozen import frozen
from core.tools.content import ContentBlock, ToolResult, block_texts
from core.tools.spec import ToolSpec
from core.turn import ToolCall
from core.values import Json, JsonObject

KEPT_BYTES_MAX = 64 * 1024 * 1024
"""Memory that the kept results of a step may take, about; beyond it the oldest are forgotten."""

VALUES_WEIGHED_MAX = 5_000
"""How many values of a result are looked at, some milliseconds' worth, to tell its size."""

UNWEIGHED_RESULT_BYTES = 8 * 1024 * 1024
"""What a result counts at least that holds more values than are looked at."""

CallKey: TypeAlias = tuple[str, bytes]
"""Tells calls apart: the tool's qualified name, and a digest of the arguments."""


@frozen
class KeptResult:
    """A call that succeeded, the tool as it was then, and what it answered."""

    tool: ToolSpec
    call: ToolCall
    result: ToolResult


@dataclass(slots=True, eq=False)
class Place:
    """Where the result of one call of a plan belongs, among those of the same call."""

    key: CallKey
    kept: KeptResult | None = None
    weight_bytes: int = 0


class KeptResults:
    """What failed plans of one step have left, and what the plan that runs adds to it."""

    def __init__(self, max_bytes: int = KEPT_BYTES_MAX) -> None:
        """Keep nothing yet, and never much more than `max_bytes`."""
        self._max_bytes = max_bytes
        self._held_bytes = 0
        self._oldest_first: deque[Place] = deque()
        self._left: dict[CallKey, deque[Place]] = {}
        self._own: dict[CallKey, list[Place]] = {}
        self._changes: set[CallKey] = set()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls whose results are held, the oldest first."""
        return tuple(place.kept.call for place in self._oldest_first if place.kept is not None)

    def take(self, tool: ToolSpec, key: CallKey) -> KeptResult | None:
        """The next result of this call that the plan may have in place of a new one.

        None that another definition of the tool gave: then it may mean something else.
        """
        left = self._left.get(key, deque[Place]())
        while left:
            place = left.popleft()
            if place.kept is not None and place.kept.tool == tool:
                self._own.setdefault(key, []).append(place)
                return place.kept
            self._forget(place)
        return None

    def sending(self, tool: ToolSpec, key: CallKey) -> Place:
        """Note that a call is about to be sent, and give the place for its result."""
        if not tool.read_only and key not in self._changes:
            self._changes.add(key)
            for left in self._left.values():
                for place in left:
                    self._forget(place)
            self._left.clear()
        place = Place(key)
        self._own.setdefault(key, []).append(place)
        return place

    def keep(self, place: Place, tool: ToolSpec, call: ToolCall, result: ToolResult) -> None:
        """Hold a result, unless repeating its call may harm, its plan has ended, or it is huge."""
        if not (tool.read_only or tool.idempotent) or place not in self._own.get(place.key, ()):
            return
        weight = weight_bytes(result, call.arguments)
        if weight > self._max_bytes:
            return
        place.kept, place.weight_bytes = KeptResult(tool, call, result), weight
        self._held_bytes += weight
        self._oldest_first.append(place)
        while self._held_bytes > self._max_bytes:
            self._forget(self._oldest_first.popleft())

    def plan_failed(self, useless: Iterable[ToolCall] = ()) -> None:
        """Leave all for the next plan, but for results of calls that the plan recorded as failed.

        Such a call was answered, and the plan could not use the answer or was not there any more.
        """
        unusable = {id(call.arguments) for call in useless}
        for key, places in self._own.items():
            for place in places:
                if place.kept is not None and id(place.kept.call.arguments) in unusable:
                    self._forget(place)
            filled = [place for place in places if place.kept is not None]
            self._left[key] = deque([*filled, *self._left.get(key, ())])
        self._own = {}
        self._oldest_first = deque(p for p in self._oldest_first if p.kept is not None)

    def plan_worked(self) -> None:
        """Forget everything: what comes next is no retry."""
        self._left, self._own = {}, {}
        self._changes.clear()
        self._oldest_first.clear()
        self._held_bytes = 0

    def _forget(self, place: Place) -> None:
        self._held_bytes -= place.weight_bytes
        place.kept, place.weight_bytes = None, 0


def call_key(tool: ToolSpec, arguments: JsonObject) -> CallKey:
    """What the same call has in common: its tool, and its arguments as a server tells them apart.

    So 1, 1.0 and true are three values; the order of an object's members says nothing (RFC 8259).
    Takes about a microsecond a value, in pieces, so that a thread can do it unnoticed.
    """
    digest = hashlib.sha256()
    for piece in json.JSONEncoder(sort_keys=True).iterencode(arguments):
        digest.update(piece.encode())
    return tool.qualified_name, digest.digest()


def weight_bytes(result: ToolResult, arguments: JsonObject) -> int:
    """About what a result and the arguments that led to it take in memory, in bytes.

    Looks at `VALUES_WEIGHED_MAX` values; with more it is `UNWEIGHED_RESULT_BYTES` at least.
    """
    waiting: list[Json | ContentBlock] = [result.structured, arguments]
    waiting += islice(result.content, VALUES_WEIGHED_MAX)
    weight = weighed = 0
    while waiting:
        if weighed + len(waiting) >= VALUES_WEIGHED_MAX:
            return max(weight, UNWEIGHED_RESULT_BYTES)
        value = waiting.pop()
        weight += sys.getsizeof(value)
        weighed += 1
        waiting += islice(_inner_values(value), VALUES_WEIGHED_MAX)
    return weight


def _inner_values(value: Json | ContentBlock) -> Iterable[Json]:
    """What a value holds, names included."""
    match value:
        case None | bool() | int() | float() | str():
            return ()
        case list():
            return value
        case dict():
            return chain(value, value.values())
        case _:
            return block_texts(value)
