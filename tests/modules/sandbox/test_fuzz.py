"""Whatever a plan says and tools answer: the host raises nothing and everything is bounded.

`tests/benchmarks/soak.py` runs the same with thousands of new examples, and reports how long the
event loop was held up; here it is the same hundred every time.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import CallRefused, ToolTimeout
from core.tools.content import TextBlock, ToolResult
from core.turn import Plan, PlanFailed
from modules.action import run_plan
from modules.sandbox import Sandbox
from tests.modules.sandbox.fuzz import LIMITS, TOOLS, Answer, Case, cases, survive
from tests.modules.sandbox.fuzz_plans import any_text, grammar_made, mutated
from tests.modules.sandbox.heartbeat import Heartbeat
from tests.modules.sandbox.host_state import children
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS, Tools, solve

EXAMPLES = {"any text": (any_text, 25), "grammar": (grammar_made, 50), "mutations": (mutated, 35)}
"""Strategies of plans, and how many of each."""


@contextmanager
def one_sandbox() -> Generator[tuple[asyncio.Runner, Sandbox]]:
    """A sandbox, and an event loop on which example after example runs in it."""
    with asyncio.Runner() as runner:
        sandbox = Sandbox(LIMITS)
        runner.run(sandbox.__aenter__())
        try:
            yield runner, sandbox
        finally:
            runner.run(sandbox.__aexit__(None, None, None))


@pytest.mark.parametrize("plans", EXAMPLES)
def test_no_plan_and_no_answer_shakes_the_host(plans: str) -> None:
    strategy, count = EXAMPLES[plans]
    before = children()
    with one_sandbox() as (runner, sandbox):

        @settings(max_examples=count)
        @given(case=cases(strategy()))
        def examine(case: Case) -> None:
            runner.run(survive(case, sandbox))

        examine()
    assert children() == before


def test_the_examples_reach_tools_and_answers() -> None:
    """Else the property would hold of nothing."""
    ends: list[str] = []
    calls = 0
    with one_sandbox() as (runner, sandbox):

        @settings(max_examples=30)
        @given(case=cases(st.just(solve("return f'FINAL_ANSWER: {await tools.echo(1)}'"))))
        def examine(case: Case) -> None:
            nonlocal calls
            result = runner.run(survive(case, sandbox))
            ends.append(type(result).__name__)
            calls += 0 if result is None else len(result.calls)

        examine()
    assert {"FinalAnswer", "PlanFailed", "NoneType"} <= {*ends}
    assert calls > 10


@pytest.mark.parametrize(
    "outcome",
    [ToolResult((TextBlock("\ud800"),), is_error=True), CallRefused("\ud800"),
     ToolTimeout("math", "\ud800")],
)  # fmt: skip
async def test_half_a_surrogate_pair_in_an_error_is_an_error_of_its_call(
    outcome: ToolResult | CallRefused | ToolTimeout,
) -> None:
    case = Case(solve("return await tools.echo(1)"), (Answer(outcome),))
    async with Sandbox(LIMITS) as sandbox:
        result = await survive(case, sandbox)
    assert isinstance(result, PlanFailed)
    assert result.failure.kind == "tool"
    assert result.failure.message == result.calls[0].result == "?"


async def test_the_heart_of_the_loop_beats_while_a_plan_spins() -> None:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(LIMITS) as sandbox:
        async with Heartbeat() as heartbeat:
            plan = Plan(solve("while True: pass"))
            result = await run_plan(plan, TOOLS, Tools(), sandbox)
        assert isinstance(result, PlanFailed)
        assert result.failure.kind == "limit"
    assert heartbeat.beats > 2
