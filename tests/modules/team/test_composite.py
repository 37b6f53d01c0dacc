"""Kept workflows as tools: offered, run, bounded, and never inside themselves."""

from pathlib import Path

import pytest

from core.errors import CallRefused
from core.mcp.hooks import OnProgress
from core.ports import CallTool
from core.team.graph import TaskGraph
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, Plan, RunOutcome
from core.values import JsonObject
from modules.action import run_plan
from modules.planning.prompt.stubs import describe_tool
from modules.sandbox import Sandbox
from modules.team.composite import DEPTH_MAX, WorkflowTools, with_workflows
from tests.doubles import FakeDispatcher, text_result, tool
from tests.modules.team.test_workflow import CITIES, kept

ADD = tool("add", a="number", b="number")


class Runs:
    """Keeps the graphs that are to be run, and gives one outcome for all."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        self.graphs: list[TaskGraph] = []
        self.paths: list[tuple[str, ...]] = []

    async def __call__(
        self, graph: TaskGraph, path: tuple[str, ...], on_progress: OnProgress | None
    ) -> RunOutcome:
        self.graphs.append(graph)
        self.paths.append(path)
        return self.outcome


DONE = RunOutcome("done", "both are large", "")


def offered(
    home: Path, runs: Runs, path: tuple[str, ...] = (), more: tuple[ToolSpec, ...] = ()
) -> WorkflowTools:
    kept(home, CITIES)
    answers: dict[str, ToolResult | Exception] = {
        "math.add": text_result("12"), "workflow.cities": text_result("theirs"),
    }  # fmt: skip
    found = with_workflows(FakeDispatcher([ADD, *more], answers), home, runs, path)
    assert isinstance(found, WorkflowTools)
    return found


async def test_a_plan_calls_one_beside_the_tools_of_servers(tmp_path: Path) -> None:
    runs = Runs(DONE)
    tools = offered(tmp_path, runs)

    async def send(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        await tools.prepare(tool)
        return await tools.send(tool, arguments)

    call: CallTool = send
    source = (
        "async def solve():\n    total = await tools.add(a=5, b=7)\n"
        '    said = await tools.cities(city="Oslo", most=2)\n'
        '    return f"FINAL_ANSWER: {total}: {said}"\n'
    )
    async with Sandbox() as sandbox:
        result = await run_plan(Plan(source), tools.catalog, call, sandbox)
    assert isinstance(result, FinalAnswer)
    assert result.text == "12: both are large"
    assert runs.graphs[0]["first"].description == "find 2 facts about Oslo"
    assert runs.paths == [("cities",)]


def test_a_model_is_told_of_it_as_of_other_tools(tmp_path: Path) -> None:
    tools = offered(tmp_path, Runs(DONE))
    found = tools.catalog.get("workflow.cities")
    assert found is not None
    told = describe_tool(found, tools.catalog)
    assert "What two cities have in common." in told
    assert "city: str" in told
    assert tools.catalog is tools.catalog


async def test_a_workflow_that_would_run_in_itself_or_too_deep_is_refused(tmp_path: Path) -> None:
    runs = Runs(DONE)
    inner = offered(tmp_path, runs, ("cities", "report"))
    with pytest.raises(CallRefused, match="can't call itself: cities → report → cities"):
        await inner.call_tool("cities", {"city": "Oslo"})
    deep = offered(tmp_path, runs, tuple("abc"[:DEPTH_MAX]))
    with pytest.raises(CallRefused, match="only 3 workflows may run inside each other"):
        await deep.call_tool("cities", {"city": "Oslo"})
    assert runs.graphs == []


async def test_what_goes_wrong_is_told_to_the_plan(tmp_path: Path) -> None:
    tools = offered(tmp_path, Runs(RunOutcome("no_answer", None, "first: no fact")))
    with pytest.raises(CallRefused, match="wants city"):
        await tools.call_tool("cities", {})
    failed = await tools.call_tool("workflow.cities", {"city": "Oslo", "other": None})
    assert (failed.is_error, failed.text) == (True, "first: no fact")


async def test_a_server_of_that_name_keeps_its_own_tool(tmp_path: Path) -> None:
    runs = Runs(DONE)
    tools = offered(tmp_path, runs, more=(tool("cities", "workflow", city="string"),))
    assert (await tools.call_tool("workflow.cities", {"city": "Oslo"})).text == "theirs"
    assert runs.graphs == []


def test_without_a_workflow_that_can_be_used_nothing_is_between(tmp_path: Path) -> None:
    dispatcher = FakeDispatcher([ADD], {})
    assert with_workflows(dispatcher, tmp_path, Runs(DONE)) is dispatcher
    kept(tmp_path, "steps: [")
    assert with_workflows(dispatcher, tmp_path, Runs(DONE)) is dispatcher
