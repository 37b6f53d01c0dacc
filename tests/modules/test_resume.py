"""Resuming after a failure with real plans: in a sandbox, through the loop, to the record."""

import asyncio
from dataclasses import replace

from core.events import collect
from core.loop import AgentLoop
from core.tools.content import ToolResult
from core.turn import Plan, RunOutcome
from modules.sandbox import Sandbox
from tests.doubles import FakeDispatcher, FakeParts, context, tool, value_result
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS, acting, solve

ADD = replace(tool("add", a="integer", b="integer"), read_only=True)
NOTE = tool("note", text="string")


async def resumed(*bodies: str) -> tuple[RunOutcome, FakeDispatcher]:
    """The outcome of plans with these bodies, each tried after the one before has failed."""
    answers: dict[str, ToolResult | Exception] = {
        "math.add": value_result(3),
        "math.note": value_result("noted"),
    }
    dispatcher = FakeDispatcher([ADD, NOTE], answers)
    fakes = FakeParts([Plan(solve(*body.split("\n"))) for body in bodies], {})
    agent_context = context(fakes, dispatcher=dispatcher)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
        agent_context.parts = replace(agent_context.parts, run_plan=acting(sandbox))
        return await collect(AgentLoop(agent_context).run()), dispatcher


async def test_a_plan_goes_on_where_the_one_before_it_failed() -> None:
    first = "x = await tools.add(a=1, b=2)\nawait tools.note(text='a')\nreturn {}['x']"
    second = "x = await tools.add(b=2, a=1)\nreturn f'FINAL_ANSWER: {x}'"
    outcome, dispatcher = await resumed(first, second)
    assert outcome.answer == "3"
    assert [name for name, _ in dispatcher.calls] == ["math.add", "math.note"]
    records = [[(c.tool, c.result, c.kept) for c in step.result.calls] for step in outcome.steps]
    assert records == [
        [("math.add", 3, False), ("math.note", "noted", False)],
        [("math.add", 3, True)],
    ]


async def test_raw_and_typed_calls_share_what_is_kept() -> None:
    typed = "x = await tools.add(1, 2)\nreturn 1 / 0"
    raw = "await mcp.call_tool('add', {'input': {'a': 1, 'b': 2}})\nreturn 1 / 0"
    bare = "x, y = await asyncio.gather(add(a=1, b=2), add(a=1, b=2))\nreturn f'FINAL_ANSWER: {x}'"
    outcome, dispatcher = await resumed(typed, raw, f"import asyncio\n{bare}")
    assert outcome.answer == "3"
    assert len(dispatcher.calls) == 2, "the second of two at once is sent"
    kept = [[call.kept for call in step.result.calls] for step in outcome.steps]
    assert kept == [[False], [True], [True, False]]


async def test_a_kept_call_counts_among_a_plans_calls() -> None:
    five = "for n in range(5):\n    await tools.add(n, 0)\nreturn 1 / 0"
    six = "for n in range(6):\n    await tools.add(n, 0)\nreturn 'FINAL_ANSWER: all'"
    outcome, dispatcher = await resumed(five, six, "return 'FINAL_ANSWER: 1'")
    assert len(dispatcher.calls) == 5
    failure = outcome.steps[1].result
    assert "more than 5 tool calls" in str(failure)
