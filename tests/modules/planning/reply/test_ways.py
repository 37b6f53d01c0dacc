"""Every way to answer comes to what it must: found in one reply, and played through the loop."""

import asyncio

import pytest

from core.context import AgentContext, Parts
from core.events import collect
from core.loop import AgentLoop
from core.ports import CallTool, ModelReply, OnRepaired
from core.run.working_memory import WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.turn import ActionResult, NoPlan, PerceptionResult, Plan, RunOutcome
from modules.action import run_plan
from modules.decision import PlanWriter
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.models.thinking import without_thinking
from modules.planning.preparation import prepare_plan
from modules.planning.reply.extraction import find_plan
from modules.sandbox import Sandbox
from tests.doubles import FakeDispatcher, FakeMemory, profile, value_result
from tests.modules.planning.reply.model_replies import TOOLS, act, told
from tests.modules.planning.reply.ways import WAYS, Way
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS


def test_the_table_is_as_long_as_it_is_said_to_be_and_names_each_way_once() -> None:
    assert len(WAYS) >= 196


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_each_way_comes_to_what_it_must(way: Way) -> None:
    assert await comes_to(way) == way.comes


async def comes_to(way: Way) -> str:
    """What comes of a reply, in the words of the table."""
    found = find_plan(way.reply, TOOLS)
    if isinstance(found, Plan):
        async with Sandbox() as sandbox:
            result = told(await act(way.reply, sandbox))
        kind, _, text = result.partition(": ")
        if text == "12" and "tools.add" in found.source:
            return "calls 12"
        return f"answers {text}" if kind == "final" else result
    return _of_no_plan(found, way.reply)


def _of_no_plan(found: NoPlan, reply: ModelReply) -> str:
    message = found.failure.message
    if found.failure.kind == "cut":
        return "cut" if "cut off at 64 tokens" in message and "be brief" in message else message
    if found.declines:
        return "declines"
    if found.answer is not None:
        assert "or say the same again if no tool is needed" in message
        return f"in words {found.answer}"
    if "which one counts?" in message:
        return "which"
    return "thought" if "it only thought" in message else "no plan"


async def play(way: Way, sandbox: Sandbox) -> tuple[RunOutcome, list[str]]:
    """A run over a model that answers in this way until it is asked for the answer."""
    then = "FINAL_ANSWER: 12" if way.comes == "calls 12" else way.reply
    model = ModelManager(ScriptedModel({"decision": [way.reply, *[then] * 5]}))
    answers: dict[str, ToolResult | Exception] = {
        "math.add": value_result(12),
        "math.subtract": value_result(99),
    }
    dispatcher = FakeDispatcher([*TOOLS], answers)

    async def perceive(context: AgentContext, user_input: str | None = None) -> PerceptionResult:
        return PerceptionResult(intent=user_input or "")

    async def run(
        plan: Plan,
        tools: ToolCatalog,
        call: CallTool,
        on_repaired: OnRepaired | None = None,
        memory: WorkingMemory | None = None,
    ) -> ActionResult:
        return await run_plan(plan, tools, call, sandbox, prepare=prepare_plan)

    played = AgentContext(
        "add 5 and 7",
        "2026/11/28/session-1-abcdef",
        dispatcher,
        {"math": "arithmetic"},
        profile=profile(),
        memory=FakeMemory(),
        model=model,
        parts=Parts(perceive, PlanWriter(model, profile()), run, lambda tool, _: tool.description),
        history=(),
    )
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        outcome = await collect(AgentLoop(played).run())
    return outcome, [name for name, _ in dispatcher.calls]


KINDS = {name.partition(":")[0]: None for name in WAYS}


@pytest.mark.parametrize("kind", KINDS)
async def test_each_way_ends_a_whole_run_as_it_must(kind: str) -> None:
    async with Sandbox() as sandbox:
        for name, way in WAYS.items():
            if name.startswith(kind):
                outcome, called = await play(way, sandbox)
                assert ending(outcome, called, way) == way.comes, (name, outcome.message)


def ending(outcome: RunOutcome, called: list[str], way: Way) -> str:
    """How a run ended, in the words of the table."""
    assert "math.subtract" not in called, "a draft, a quote or one of two plans was run"
    if outcome.answer is not None:
        if called:
            return f"calls {outcome.answer}"
        is_plan = "def solve" in outcome.steps[-1].plan.source
        return f"{'answers' if is_plan else 'in words'} {outcome.answer}"
    assert outcome.exit_code == 3
    assert not called
    if outcome.message.startswith("The model declined: "):
        return "declines"
    assert outcome.message.startswith("Could not generate valid solve(): the model was asked 2 ")
    assert without_thinking(way.text)[0].strip()[:200] in outcome.message, "a reply was dropped"
    return way.comes
