"""What a session keeps of a request that was answered in parts, and reads back."""

import itertools
import json
from pathlib import Path
from typing import get_args

import pytest

from config.schema import MemorySection
from core.base.redaction import Redactor
from core.events import (
    ActionChosen,
    Answered,
    BoardChanged,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    Perceived,
    Replanned,
    RoleChosen,
    RunFinished,
    RunStarted,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from core.team.board import BoardEntry
from core.team.graph import Subtask, TaskGraph
from core.team.messages import Message, MessageKind
from core.turn import (
    USAGE,
    Exchange,
    FinalAnswer,
    PerceptionResult,
    Plan,
    RunOutcome,
    Step,
    ToolCall,
    Usage,
)
from modules.memory.tool_record import ToolCalls
from modules.session.history import activity_of, exchanges, runs_in, usage_of
from modules.session.memory import MemoryManager
from modules.session.recorder import MAX_FIELD_CHARS, SessionRecorder
from modules.session.team_items import graph_of, graph_outcome
from tests.modules.session.opened import opened

CANARY = "sk-0123456789abcdef"
FIRST = Subtask("first", "find A", critical=True)
OTHER = Subtask("other", "find B", role="researcher")
BOTH = Subtask("both", "join {{first}} and {{other.name}}")
GRAPH = TaskGraph("compare A with B", (FIRST, OTHER, BOTH))
USED = Usage(model_calls=1, input_tokens=10, output_tokens=5)


def inner(id_: str, *events: Event) -> list[Event]:
    return [SubtaskEvent(id_, 1, event) for event in events]


def asked(id_: str, prompt: str) -> ModelAnswered:
    return ModelAnswered("m", "decision", USED, 0.5, None, f"plan of {id_}", prompt)


def part(id_: str) -> list[list[Event]]:
    """A subtask's run, in pieces that may be told between those of another."""
    call = ToolCall("math.add", {"of": id_}, True, id_, 0.25)
    planned = Step(1, 1, PerceptionResult(), Plan(f"# {id_}"), FinalAnswer(id_), 0.5)
    return [
        inner(id_, RunStarted("notes", f"the words of {id_}", "m")),
        inner(id_, Perceived(1, PerceptionResult(intent=f"intent of {id_}"))),
        inner(id_, asked(id_, f"prompt of {id_}")),
        inner(id_, ToolCallStarted(1, "math.add", {"of": id_})),
        inner(id_, ToolCallFinished(1, call)),
        inner(id_, StepFinished(planned)),
        inner(id_, Answered(id_), RunFinished(RunOutcome("done", id_, "", usage=USED))),
    ]


SIDE_BY_SIDE = [
    event
    for pair in zip(part("first"), part("other"), strict=True)
    for each in pair
    for event in each
]
TOLD: list[Event] = [
    RunStarted("notes", "compare A with B", "m"),
    ActionChosen("graph", "two parts"),
    GraphPlanned(GRAPH, ("c is done in both",)),
    RoleChosen("first", "analyst", "it has the tools"),
    SubtaskChanged(FIRST, "running"),
    SubtaskChanged(OTHER, "running"),
    *SIDE_BY_SIDE,
    SubtaskChanged(FIRST, "completed", 1, "alpha", 1.5),
    SubtaskChanged(OTHER, "failed", 3, "nothing there", 2.5),
    SubtaskChanged(BOTH, "blocked"),
    MessageSent(Message("analyst", None, "result", "first", "alpha", 1.0)),
    BoardChanged(BoardEntry("progress", "first", "done", "coordinator", 1, 2.0)),
    BoardChanged(BoardEntry("decisions", "name", "alpha", "reviewer", 1, 2.0, "page")),
    Judged("blocked", "B is missing"),
    RunFinished(RunOutcome("no_answer", None, "No answer: other failed", usage=USED,
                           usage_by_model={"m": USED})),
]  # fmt: skip


async def kept(*events: Event, folder: Path | None = None) -> MemoryManager:
    """A session with what these events leave, a second after each other."""
    memory = MemoryManager("notes", folder or "memory", enabled=folder is not None)
    times = itertools.count(1_800_000_000)
    record = SessionRecorder(
        memory, MemorySection(), lambda: next(times), Redactor({"MODEL_API_KEY": CANARY})
    )
    for event in events:
        assert await record(event) is None
    return memory


async def test_of_messages_those_that_decide_are_kept() -> None:
    said = [
        MessageSent(Message("analyst", "coordinator", kind, "first", f"of {kind}", 1.0))
        for kind in get_args(MessageKind)
    ]
    items = (await kept(*TOLD[:1], *said)).get_session_items()
    told = [item.metadata["kind"] for item in items if item.metadata.get("team") == "MessageSent"]
    assert told == ["verdict", "question", "answer"]


async def test_what_parts_ask_and_answer_is_no_exchange_and_their_usage_counts_once() -> None:
    items = (await kept(*TOLD)).get_session_items()
    calls = ('add(of="first")', 'add(of="other")')
    assert exchanges(items) == (Exchange("compare A with B", None, calls),)
    assert usage_of(items) == {"m": USED}
    assert [len(run) for run in runs_in(items)] == [len(items)]
    assert not any("the words of" in item.model_dump_json() for item in items)


async def test_parts_side_by_side_keep_their_calls_plans_and_prompts_apart() -> None:
    items = (await kept(*TOLD)).get_session_items()
    for id_ in ("first", "other"):
        own = [item for item in items if item.metadata.get("subtask_attempt") == 1
               and item.metadata["subtask"] == id_]  # fmt: skip
        assert [item.type for item in own] == ["tool_call", "tool_output", "tool_output"]
        assert own[0].tool_args == own[1].tool_args == {"of": id_}
        plan = own[2].metadata
        assert f"intent of {id_}" in json.dumps(plan["perception"])
        assert json.dumps(plan["model_calls"]).count("purpose") == 1
        assert USAGE not in plan


async def test_calls_of_parts_count_as_any_other() -> None:
    items = (await kept(*TOLD)).get_session_items()
    calls = ToolCalls()
    calls.add(items)
    assert calls.records()["math.add"].calls == 2
    assert (activity_of(items).requests, activity_of(items).plans) == (1, 2)


async def test_the_course_is_read_back_by_a_later_process(tmp_path: Path) -> None:
    await kept(*TOLD, folder=tmp_path)
    items = opened("notes", tmp_path).get_session_items()
    outcome = graph_outcome(items)
    assert outcome is not None
    assert outcome.graph == GRAPH
    assert outcome.states == {"first": "completed", "other": "failed", "both": "blocked"}
    assert (outcome.results, outcome.reasons["other"]) == ({"first": "alpha"}, "nothing there")
    assert (outcome.roles, outcome.attempts["other"]) == ({"first": "analyst"}, 3)
    assert outcome.seconds["first"] == 1.5
    course = [item.metadata["team"] for item in items if "team" in item.metadata]
    assert course == [
        *("ActionChosen", "GraphPlanned", "RoleChosen"),
        *("SubtaskChanged", "SubtaskChanged", "SubtaskChanged", "BoardChanged", "Judged"),
    ]
    (decided,) = [item for item in items if item.metadata.get("team") == "BoardChanged"]
    assert (decided.text, decided.metadata["source"]) == ("reviewer decided name: alpha", "page")


async def test_of_a_graph_planned_anew_the_last_one_counts() -> None:
    anew = TaskGraph(GRAPH.goal, (FIRST, Subtask("third", "find C after all")))
    memory = await kept(*TOLD[:-1], Replanned("other", "nothing there", anew))
    outcome = graph_outcome(memory.get_session_items())
    assert outcome is not None
    assert (outcome.graph, outcome.states) == (anew, {"first": "completed", "third": "pending"})


async def test_one_plan_and_a_run_without_parts_leave_nothing_of_a_team() -> None:
    memory = await kept(TOLD[0], ActionChosen("plan", "the default"), TOLD[-1])
    items = memory.get_session_items()
    assert graph_outcome(items) is None
    assert not any("team" in item.metadata for item in items)


async def test_what_no_plan_told_of_a_models_calls_is_told_at_the_end_of_the_part() -> None:
    events = [
        *inner("first", TOLD[0], asked("first", "p"), RunFinished(RunOutcome("failed", None, "no")))
    ]
    (item,) = (await kept(*events)).get_session_items()
    assert (item.type, item.metadata["subtask"]) == ("run_metadata", "first")
    assert item.user_query is None


async def test_a_part_of_a_part_has_the_ids_of_both() -> None:
    nested = SubtaskEvent("outer", 2, SubtaskEvent("inner", 3, ToolCallStarted(1, "math.add", {})))
    (item,) = (await kept(nested)).get_session_items()
    assert (item.metadata["subtask"], item.metadata["subtask_attempt"]) == ("outer.inner", 3)


async def test_a_text_that_is_too_long_is_cut_and_a_graph_that_is_stays_out() -> None:
    long = SubtaskChanged(FIRST, "completed", 1, "x" * (2 * MAX_FIELD_CHARS), 1.0)
    many = TaskGraph("x", tuple(Subtask(f"t{n}", "y" * 4_000, "z" * 4_000) for n in range(200)))
    changed, planned = (await kept(long, GraphPlanned(many))).get_session_items()
    assert MAX_FIELD_CHARS < len(str(changed.metadata["text"])) < MAX_FIELD_CHARS + 100
    assert (planned.metadata["team"], graph_of(planned)) == ("GraphPlanned", None)


@pytest.mark.parametrize(
    "event",
    [
        ActionChosen("graph", CANARY),
        GraphPlanned(TaskGraph(CANARY, (Subtask("a", CANARY),)), (CANARY,)),
        RoleChosen("a", CANARY, CANARY),
        SubtaskChanged(FIRST, "failed", 1, "x" * (MAX_FIELD_CHARS - 5) + CANARY),
        Replanned("a", CANARY, GRAPH),
        BoardChanged(BoardEntry("decisions", CANARY, CANARY, CANARY, 1, 1.0, CANARY)),
        Judged("blocked", CANARY),
        SubtaskEvent(CANARY, 1, ToolCallStarted(1, CANARY, {CANARY: CANARY})),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_no_secret_is_written_down(event: Event) -> None:
    (item,) = (await kept(event)).get_session_items()
    assert CANARY[:5] not in item.model_dump_json()


@pytest.mark.parametrize("spoilt", ["null", "3", '{"goal": 1}', '{"goal": "", "subtasks": [{}]}'])
async def test_a_graph_that_cannot_be_read_is_none(spoilt: str) -> None:
    (item,) = (await kept(GraphPlanned(GRAPH))).get_session_items()
    odd = item.model_copy(update={"metadata": {**item.metadata, "graph": json.loads(spoilt)}})
    assert graph_outcome([odd]) is None
