"""The tool calls of one plan on the event loop: sent in turn, recorded, ended with the plan.

What servers answer is made plain here: JSON of bounded size and depth, with finite numbers and
text that is Unicode. Whatever is not is an error of that call.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from typing import cast

from core.base.text import shorten
from core.errors import CallRefused, WorldError
from core.ports import CallTool
from core.tools.content import TextBlock, ToolResult, block_json, block_texts
from core.turn import ToolCall
from core.values import Json
from modules.sandbox.limits import (
    KIB,
    MAX_TOOL_ERROR_CHARACTERS,
    CallOutcome,
    RequestedCall,
    SandboxLimits,
)
from modules.sandbox.values import NotFinite, NotJson, TooLarge, to_json

END_TIMEOUT_SECONDS = 5.0
"""Bound on each wait for something that has been told to end: a cancelled call, a killed worker."""

UNFINISHED_CALL = "not finished: the plan ended before this call did"
"""Recorded as the error of a call that was cancelled with its plan."""

SMALL_RESULT_BYTES = 8 * KIB
"""Results up to this size are rebuilt on the event loop. The densest, a list of digits, takes a few
milliseconds, and a handful of them may arrive at once."""

_UNUSABLE = "the tool's result can't be used"


class PlanCalls:
    """The tool calls of one plan: tasks by the plan's call id, and a record of each that began."""

    def __init__(self, call: CallTool, limits: SandboxLimits | None = None) -> None:
        """Send through `call`; of `limits` those on calls at once and on results apply."""
        self._call = call
        self._limits = limits or SandboxLimits()
        self._slots = asyncio.Semaphore(self._limits.tool_calls_at_once)
        self._rebuilding = asyncio.Lock()  # threads at work in turn leave the event loop its own
        self._large: set[int] = set()
        self._forbidden: set[int] = set()
        self._tasks: dict[int, asyncio.Task[CallOutcome]] = {}
        self._records: list[ToolCall | None] = []

    def send(self, requested: Iterable[RequestedCall]) -> None:
        """Start the calls, as many at once as may be; the others as soon as one ends, in order."""
        for request in requested:
            self._tasks[request.call_id] = asyncio.create_task(self._in_slot(request))

    async def any_of(
        self, pending: Iterable[int], seconds: float | None = None
    ) -> dict[int, CallOutcome]:
        """Wait until at least one of these calls has ended, or so long; gives all that have.

        A large one is given alone, as each is written out in one go. One that a person has refused
        comes last: it may end the plan, and with it those beside it that the same answer has
        allowed.
        """
        tasks = {call_id: self._tasks[call_id] for call_id in pending}
        if not tasks:
            await asyncio.sleep(seconds or 0)
            return {}
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            still = [t for id_, t in tasks.items() if not t.done() or id_ not in self._forbidden]
            left = None if until is None else max(0.0, until - time.monotonic())
            done, _ = await asyncio.wait(
                still or tasks.values(), timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                return {}
            ended = [id_ for id_, task in tasks.items() if task.done()]
            told = [id_ for id_ in ended if id_ not in self._forbidden]
            if told or len(ended) == len(tasks):
                break
        ended = told or ended
        large = [call_id for call_id in ended if call_id in self._large]
        return {call_id: tasks[call_id].result() for call_id in large[:1] or ended}

    async def end(self) -> None:
        """Cancel what is still open, and wait until it has ended."""
        open_tasks = {task for task in self._tasks.values() if not task.done()}
        for task in open_tasks:
            task.cancel()
        if open_tasks:
            await asyncio.wait(open_tasks, timeout=END_TIMEOUT_SECONDS)
        for task in self._tasks.values():
            if task.done() and not task.cancelled():
                task.exception()  # the first bug was raised by `any_of`; say nothing of others

    def finished(self) -> tuple[ToolCall, ...]:
        """Every call that was sent, in order of start; one whose turn never came is none."""
        return tuple(record for record in self._records if record is not None)

    async def _in_slot(self, request: RequestedCall) -> CallOutcome:
        async with self._slots:
            return await self._recorded(request)

    async def _recorded(self, request: RequestedCall) -> CallOutcome:
        """Send one call and record it, also when it is cancelled."""
        position, began = len(self._records), time.perf_counter()
        self._records.append(None)
        ok, recorded = False, cast("Json", UNFINISHED_CALL)
        try:
            result = await self._sent(request)
            value = recorded = await self._usable(request, result.value)
            if request.raw:
                value = await self._usable(request, await _raw_content(result))
            ok = True
            return CallOutcome(value)
        except _CallFailed as failed:
            # Half a surrogate pair can't be said to the interpreter, nor kept in a session.
            short = shorten(str(failed), MAX_TOOL_ERROR_CHARACTERS)
            recorded = short.encode("utf-8", "replace").decode()
            return CallOutcome(error=recorded)
        finally:
            seconds = time.perf_counter() - began
            self._records[position] = ToolCall(
                request.tool.qualified_name, request.arguments, ok, recorded, seconds
            )

    async def _sent(self, request: RequestedCall) -> ToolResult:
        """The result, if there is one that isn't too big to look at."""
        try:
            result = await self._call(request.tool, request.arguments)
        except (CallRefused, WorldError) as error:
            if isinstance(error, CallRefused) and error.by_person:
                self._forbidden.add(request.call_id)
            raise _CallFailed(str(error) or type(error).__name__) from error
        if result.is_error:
            raise _CallFailed(result.error_text or f"{request.tool.name} failed without a message")
        max_bytes = self._limits.tool_result_bytes
        texts = (text for block in result.content for text in block_texts(block))
        if sum(len(text) for text in texts if text is not None) > max_bytes:
            raise _CallFailed(f"{_UNUSABLE}: it is larger than {max_bytes:,} bytes")
        return result

    async def _usable(self, request: RequestedCall, value: Json) -> Json:
        """A server's value as plain JSON within bounds; a large one is rebuilt in a thread."""
        max_bytes = self._limits.tool_result_bytes
        try:
            try:
                return _plain(value, min(max_bytes, SMALL_RESULT_BYTES))
            except TooLarge:
                if max_bytes <= SMALL_RESULT_BYTES:
                    raise
                self._large.add(request.call_id)
                async with self._rebuilding:
                    return await asyncio.to_thread(_plain, value, max_bytes)
        except NotJson as kind:
            raise _CallFailed(f"{_UNUSABLE}: it holds {kind}") from kind
        except NotFinite as reason:
            raise _CallFailed(f"{_UNUSABLE}: it {reason}") from reason
        except TooLarge as reason:
            raise _CallFailed(f"{_UNUSABLE}: {reason}") from reason


class _CallFailed(Exception):
    """A call gave no result; the text is for the plan, which may handle it."""


def _plain(value: Json, max_bytes: int) -> Json:
    """A server's value rebuilt; raises what `to_json` does."""
    return to_json(value, max_bytes=max_bytes, finite=True)


async def _raw_content(result: ToolResult) -> Json:
    """A result as `mcp.call_tool` gives it; structured content becomes text if there is none."""
    blocks = result.content
    if not blocks and result.structured is not None:
        # In pieces and in a thread: written out in one go, a big one would hold up everything.
        pieces = json.JSONEncoder().iterencode(result.structured)
        blocks = (TextBlock(await asyncio.to_thread("".join, pieces)),)
    return {
        "content": [block_json(block) for block in blocks],
        "structured_content": result.structured,
    }
