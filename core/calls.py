"""The tool calls of one run: told as events, none repeated that is known to fail.

A server may report progress faster than anybody reads it. Of reports that come while a listener
is still busy with an earlier one, only the newest is told; none is told after its call's end.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable

from core.content import ToolResult
from core.context import AgentContext
from core.errors import CallRefused, ServerError, ToolTimeout
from core.events import Emit, ToolCallFinished, ToolCallProgress, ToolCallStarted
from core.tool_spec import ToolSpec
from core.turn import ToolCall
from core.values import JsonObject

PROGRESS_MESSAGE_CHARACTERS = 200
"""How much of a server's message on progress is told."""


class RunCalls:
    """Sends the calls of one run's plans and remembers which of them failed."""

    def __init__(self, context: AgentContext, clock: Callable[[], float] = time.perf_counter):
        """Send through the context's dispatcher; `clock` gives seconds for durations."""
        self._context = context
        self._clock = clock
        self._failed: dict[str, str] = {}
        self._next_id = 1

    async def send(self, tool: ToolSpec, arguments: JsonObject, emit: Emit) -> ToolResult:
        """Send one call of a plan, unless the same call has failed in this run before.

        Raises:
            CallRefused: the call failed before, or the dispatcher refused it.
            ServerError: the server did not start, died, or did not answer in time.
        """
        name = tool.qualified_name
        key = f"{name} {json.dumps(arguments, sort_keys=True)}"
        if (earlier := self._failed.get(key)) is not None:
            raise CallRefused(
                f"{name} failed before with exactly these arguments and was not called again: "
                f"{earlier}. Use other arguments or another tool"
            )
        call_id, self._next_id = self._next_id, self._next_id + 1
        self._context.log_subtask(name)
        await emit(ToolCallStarted(call_id, name, arguments))
        started = self._clock()
        try:
            await self._context.dispatcher.prepare(name)
            started = self._clock()
            result = await self._with_progress(call_id, name, arguments, emit)
        except (CallRefused, ServerError) as error:
            if not isinstance(error, ServerError) or isinstance(error, ToolTimeout):
                self._failed[key] = str(error)
            failed = ToolCall(name, arguments, False, str(error), self._clock() - started)
            await self._finish(call_id, failed, emit)
            raise
        if result.is_error:
            self._failed[key] = result.text
        value = result.text if result.is_error else result.value
        call = ToolCall(name, arguments, not result.is_error, value, self._clock() - started)
        await self._finish(call_id, call, emit)
        return result

    async def _with_progress(
        self, call_id: int, name: str, arguments: JsonObject, emit: Emit
    ) -> ToolResult:
        async with contextlib.aclosing(_Progress(call_id, name, emit)) as progress:
            result = await self._context.dispatcher.call_tool(name, arguments, progress.report)
            await progress.told()
            return result

    async def _finish(self, call_id: int, call: ToolCall, emit: Emit) -> None:
        self._context.update_subtask_status(call.tool, "success" if call.ok else "failure")
        await emit(ToolCallFinished(call_id, call))


class _Progress:
    """Tells the progress of one call, from the first report until it is closed."""

    def __init__(self, call_id: int, tool: str, emit: Emit) -> None:
        self._call_id = call_id
        self._tool = tool
        self._emit = emit
        self._newest: ToolCallProgress | None = None
        self._telling: asyncio.Task[None] | None = None
        self._closed = False

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Have this told as soon as what was told before has been dealt with."""
        if self._closed:
            return
        short = message[:PROGRESS_MESSAGE_CHARACTERS] if message is not None else None
        self._newest = ToolCallProgress(self._call_id, self._tool, progress, total, short)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def told(self) -> None:
        """Take no more reports, and wait until the newest has been dealt with."""
        self._closed = True
        if self._telling is not None:
            await self._telling

    async def aclose(self) -> None:
        """Take no more reports and tell none; nothing of it runs afterwards."""
        self._closed = True
        if self._telling is not None and not self._telling.done():
            self._telling.cancel()
            await asyncio.wait({self._telling})

    async def _tell(self) -> None:
        while (newest := self._newest) is not None:
            self._newest = None
            await self._emit(newest)
