"""A conversation and the traces of its runs."""

from pathlib import Path

from core.errors import ExitCode
from core.events import Event, RunStarted
from core.run.execution import ExecutionContext, begin, current, working
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
