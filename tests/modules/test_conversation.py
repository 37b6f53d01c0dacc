"""A conversation and the traces of its runs."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from config.servers import ServerSpec
from config.settings import ROOT
from core.dispatch.known_tools import ToolCache
from core.errors import ExitCode
from core.events import Event, RunStarted
from core.ports import ModelTraits
from core.run.execution import ExecutionContext, begin, current, working
from core.session import MultiMCP
from modules.models.scripted import ScriptedModel
from modules.trace.spans import runs_of
from tests.modules.talks import conversation

PLAN = "async def solve():\n    return 'FINAL_ANSWER: done'"


async def test_each_run_has_a_trace_that_its_door_may_give(tmp_path: Path) -> None:
    heard: list[ExecutionContext | None] = []
    events: list[RunStarted] = []

    async def hear(event: Event) -> None:
        if isinstance(event, RunStarted):
            heard.append(current())
            events.append(event)

    async with conversation(tmp_path, ScriptedModel([PLAN] * 3), hear) as talk:
        own = await talk.ask("do it")
        given = await talk.ask("do it", execution=begin(user="ada"))
        with working(begin()) as door:
            taken = await talk.ask("do it")
        help_page = await talk.ask("help")
        runs = runs_of(await talk.session.load())
    assert [each.exit_code for each in (own, given, taken)] == [ExitCode.ANSWERED] * 3
    traces = [each.trace_id for each in (own, given, taken)]
    assert traces == [event.trace_id for event in events] == [run.trace_id for run in runs]
    assert len({*traces}) == 3
    assert traces[-1] == door.trace_id
    assert help_page.trace_id == "", "nothing was run"
    assert all(each is not None and each.session == talk.session.id for each in heard)
    assert heard[1] is not None
    assert (heard[1].user, heard[1].profile) == ("ada", talk.profile.agent.id)
    assert current() is None


@pytest.mark.parametrize("request_text", ["what is 2 cubed?", "write a haiku", "list my sums"])
async def test_the_tools_of_every_server_stand_in_the_first_prompt_of_a_new_home(
    tmp_path: Path, request_text: str
) -> None:
    data = tmp_path / "data.db"
    data.touch()
    script = str(ROOT / "tests" / "fixtures" / "servers" / "sums_server.py")
    spec = ServerSpec("ledger", (sys.executable, script, str(data)), ROOT)
    for _ in range(2):  # the second finds what the first has kept, and other data
        model = ScriptedModel([PLAN], traits=ModelTraits())
        servers = MultiMCP([spec], cache=ToolCache(tmp_path / "cache"))
        async with conversation(tmp_path, model, servers=servers) as talk:
            await talk.ask(request_text)
        assert "- multiply(a: float, b: float)" in model.requests[0].system
        data.write_text("a call has changed this")


def times_three(number: int) -> str:
    call = f"await tools.multiply(a={number}, b=3)"
    return f"async def solve():\n    return f'FINAL_ANSWER: {{{call}}} in all'"


async def test_a_prompt_begins_as_the_one_before_and_names_the_calls_that_were_made(
    tmp_path: Path,
) -> None:
    script = str(ROOT / "tests" / "fixtures" / "servers" / "sums_server.py")
    spec = ServerSpec("ledger", (sys.executable, script), ROOT)
    model = ScriptedModel([*map(times_three, range(5))], traits=ModelTraits())
    async with conversation(tmp_path, model, servers=MultiMCP([spec])) as talk:
        for number in range(5):
            await talk.ask(f"what is {number} times 3, as the ledger has it?")
    prompts = [request.prompt for request in model.requests]
    for before, after in pairwise(prompts[1:]):
        assert after.startswith(before[: before.index("What perception made") - 1])
    assert "Calls: multiply(a=3, b=3)\nAnswer: 9 in all\n" in prompts[-1]
    assert "<<data" not in prompts[-1], "though the server is not trusted"
