"""A team under attack: random failures, delays, interruptions and budgets, and each fault alone."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.schema import TeamSection
from config.settings import ROOT, Places
from core.errors import ModelUnavailable, UsageError
from core.events import (
    Event,
    GraphPlanned,
    Replanned,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
)
from core.ports import ModelReply, ModelRequest, ModelTraits, ReplyDelta
from core.session import MultiMCP
from core.team.graph import Subtask, SubtaskState, TaskGraph
from core.team.schedule import REPLANS_MAX, TRIES
from core.turn import RunOutcome, Usage
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import PacedReply
from modules.models.serving.budget import RunLimits
from modules.models.serving.watched import deltas_of
from modules.sandbox import Sandbox
from modules.trace.decisions import board_of
from tests.core.dispatch.fixture_servers import server
from tests.core.team.graphs import random_graphs
from tests.doubles import profile
from tests.modules.team.test_run import ENOUGH, Played, answer, by_words, plan

TOKENS: Final = 50
"""What each request to the model takes."""

WAIT_SECONDS: Final = 20

Say = Callable[[str], ModelReply | Exception]

LAWFUL: Final[Mapping[SubtaskState, tuple[SubtaskState, ...]]] = {
    "pending": ("ready", "blocked", "cancelled"),
    "ready": ("running", "cancelled"),
    "running": ("running", "completed", "failed", "cancelled"),
    "completed": (),
    "failed": (),
    "blocked": (),
    "cancelled": (),
}
AT_END: Final = ("completed", "failed", "blocked", "cancelled")


class Moody:
    """A model that says what it is made to, after some turns of the loop; counts its requests."""

    name = "moody"
    traits = ModelTraits()

    def __init__(self, say: Say, turns: Callable[[str], int] = lambda _: 0) -> None:
        self.say, self.turns = say, turns
        self.under_way = self.most_under_way = self.asked = self.tokens = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        if request.purpose == "perception":
            reply: ModelReply | Exception = ModelReply("{}", Usage(model_calls=1))
        elif request.purpose == "text":
            reply = ModelReply(ENOUGH, Usage(model_calls=1))
        else:
            self.asked += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                for _ in range(self.turns(request.prompt)):
                    await asyncio.sleep(0)
                reply = self.say(request.prompt)
            finally:
                self.under_way -= 1
        if isinstance(reply, Exception):
            raise reply
        self.tokens += reply.usage.tokens
        for delta in deltas_of(reply):
            yield delta

    async def aclose(self) -> None:
        """Nothing to release."""


def said(text: str, *, declined: bool = False) -> ModelReply:
    return ModelReply(text, Usage(model_calls=1, input_tokens=TOKENS), declined=declined)


@dataclass
class Chances:
    """What becomes of each subtask, by chance: the same each time, whichever comes first."""

    seed: int
    faults: float
    replies: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, prompt: str) -> ModelReply | Exception:
        if (lost := re.search(r"^To be replaced: (.*)$", prompt, re.MULTILINE)) is not None:
            return said(self._other_way(lost[1]))
        number = re.findall(r"\bdo (\d+)\b", prompt)[-1]
        chance, which = self._drawn(number)[:2]
        if chance >= 256 * self.faults:
            return said(answer(f"<{number}>"))
        faults = (
            said("I have no idea, sorry."),
            said("I must not", declined=True),
            said(plan("return nothing_of_the_kind")),
            said(""),
            ModelUnavailable("the model is down"),
        )
        return faults[which % len(faults)]

    def turns(self, prompt: str) -> int:
        """For how many turns of the event loop the model thinks."""
        return sha256(f"{self.seed} {len(prompt)}".encode()).digest()[0] % 4

    def _drawn(self, what: str) -> bytes:
        self.replies[what] += 1
        return sha256(f"{self.seed} {what} {self.replies[what]}".encode()).digest()

    def _other_way(self, lost: str) -> str:
        """Sometimes none, else one or two other parts, in a row or beside each other."""
        kind, size = self._drawn(lost)[:2]
        parts: list[dict[str, object]] = []
        for _ in range(1 + size % 2 if kind % 3 else 0):
            number = 1_000 + self.replies.total() * 10 + len(parts)
            after = [parts[-1]["id"]] if parts and kind % 2 else []
            parts.append({"id": f"n{number}", "description": f"do {number}", "after": after})
        return json.dumps({"subtasks": parts})


class Run:
    """One run of a graph, and what was told of it; `at` is done when so many events are told."""

    def __init__(
        self,
        folder: Path,
        model: Moody,
        limits: RunLimits | None = None,
        at: Mapping[int, Callable[["Run"], object]] | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.model = model
        self.asked: asyncio.Task[RunOutcome] | None = None
        self._at = at or {}
        quiet = profile()
        forgetful = quiet.memory.model_copy(update={"memory_service": False})
        self.talk = Conversation(
            quiet.model_copy(update={"memory": forgetful}),
            Places(ROOT, folder),
            ModelManager(model, limits=limits or RunLimits()),
            MultiMCP([]),
            Sandbox(),
            self._hear,
        )

    async def _hear(self, event: Event) -> None:
        self.events.append(event)
        if (act := self._at.get(len(self.events))) is not None:
            act(self)

    async def ask(self, graph: TaskGraph) -> RunOutcome | None:
        """The outcome; None where the run was cancelled from outside. Leaves no task."""
        before = asyncio.all_tasks()
        async with asyncio.timeout(WAIT_SECONDS), self.talk:
            self.asked = asyncio.create_task(self.talk.ask(graph.goal, graph=graph))
            await asyncio.wait({self.asked})
        assert asyncio.all_tasks() <= before | {self.asked}
        assert self.model.under_way == 0
        return None if self.asked.cancelled() else self.asked.result()


def interrupt(run: Run) -> None:
    run.talk.interrupt()


def interrupt_and_cancel(run: Run) -> None:
    """What Ctrl-C does, pressed twice at the prompt."""
    run.talk.interrupt()
    assert run.asked is not None
    run.asked.cancel()


def assert_well_formed(events: list[Event], outcome: RunOutcome, graph: TaskGraph) -> None:
    """First and last, lawful states, and events of a subtask while it runs only."""
    assert isinstance(events[0], RunStarted)
    assert [n for n, event in enumerate(events) if isinstance(event, RunFinished)] == [
        len(events) - 1
    ]
    assert events[-1] == RunFinished(outcome)
    states: dict[str, SubtaskState] = {}
    attempts = dict.fromkeys(graph.ids, 0)
    for event in events:
        match event:
            case GraphPlanned(todo):
                states = dict.fromkeys(todo.ids, "pending")
            case Replanned(_, _, todo):
                kept = ("ready", "running", "completed")
                states = {
                    id_: state if (state := states.get(id_)) in kept else "pending"
                    for id_ in todo.ids
                }
            case SubtaskChanged(subtask, state, attempt):
                before = states[subtask.id]
                assert state in LAWFUL[before], f"{subtask.id}: {before} → {state}"
                if state == "running":
                    # Which is where each that it needs has its result, and no second time at once.
                    assert all(states[needed] == "completed" for needed in subtask.dependencies)
                    assert attempt == (attempts[subtask.id] + 1 if before == "running" else 1)
                    attempts[subtask.id] = attempt
                    assert attempt <= TRIES
                states[subtask.id] = state
            case SubtaskEvent(id_, attempt):
                assert states[id_] == "running"
                assert attempt == attempts[id_]
            case _:
                pass
    assert outcome.graph is None or states == outcome.graph.states


def assert_consistent(outcome: RunOutcome) -> None:
    """Results, reasons and states tell the same."""
    assert outcome.graph is not None
    graph = outcome.graph
    assert {*graph.states.values()} <= {*AT_END}
    assert {id_ for id_, state in graph.states.items() if state == "completed"} == {*graph.results}
    for id_, state in graph.states.items():
        if state in ("failed", "blocked"):
            assert graph.reasons[id_]
    if outcome.status == "done":
        assert {*graph.graph.results} <= {*graph.results}
    else:
        assert outcome.answer is None
        assert outcome.message


SEEDS: Final = st.integers(0, 1_000_000)


@settings(max_examples=15)
@given(random_graphs(most=12), SEEDS, st.sampled_from((0, 0.2, 0.6)))
def test_any_graph_ends_in_good_order_whatever_its_parts_do(
    todo: TaskGraph, seed: int, faults: float
) -> None:
    chances = Chances(seed, faults)
    model = Moody(chances, chances.turns)
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), model)
        outcome = asyncio.run(run.ask(todo))
    assert outcome is not None
    assert_well_formed(run.events, outcome, todo)
    assert_consistent(outcome)
    assert sum(isinstance(event, Replanned) for event in run.events) <= REPLANS_MAX
    if not faults:
        assert outcome.status == "done"
        assert model.asked == len(todo.ids)


@settings(max_examples=15)
@given(
    random_graphs(most=8),
    SEEDS,
    st.sampled_from((0, 0.3)),
    st.integers(1, 120),
    st.sampled_from((interrupt, interrupt_and_cancel)),
)
def test_interrupted_at_any_event_it_ends_and_leaves_nothing(
    todo: TaskGraph, seed: int, faults: float, at: int, how: Callable[[Run], None]
) -> None:
    chances = Chances(seed, faults)
    model = Moody(chances, chances.turns)
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), model, at={at: how})
        outcome = asyncio.run(run.ask(todo))
    if outcome is None:
        return
    assert_well_formed(run.events, outcome, todo)
    if outcome.graph is not None:
        assert_consistent(outcome)
    if outcome.status == "interrupted":
        assert outcome.message


@settings(max_examples=15)
@given(
    random_graphs(most=12),
    SEEDS,
    st.integers(1, 12 * TOKENS),
)
def test_the_budget_is_passed_by_no_more_than_the_requests_under_way(
    todo: TaskGraph, seed: int, most: int
) -> None:
    chances = Chances(seed, 0.1)
    model = Moody(chances, chances.turns)
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), model, RunLimits(max_tokens=most))
        outcome = asyncio.run(run.ask(todo))
    assert outcome is not None
    assert_well_formed(run.events, outcome, todo)
    assert_consistent(outcome)
    assert outcome.usage.tokens == model.tokens
    assert model.tokens < most + model.most_under_way * TOKENS


# One fault after the other.


async def test_a_tool_of_a_server_that_nobody_has_asked_yet_is_no_missing_one(
    tmp_path: Path,
) -> None:
    part = Subtask("one", "say it", tools=("able.echo",))
    servers = MultiMCP([server("able"), server("sums")])
    played = Played(tmp_path, by_words(say_it=answer("it")), servers=servers)
    outcome = await played.ask(TaskGraph("what the sums server says", (part,)))
    assert outcome.answer == "it"


async def test_a_tool_that_is_missing_is_told_before_anything_runs(tmp_path: Path) -> None:
    played = Played(tmp_path, by_words())
    part = Subtask("one", "say it", tools=("able.ecko",))
    with pytest.raises(UsageError, match=r"'able.ecko', a tool that is not there; did you mean"):
        await played.ask(TaskGraph("say it", (part,)))
    assert not played.model.requests


async def test_a_worker_that_raises_costs_its_own_part(tmp_path: Path) -> None:
    def replies(prompt: str) -> str:
        if "second fact" in prompt:
            raise KeyError("odd")
        return answer("one")

    played = Played(tmp_path, replies)
    outcome = await played.ask()
    assert outcome.status == "no_answer"
    assert "second: it met a bug of ours (KeyError: 'odd'). 1 part of 3" in outcome.message
    assert outcome.graph is not None
    assert outcome.graph.results == {"first": "one"}
    assert played.of(RunFinished) == [RunFinished(outcome)]


async def test_a_worker_that_hangs_costs_its_own_part(tmp_path: Path) -> None:
    never = PacedReply(ModelReply(answer("late")), after=3_000)
    hangs = Subtask("hangs", "hang", critical=True)
    none = json.dumps({"subtasks": []})
    played = Played(
        tmp_path,
        by_words(To_be_replaced=none),
        paced=[never],
        team=TeamSection(deadline_seconds=0.2),
    )
    outcome = await played.ask(TaskGraph("hang", (hangs, Subtask("next", "go on after {{hangs}}"))))
    assert outcome.graph is not None
    assert outcome.graph.states == {"hangs": "failed", "next": "blocked"}
    assert outcome.graph.reasons["hangs"] == "no result within 0.2 s"


FACT = plan("""return 'FINAL_ANSWER: {"roof": {"colour": "%s"}}'""")
SEEN = plan(
    """seen = await tools.echo(text='blue')
    return 'FINAL_ANSWER: {"roof": {"colour": "' + seen + '"}}'"""
)


async def test_of_two_that_contradict_who_has_a_source_is_right_and_the_board_tells(
    tmp_path: Path,
) -> None:
    parts = (Subtask("first", "find the first fact"), Subtask("second", "find the second fact"))
    replies = by_words(first_fact=FACT % "red", second_fact=SEEN)
    played = Played(tmp_path, replies)
    await played.ask(TaskGraph("tell of the roof", parts))
    board = {(each.topic, each.key): each for each in board_of(await played.talk.session.load())}
    assert board["facts", "roof.colour"].value == "blue"
    assert board["facts", "roof.colour"].source == "able.echo"
    decided = board["decisions", "facts.roof.colour"].value
    assert "«blue»" in decided
    assert "not «red»" in decided
    assert decided.endswith("a source beats a memory")


@pytest.mark.parametrize("under", ["one", "renamed"])
async def test_a_replanning_that_repeats_itself_ends_in_a_plain_statement(
    tmp_path: Path, under: str
) -> None:
    asked: list[str] = []

    def replies(prompt: str) -> ModelReply:
        if "To be replaced:" not in prompt:
            return ModelReply("I won't", declined=True)
        asked.append(prompt)
        return ModelReply(json.dumps({"subtasks": [{"id": under, "description": "Do  it"}]}))

    played = Played(tmp_path, replies, calls=40)
    outcome = await played.ask(TaskGraph("one", (Subtask("one", "do it", critical=True),)))
    assert (outcome.status, outcome.answer) == ("no_answer", None)
    assert outcome.message.startswith("No answer: one failed, without which")
    assert not played.of(Replanned)
    assert all("this is what has failed" in prompt for prompt in asked[1:])
    assert len(asked) == 3


async def test_plans_that_take_turns_are_each_tried_once(tmp_path: Path) -> None:
    def replies(prompt: str) -> ModelReply:
        if "To be replaced:" not in prompt:
            return ModelReply("I won't", declined=True)
        other = "that" if "do: do it" in prompt else "it"
        return ModelReply(json.dumps({"subtasks": [{"id": other, "description": f"do {other}"}]}))

    played = Played(tmp_path, replies, calls=40)
    outcome = await played.ask(TaskGraph("one", (Subtask("it", "do it", critical=True),)))
    assert outcome.answer is None
    assert len(played.of(Replanned)) == 1
    begun = {e.subtask.id for e in played.events if isinstance(e, SubtaskChanged)}
    assert begun == {"it", "that"}
