"""The calls of a run: progress is told in order, within its call, and no faster than it is read."""

import asyncio
import contextlib

import pytest

from core.errors import ToolTimeout
from core.events import (
    Event,
    RunStarted,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
    collect,
)
from core.loop import AgentLoop
from core.mcp.hooks import OnProgress
from core.ports import CallTool
from core.run.execution import ExecutionContext, begin, current, working
from core.tools.catalog import ToolCatalog
from core.tools.content import ImageBlock, TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import ActionResult, FinalAnswer
from core.values import JsonObject
from tests.doubles import FakeDispatcher, context, planned, tool, value_result


class Reporting(FakeDispatcher):
    """A dispatcher whose tool reports progress while it works, and once more afterwards."""

    def __init__(
        self,
        reports: int,
        *,
        gives: ToolResult | Exception | None = None,
        hang: bool = False,
    ) -> None:
        super().__init__([tool("add", a="integer")], {"math.add": gives or value_result(3)})
        self.reports = reports
        self.hang = hang
        self.late: OnProgress | None = None

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        assert on_progress is not None
        self.late = on_progress
        for number in range(1, self.reports + 1):
            on_progress(number, self.reports, "x" * 1_000)
            if number % 10 == 0:
                await asyncio.sleep(0)
        if self.hang:
            await asyncio.Event().wait()
        return await super().send(tool, arguments)


async def told(dispatcher: Reporting, *, busy_turns: int = 0) -> list[Event]:
    """The events of one call's run, read by a listener that takes some turns for each."""
    seen: list[Event] = []

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        with contextlib.suppress(ToolTimeout):
            await call(tools.resolve("add"), {"input": {"a": 1}})
        if dispatcher.late is not None:
            dispatcher.late(99, None, "too late")
        return FinalAnswer("x")

    async def listen(event: Event) -> None:
        seen.append(event)
        for _ in range(busy_turns):
            await asyncio.sleep(0)

    fakes = planned(p=calls)
    async with asyncio.timeout(5):
        await collect(AgentLoop(context(fakes, dispatcher=dispatcher)).run(), listen)
    return seen


async def test_pictures_that_a_tool_gives_are_told_beside_its_result() -> None:
    image = ImageBlock("aGk=", "image/png")
    dispatcher = Reporting(0, gives=ToolResult((TextBlock("3"), image), {"result": 3}))
    (finished,) = [e for e in await told(dispatcher) if isinstance(e, ToolCallFinished)]
    assert (finished.call.result, finished.images) == (3, (image,))


@pytest.mark.parametrize(("reports", "busy_turns", "most"), [(1, 0, 1), (3, 0, 3), (500, 40, 20)])
async def test_progress_is_told_in_order_within_its_call_and_no_faster_than_it_is_read(
    reports: int, busy_turns: int, most: int
) -> None:
    events = await told(Reporting(reports), busy_turns=busy_turns)
    progress = [event for event in events if isinstance(event, ToolCallProgress)]
    assert 1 <= len(progress) <= most
    assert [p.progress for p in progress] == sorted({p.progress for p in progress})
    assert progress[-1].progress == reports, "the newest report is never lost"
    assert {(p.call_id, p.tool, p.total) for p in progress} == {(1, "math.add", reports)}
    assert all(p.message is not None and len(p.message) == 200 for p in progress)
    places = [n for n, event in enumerate(events) if isinstance(event, ToolCallProgress)]
    (started,) = [n for n, event in enumerate(events) if isinstance(event, ToolCallStarted)]
    (finished,) = [n for n, event in enumerate(events) if isinstance(event, ToolCallFinished)]
    assert started < min(places) <= max(places) < finished


async def test_a_call_without_progress_tells_none() -> None:
    events = await told(Reporting(0))
    assert not [event for event in events if isinstance(event, ToolCallProgress)]


async def test_nothing_is_told_of_a_call_after_it_failed() -> None:
    dispatcher = Reporting(5, gives=ToolTimeout("math", "no answer"))
    events = [type(event) for event in await told(dispatcher, busy_turns=3)]
    assert ToolCallProgress not in events[events.index(ToolCallFinished) :]


async def test_a_run_that_is_interrupted_amid_progress_ends() -> None:
    loop = AgentLoop(context(planned(p=_add), dispatcher=Reporting(9, hang=True)))

    async def listen(event: Event) -> None:
        if isinstance(event, ToolCallProgress):
            loop.interrupt()

    async with asyncio.timeout(5):
        outcome = await collect(loop.run(), listen)
    assert outcome.status == "interrupted"


async def test_closing_the_stream_amid_progress_ends_the_work() -> None:
    loop = AgentLoop(context(planned(p=_add), dispatcher=Reporting(9, hang=True)))
    async with asyncio.timeout(5), contextlib.aclosing(loop.run()) as events:
        async for event in events:
            if isinstance(event, ToolCallProgress):
                break
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if not task.done()]


async def _add(tools: ToolCatalog, call: CallTool) -> ActionResult:
    result = await call(tools.resolve("add"), {"input": {"a": 1}})
    return FinalAnswer(str(result.value))


async def test_a_call_s_span_is_told_and_is_current_while_it_is_sent() -> None:
    class Sending(Reporting):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            sent.append(current())
            return await super().send(tool, arguments, on_progress)

    sent: list[ExecutionContext | None] = []
    with working(begin()) as run:
        seen = await told(Sending(1))
    (started,) = [event for event in seen if isinstance(event, ToolCallStarted)]
    (began,) = [event for event in seen if isinstance(event, RunStarted)]
    assert (began.trace_id, began.span_id) == (run.trace_id, run.span_id)
    (call,) = sent
    assert call is not None
    assert (call.trace_id, call.parent_id, call.span_id) == (
        run.trace_id,
        run.span_id,
        started.span_id,
    )
    assert call.intent == "unknown", "what perception made of it"
    assert [e.span_id for e in await told(Reporting(0)) if isinstance(e, ToolCallStarted)] == [""]
