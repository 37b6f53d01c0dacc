"""The agent within a Python program."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from config.schema import load_profile
from config.settings import SettingsError
from core.asking import Answer, Question
from core.errors import UsageError, UserError
from core.events import PlanWritten, RunFinished, RunStarted, ToolCallStarted
from core.turn import RunOutcome
from modules.app import open_agent
from modules.service.python import PythonAgent
from tests.command_line import SUMS_SERVER, plan, script, session_files, write_profile

GATED = Path(__file__).parents[2] / "fixtures" / "servers" / "gated_server.py"


@pytest.fixture
async def sums(tmp_path: Path) -> AsyncGenerator[PythonAgent]:
    """An agent that calculates without a model."""
    profile = write_profile(tmp_path, SUMS_SERVER)
    async with open_agent(profile, model="offline", home=tmp_path) as agent:
        yield agent


async def test_requests_are_answered_in_one_session(sums: PythonAgent, tmp_path: Path) -> None:
    assert sums.session.id is None
    outcome = await sums.ask("add 5 and 7")
    assert (outcome.status, outcome.answer) == ("done", "12")
    assert (await sums.ask("add 3 to that")).answer == "15"
    assert [file.stem for file in session_files(tmp_path)] == [
        (sums.session.id or "").rpartition("/")[2]
    ]


async def test_an_agent_that_was_left_says_so(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, SUMS_SERVER)
    async with open_agent(profile, model="offline", home=tmp_path) as agent:
        assert (await agent.ask("add 5 and 7")).answer == "12"
    with pytest.raises(RuntimeError, match="has ended"):
        await agent.ask("add 5 and 7")


async def test_a_session_is_left_and_taken_up_again(sums: PythonAgent) -> None:
    await sums.ask("add 5 and 7")
    first = sums.session.id
    assert first is not None
    sums.session.new()
    assert sums.session.id is None
    await sums.ask("add 1 and 1")
    assert sums.session.id not in (None, first)
    sums.session.resume(first)
    assert (await sums.ask("add 3 to that")).answer == "15"
    assert sums.session.id == first


async def test_a_program_goes_on_with_a_session_of_another(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, SUMS_SERVER)
    async with open_agent(profile, model="offline", home=tmp_path) as agent:
        await agent.ask("add 5 and 7")
        id_ = agent.session.id
    async with open_agent(profile, model="offline", home=tmp_path, session=id_) as agent:
        assert (await agent.ask("add 3 to that")).answer == "15"


async def test_events_tell_the_run_and_its_end(sums: PythonAgent) -> None:
    seen = [event async for event in sums.events("add 5 and 7")]
    assert isinstance(seen[0], RunStarted)
    assert [event.tool for event in seen if isinstance(event, ToolCallStarted)] == ["math.add"]
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].outcome.answer == "12"


async def test_who_stops_reading_stops_the_run_and_can_ask_on(
    sums: PythonAgent, tmp_path: Path
) -> None:
    async with aclosing(sums.events("add 5 and 7")) as events:
        async for event in events:
            if isinstance(event, PlanWritten):
                break
    (file,) = session_files(tmp_path)
    assert "interrupted" in file.read_text()
    assert (await sums.ask("add 1 and 2")).answer == "3"


async def test_a_cancelled_request_ends_and_leaves_the_agent_usable(tmp_path: Path) -> None:
    server = f"id: gates\nscript: {GATED}\nargs: [{tmp_path}]\ndescription: waits at gates"
    replies = [
        plan('return await tools.gates.hold(name="never")'),
        plan('return "FINAL_ANSWER: here again"'),
    ]
    profile, model = write_profile(tmp_path, server), script(tmp_path, replies)
    async with open_agent(profile, model=model, home=tmp_path, approve=["gates.hold"]) as agent:

        async def until_called() -> None:
            async for event in agent.events("wait at the gates"):
                if isinstance(event, ToolCallStarted):
                    called.set()

        called = asyncio.Event()
        waiting = asyncio.create_task(until_called())
        async with asyncio.timeout(10):
            await called.wait()
            with pytest.raises(RuntimeError, match="one request at a time"):
                await agent.ask("me too")
            with pytest.raises(RuntimeError, match="being answered"):
                agent.session.new()
            waiting.cancel()
            await asyncio.wait({waiting})
        assert waiting.cancelled()
        assert (await agent.ask("and now?")).answer == "here again"


async def test_a_question_goes_to_the_program(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> str:
        asked.append(question)
        return "the one in Ohio"

    replies = [
        plan('return "CLARIFICATION_NEEDED: Which Springfield?"'),
        plan('return "FINAL_ANSWER: sunny"'),
    ]
    profile, model = write_profile(tmp_path), script(tmp_path, replies)
    async with open_agent(profile, model=model, home=tmp_path, ask=ask) as agent:
        assert (await agent.ask("how is the weather in Springfield?")).answer == "sunny"
    assert [(each.kind, each.text) for each in asked] == [("question", "Which Springfield?")]


async def test_leave_for_a_call_is_asked_of_the_program(tmp_path: Path) -> None:
    async def ask(question: Question) -> Answer:
        return Answer("once" if question.kind == "approval" else "")

    server = f"id: gates\nscript: {GATED}\nargs: [{tmp_path}]\ndescription: waits at gates"
    (tmp_path / "door").touch()
    replies = [plan("return f'FINAL_ANSWER: {await tools.gates.hold(name=\"door\")}'")]
    profile, model = write_profile(tmp_path, server), script(tmp_path, replies)
    async with open_agent(profile, model=model, home=tmp_path, ask=ask) as agent:
        assert (await agent.ask("wait at the gates")).answer == "door is open"


async def test_texts_are_variables_of_plans(tmp_path: Path) -> None:
    replies = [plan('return f"FINAL_ANSWER: {len(log.splitlines())}"')]
    profile, model = write_profile(tmp_path), script(tmp_path, replies)
    async with open_agent(profile, model=model, home=tmp_path) as agent:
        outcome = await agent.ask("how many lines are in the log?", texts={"log": "a\nb\nc"})
        assert outcome.answer == "3"
        with pytest.raises(UsageError, match="name of a text"):
            await agent.ask("hm?", texts={"no name": "x"})


async def test_requests_read_files_only_where_the_program_says(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("bread\nmilk\n")
    replies = [plan('return f"FINAL_ANSWER: {notes_md.split()}"')]
    profile = write_profile(tmp_path)
    for files_in, answer in ((tmp_path, "['bread', 'milk']"), (None, None)):
        model = script(tmp_path, replies if files_in else [{"declined": "no notes"}])
        opening = open_agent(profile, model=model, home=tmp_path, files_in=files_in)
        async with opening as agent:
            assert (await agent.ask("what is in @notes.md?")).answer == answer


async def test_a_profile_may_be_made_by_the_program(tmp_path: Path) -> None:
    made = load_profile(write_profile(tmp_path, SUMS_SERVER)).without_memory()
    async with open_agent(made, model="offline", home=tmp_path) as agent:
        assert (await agent.ask("add 5 and 7")).answer == "12"
    assert not session_files(tmp_path)


async def test_what_is_configured_wrongly_is_told_on_entering(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("agent: {name: A, id: a}\nstrategie: {}\n")
    with pytest.raises(SettingsError, match="strategie"):
        await open_agent(wrong, home=tmp_path).__aenter__()
    with pytest.raises(UserError, match="nonsense"):
        await open_agent(home=tmp_path, model="nonsense").__aenter__()
    with pytest.raises(UsageError):
        await open_agent(home=tmp_path, model="offline", session="../etc").__aenter__()


async def test_a_tool_or_file_in_place_of_a_list_is_refused() -> None:
    for opening in (open_agent(approve="math.add"), open_agent(mcp_config="mcp.json")):
        with pytest.raises(UsageError, match="are lists"):
            await opening.__aenter__()


async def test_an_empty_request_is_refused_and_nothing_is_spent(sums: PythonAgent) -> None:
    with pytest.raises(UsageError, match="empty"):
        await sums.ask("  ")
    assert (await sums.ask("add 5 and 7")).answer == "12"


def test_agents_work_at_once_in_event_loops_of_other_threads(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    profile = write_profile(tmp_path, SUMS_SERVER)
    meeting = threading.Barrier(2, timeout=30)
    outcomes: dict[int, RunOutcome] = {}

    async def ask(number: int) -> None:
        home = tmp_path / str(number)
        async with open_agent(profile, model="offline", home=home) as agent:
            await asyncio.to_thread(meeting.wait)  # both are open
            outcomes[number] = await agent.ask(f"add 5 and {number}")
            await asyncio.to_thread(meeting.wait)

    def run(number: int) -> None:
        asyncio.run(ask(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {number: outcome.answer for number, outcome in outcomes.items()} == {1: "6", 2: "7"}
    assert capfd.readouterr() == ("", "")
