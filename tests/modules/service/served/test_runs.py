"""Runs through a door that may close: events, cancelling, the queue, and earlier processes."""

import asyncio
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.asking import Answer, Question
from core.errors import UsageError
from core.run.execution import begin
from modules.service.pool import ConversationBusy, user_named
from modules.service.served.events import ServiceEvent
from modules.service.served.run_log import RUNS_FOLDER, log_file
from modules.service.served.runs import (
    FINISHED_KEPT,
    Draining,
    NoSuchQuestion,
    NoSuchRun,
    QueueFull,
    RunElsewhere,
    Runs,
    ServedRun,
)
from tests.command_line import ROOT
from tests.modules.service.made import (
    OWNER,
    asks,
    calls,
    child_processes,
    end_of,
    fixture,
    heard,
    question_of,
    says,
    serving,
    setting,
    settled,
    unasked,
    until,
    with_seconds,
)
from tests.modules.talks import nobody

ANN, BEN = user_named("ann"), user_named("ben")

SLOW: Final = {"text": says("late"), "after": 60}
"""A reply that nobody waits for."""


def gated(tmp_path: Path) -> str:
    (tmp_path / "gates").mkdir(exist_ok=True)
    return fixture("gated", tmp_path / "gates", id_="gate")


class TestARun:
    async def test_its_events_are_replayed_and_followed_by_whoever_comes(
        self, tmp_path: Path
    ) -> None:
        async with serving(setting(tmp_path, [asks("which?"), says("that")])) as runs:
            run = await runs.start(OWNER, "hm")
            following = asyncio.create_task(heard(run))
            question = await until(run, "clarify.request")
            late = asyncio.create_task(heard(run, question.id))
            run.answer(question_of(question), Answer("the second"))
            events = await following
            assert await late == events[question.id :]
            assert await heard(run) == events
            assert await heard(run, events[-1].id) == []
            assert await heard(run, 10**9) == events[-1:]
            assert await heard(run, -5) == events
        assert end_of(events)["answer"] == "that"
        assert events[0].name == "run.started"

    async def test_a_conversation_goes_on_and_a_name_that_is_not_kept_begins_one(
        self, tmp_path: Path
    ) -> None:
        async with serving(setting(tmp_path, [says("one"), says("two"), says("three")])) as runs:
            first = await heard(await runs.start(OWNER, "hm", conversation_id="notes"))
            second = await heard(await runs.start(OWNER, "hm", conversation_id="notes"))
            other = await runs.start(OWNER, "hm")
            third = await heard(other)
        told = [[e.data["text"] for e in events if e.name == "notice"] for events in (first, third)]
        assert told == [["begins the conversation 'notes': none of that name is kept"], []]
        assert [e.name for e in second].count("notice") == 0
        assert end_of(first)["conversation_id"] == "notes"
        assert end_of(third)["conversation_id"] == other.conversation_id

    async def test_the_terminal_may_work_on_the_same_session_meanwhile(
        self, tmp_path: Path
    ) -> None:
        made = setting(tmp_path, [says("a"), asks("b?"), says("b"), says("c")])
        async with serving(made) as here, serving(made) as there:
            await heard(await here.start(OWNER, "first", conversation_id="notes"))
            waiting = await here.start(OWNER, "second", conversation_id="notes")
            question = await until(waiting, "clarify.request")
            beside = await there.start(OWNER, "third", conversation_id="notes")
            await heard(beside)
            waiting.answer(question_of(question), Answer("this"))
            await heard(waiting)
        items = json.loads(next(made.places.home.rglob("notes.json")).read_text())
        asked = [item["user_query"] for item in items if item["text"].startswith("Started")]
        assert sorted(asked) == ["first", "second", "third"]

    async def test_one_that_takes_too_long_ends_without_an_answer(self, tmp_path: Path) -> None:
        async with serving(with_seconds(setting(tmp_path, [SLOW]), 0.1)) as runs:
            done = end_of(await heard(await runs.start(OWNER, "hm")))
        assert done["status"] == "no_answer"
        assert done["message"] == ("No answer within 0.1 s (the most that a request may take here)")

    async def test_its_trace_is_its_doors(self, tmp_path: Path) -> None:
        work = begin(user="ann")
        async with serving(setting(tmp_path, [says("x")])) as runs:
            events = await heard(await runs.start(OWNER, "hm", execution=work))
        told = [event.data["trace_id"] for event in events if "trace_id" in event.data]
        assert told == [work.trace_id] * 2

    async def test_bad_requests_are_refused_before_they_begin(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [])) as runs:
            with pytest.raises(UsageError, match="no profile 'nobody'"):
                await runs.start(OWNER, "hm", profile="nobody")
            with pytest.raises(UsageError, match="not a session id"):
                await runs.start(OWNER, "hm", conversation_id="../up")
            assert runs.active == ()

    async def test_what_fails_is_told_as_a_problem(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [{"error": "the model is down"}])) as runs:
            events = await heard(await runs.start(OWNER, "hm"))
        problem = events[-2].data["problem"]
        assert isinstance(problem, dict)
        assert (problem["status"], problem["type"]) == (502, "/problems#failed")
        assert end_of(events)["status"] == "failed"

    async def test_what_calls_gave_is_kept_by_its_events_alone(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [calls("echo", 'text="hi"')], fixture("noisy"))
        async with serving(made) as runs:
            run = await runs.start(OWNER, "hm")
            await heard(run)
        assert run.outcome is not None
        assert (run.outcome.answer, run.outcome.steps) == ("hi", ())
        assert run.characters > 500

    async def test_help_is_told_as_an_answer_is(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [])) as runs:
            events = await heard(await runs.start(OWNER, "help"))
        [chunk] = [event.data for event in events if event.name == "response.chunk"]
        assert chunk["content"] == end_of(events)["answer"]


class TestCancelling:
    async def test_before_it_begins(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [])) as runs:
            run = await runs.start(OWNER, "hm")
            run.cancel()
            done = end_of(await heard(run))
        assert (done["status"], done["message"]) == ("interrupted", "interrupted before it began")

    async def test_while_it_waits_for_its_turn(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [SLOW, says("next")]), runs_max=1) as runs:
            first = await runs.start(OWNER, "hm")
            await until(first, "run.started")
            second, third = [await runs.start(OWNER, "hm") for _ in range(2)]
            assert (await until(second, "run.queued")).data["place"] == 1
            assert (await until(third, "run.queued")).data["place"] == 2
            second.cancel()
            assert [event.name for event in await heard(second)] == ["run.queued", "response.done"]
            first.cancel()
            assert end_of(await heard(first))["status"] == "interrupted"
            assert end_of(await heard(third))["answer"] == "next"

    async def test_while_the_agent_opens_which_the_next_request_finds_open(
        self, tmp_path: Path
    ) -> None:
        async with serving(setting(tmp_path, [says("x")])) as runs:
            run = await runs.start(OWNER, "hm")
            await settled(lambda: (tmp_path / RUNS_FOLDER).exists())
            run.cancel()
            run.cancel()
            assert end_of(await heard(run))["status"] == "interrupted"
            assert end_of(await heard(await runs.start(OWNER, "hm")))["answer"] == "x"

    async def test_while_the_budgets_are_read(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [says("x"), says("x")], more="budgets: {day: {tokens: 1000000}}\n")
        async with serving(made) as runs:
            await heard(await runs.start(OWNER, "hm", conversation_id="notes"))
            async with runs.pool.conversation(OWNER, "default", "notes", unasked) as conversation:
                asking = asyncio.create_task(conversation.ask("hm", nobody))
                await settled(lambda: conversation.is_running)
                assert conversation.interrupt()  # in the turn of the loop in which it began
                assert (await asking).status == "interrupted"

    async def test_while_it_answers_and_when_it_has(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [calls("hold", 'name="a"'), says("x")], gated(tmp_path))
        async with serving(made) as runs:
            run = await runs.start(OWNER, "hm")
            await until(run, "tool.start")
            run.cancel()
            events = await heard(run)
            assert end_of(events)["status"] == "interrupted"
            again = await runs.start(OWNER, "hm", conversation_id=run.conversation_id)
            events = await heard(again)
            again.cancel()
            assert await heard(again) == events
        assert end_of(events)["answer"] == "x"

    async def test_a_question_that_is_open_is_told_to_be_open_no_more(self, tmp_path: Path) -> None:
        asking = fixture("asking")
        async with serving(setting(tmp_path, [calls("table"), asks("which?")], asking)) as runs:
            for _ in range(2):
                run = await runs.start(OWNER, "hm")
                question = await until(run, "clarify.request")
                run.cancel()
                events = await heard(run)
                answered = [event for event in events if event.name == "clarify.answered"]
                assert [event.data["answered"] for event in answered] == [False]
                assert end_of(events)["status"] == "interrupted"
                with pytest.raises(NoSuchQuestion):
                    run.answer(question_of(question), Answer("late"))

    async def test_a_question_about_changed_tools_ends_with_the_run_that_saw_it(
        self, tmp_path: Path
    ) -> None:
        text = tmp_path / "text"
        text.write_text("reads a note")
        server = fixture("redefined", text, id_="notes")
        async with serving(setting(tmp_path, [calls("read")], server)) as runs:
            await heard(await runs.start(OWNER, "hm"))
        text.write_text("reads a note, and sends it away")
        async with serving(setting(tmp_path, [calls("read")], server)) as runs:
            run = await runs.start(OWNER, "hm")
            await until(run, "clarify.request")
            run.cancel()
            events = await heard(run)
        assert end_of(events)["status"] == "interrupted"
        answered = [event.name for event in events[-2:]]
        assert answered == ["clarify.answered", "response.done"]
        assert await heard(run) == events


class TestQuestions:
    async def test_events_of_a_question_say_which_part_asks(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [asks("which?"), says("x")])) as runs:
            run = await runs.start(OWNER, "hm")
            await until(run, "clarify.request")
            putting = asyncio.create_task(run.put(Question("q", "part", "go on?", step="fact")))
            await asyncio.sleep(0)
            run.answer("q", Answer("yes"))
            assert await putting == Answer("yes")
            run.cancel()
            events = await heard(run)
        told = [event for event in events if event.name.startswith("clarify.")]
        assert ["step" in event.data for event in told] == [False, True, True, False]

    async def test_the_first_answer_counts_and_one_that_does_not_fit_leaves_it_open(
        self, tmp_path: Path
    ) -> None:
        async with serving(setting(tmp_path, [calls("table")], fixture("asking"))) as runs:
            run = await runs.start(OWNER, "hm")
            id_ = question_of(await until(run, "clarify.request"))
            with pytest.raises(UsageError, match="'guests' does not fit"):
                run.answer(id_, Answer(content={"guests": 99}))
            run.answer(id_, Answer(content={"guests": 2}))
            with pytest.raises(NoSuchQuestion):
                run.answer(id_, Answer(declined=True))
            done = end_of(await heard(run))
        assert done["answer"] == "{'action': 'accept', 'content': {'guests': 2}}"

    async def test_nobody_answers_for_another_run(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [asks("a?"), asks("b?")] * 2)) as runs:
            first, second = [await runs.start(OWNER, "hm") for _ in range(2)]
            ids = [question_of(await until(run, "clarify.request")) for run in (first, second)]
            with pytest.raises(NoSuchQuestion):
                first.answer(ids[1], Answer("x"))


class TestLimits:
    async def test_a_conversation_answers_one_request_at_a_time(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [SLOW])) as runs:
            await runs.start(OWNER, "hm", conversation_id="notes")
            with pytest.raises(ConversationBusy, match="wait for its end"):
                await runs.start(OWNER, "hm", conversation_id="notes")
            await runs.start(ANN, "hm", conversation_id="notes")

    async def test_so_many_wait_of_all_and_of_one_user(self, tmp_path: Path) -> None:
        made = setting(tmp_path, [SLOW] * 2)
        async with serving(made, runs_max=2, queue_max=2, user_runs_max=3) as runs:
            for _ in range(3):
                await runs.start(ANN, "hm")
            with pytest.raises(QueueFull, match="3 of your requests"):
                await runs.start(ANN, "hm")
            await runs.start(BEN, "hm")
            with pytest.raises(QueueFull, match="4 requests are under way"):
                await runs.start(BEN, "hm")

    async def test_draining_takes_no_more_and_waits_for_those_under_way(
        self, tmp_path: Path
    ) -> None:
        async with serving(setting(tmp_path, [asks("which?"), says("x")])) as runs:
            run = await runs.start(OWNER, "hm")
            question = await until(run, "clarify.request")
            draining = asyncio.create_task(runs.drain(20))
            await settled(lambda: runs.is_draining)
            with pytest.raises(Draining):
                await runs.start(OWNER, "hm")
            run.answer(question_of(question), Answer("this"))
            await draining
            assert end_of(await heard(run))["answer"] == "x"

    async def test_finished_runs_leave_the_memory_and_are_read_from_their_files(
        self, tmp_path: Path
    ) -> None:
        count = FINISHED_KEPT + 2
        async with serving(setting(tmp_path, [says("x")] * count)) as runs:
            all_runs = [await runs.start(OWNER, "hm", conversation_id="n")]
            first = await heard(all_runs[0])
            while len(all_runs) < count:
                all_runs.append(await runs.start(OWNER, "hm", conversation_id="n"))
                await heard(all_runs[-1])
            assert runs.get(OWNER, all_runs[-1].id) is all_runs[-1]
            kept = runs.get(OWNER, all_runs[0].id)
            assert kept is not all_runs[0]
            assert await heard(kept) == first
            assert (kept.profile, kept.conversation_id, kept.is_done) == ("default", "n", True)


def texts_kept(home: Path) -> list[str]:
    """What stands in the files of runs and of sessions."""
    return [path.read_text() for kind in ("runs/*", "memory/**/*.json") for path in home.glob(kind)]


class TestEarlierProcesses:
    async def test_a_user_never_finds_anothers_run(self, tmp_path: Path) -> None:
        async with serving(setting(tmp_path, [says("x")])) as runs:
            run = await runs.start(ANN, "hm")
            await heard(run)
            assert runs.get(ANN, run.id) is run
            for id_ in (run.id, "0" * 32, "../" + run.id, run.id.upper(), "", "a\0b"):
                with pytest.raises(NoSuchRun):
                    runs.get(BEN, id_)
        async with serving(setting(tmp_path, [])) as runs:
            assert end_of(await heard(runs.get(ANN, run.id)))["answer"] == "x"
            with pytest.raises(NoSuchRun):
                runs.get(BEN, run.id)
            with pytest.raises(NoSuchRun):
                runs.get(OWNER, run.id)

    async def test_what_a_killed_process_left_ends_as_interrupted_each_time_alike(
        self, tmp_path: Path
    ) -> None:
        made = setting(tmp_path, [])
        words = ("-m", "tests.modules.service.one_run", str(tmp_path))
        program = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdout=subprocess.PIPE, cwd=ROOT
        )
        try:
            assert program.stdout is not None
            run_id = (await program.stdout.readline()).decode().strip()
            async with serving(made) as runs:
                with pytest.raises(RunElsewhere, match="another process"):
                    runs.get(OWNER, run_id)
                program.kill()
                await program.wait()
                once, twice = [await heard(runs.get(OWNER, run_id)) for _ in range(2)]
        finally:
            if program.returncode is None:
                program.kill()
            await program.wait()
        assert once == twice
        assert [event.name for event in once[-2:]] == ["clarify.request", "response.done"]
        assert end_of(once) == once[-1].data
        assert (end_of(once)["status"], end_of(once)["conversation_id"]) == ("interrupted", "notes")

    async def test_an_answer_is_told_as_it_is_and_kept_without_what_is_masked(
        self, tmp_path: Path
    ) -> None:
        card, key = "4111111111111111", "key-of-a-model-0123456789"
        more = "memory: {mask: ['[0-9]{16}']}\n"
        made = setting(tmp_path, [says(f"{card} and {key}")], more=more)
        made.redactor.learn([key])
        async with serving(made) as runs:
            run = await runs.start(OWNER, "go")
            events = await heard(run)
        assert end_of(events)["answer"] == f"{card} and {key}"
        kept = texts_kept(tmp_path)
        assert len(kept) == 2
        assert not [text for text in kept if card in text or key in text]

    async def test_files_of_runs_are_their_users_alone(self, tmp_path: Path) -> None:
        old = os.umask(0)
        try:
            async with serving(setting(tmp_path, [says("x")])) as runs:
                run = await runs.start(ANN, "hm")
                await heard(run)
                file = log_file(runs.pool.home(ANN), run.id)
        finally:
            os.umask(old)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


Move: TypeAlias = tuple[
    Literal["start", "cancel", "answer", "read", "turn", "drain"], int, Literal["x", "?", "!"]
]

MOVES = st.lists(
    st.tuples(
        st.sampled_from(["start", "start", "start", "cancel", "answer", "read", "turn", "drain"]),
        st.integers(0, 9),
        st.sampled_from(["x", "?", "!"]),
    ),
    min_size=4,
    max_size=24,
)
"""What happens, to which run, and how that answers: at once, with a question, or not at all."""


class TestAnyOrder:
    @settings(max_examples=25)
    @given(moves=MOVES, runs_max=st.integers(1, 3))
    def test_each_run_has_one_end_and_ids_without_gaps_and_nothing_stays_behind(
        self, moves: list[Move], runs_max: int
    ) -> None:
        before = child_processes()
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_played(Path(folder), moves, runs_max))
        assert child_processes() <= before


async def _played(home: Path, moves: list[Move], runs_max: int) -> None:
    """Make the moves, then drain, and look at what every reader has heard."""
    replies = [{"x": says("x"), "?": asks("which?"), "!": {"error": "down"}}[m[2]] for m in moves]
    made = setting(home, [*replies, *[says("y")] * len(moves)])
    started: list[ServedRun] = []
    readers: list[tuple[int, asyncio.Task[list[ServiceEvent]]]] = []
    async with serving(made, runs_max=runs_max) as runs:
        for number, move in enumerate(moves):
            await _made(runs, move, started, readers, number)
        await runs.drain(0)
        assert runs.active == ()
        for run in started:
            events = await heard(run)
            done = end_of(events)
            assert events[0].id == 1
            assert done["status"] in {"done", "no_answer", "failed", "interrupted"}
            assert [*map(len, _questions(events))] == [len(_questions(events)[0])] * 2
            assert await heard(runs.get(OWNER, run.id)) == events
        for after, reading in readers:
            told = await reading
            assert [event.id for event in told] == [*range(after + 1, after + 1 + len(told))]
    assert asyncio.all_tasks() == {asyncio.current_task()}


def _questions(events: list[ServiceEvent]) -> tuple[list[ServiceEvent], list[ServiceEvent]]:
    """Those that put a question, and those that close one."""
    return (
        [event for event in events if event.name == "clarify.request"],
        [event for event in events if event.name == "clarify.answered"],
    )


async def _made(
    runs: Runs,
    move: Move,
    started: list[ServedRun],
    readers: list[tuple[int, asyncio.Task[list[ServiceEvent]]]],
    number: int,
) -> None:
    """Make one move."""
    what, which, _ = move
    if what == "start":
        try:
            started.append(await runs.start(OWNER, "hm", conversation_id=f"c{number}"))
        except Draining:
            assert runs.is_draining
    elif what == "turn":
        for _ in range(4**which % 5000):
            await asyncio.sleep(0)
    elif what == "drain" and not which:
        await runs.drain(0)
    elif what != "drain" and started:
        _done_to(started[which % len(started)], what, which, readers)


def _done_to(
    run: ServedRun,
    what: Literal["cancel", "answer", "read"],
    which: int,
    readers: list[tuple[int, asyncio.Task[list[ServiceEvent]]]],
) -> None:
    last = run.last_event
    if what == "cancel":
        run.cancel()
    elif what == "read":
        after = min(which, last.id if last is not None else 0)
        readers.append((after, asyncio.create_task(heard(run, after))))
    elif last is not None and last.name == "clarify.request":
        run.answer(question_of(last), Answer("this"))
