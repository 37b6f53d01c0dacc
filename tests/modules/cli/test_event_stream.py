"""stream-json of a request that is answered in parts: events of events, all as the schema says."""

import io
import json
from typing import Any

import jsonschema_rs
import pytest

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
    Replanned,
    RoleChosen,
    RunFinished,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallStarted,
)
from core.team.board import BoardEntry
from core.team.graph import GraphOutcome, Subtask, TaskGraph
from core.team.messages import Message
from core.turn import FinalAnswer, PerceptionResult, Plan, RunOutcome, Step, Usage
from core.values import Json
from modules.cli.event_stream import EVENT_CHARACTERS_MAX, EventWriter
from modules.cli.schema import SCHEMAS
from modules.terminal.answer import print_json

CANARY = "sk-0123456789abcdef"
FIRST = Subtask("first", "find A", tools=("math.add",), needs="input")
GRAPH = TaskGraph("compare", (FIRST, Subtask("both", "say {{first}}", role="writer")))
STEP = Step(1, 1, PerceptionResult(), Plan("p"), FinalAnswer("3"), 0.25)
EVENTS: list[Event] = [
    ActionChosen("graph", "two parts"),
    GraphPlanned(GRAPH, ("note",)),
    RoleChosen("first", "analyst", "fits"),
    SubtaskChanged(FIRST, "completed", 2, "alpha", 0.5),
    Replanned("first", "why", GRAPH),
    MessageSent(Message("analyst", None, "bid", "first", "text", 1.0, ("a", "b"))),
    BoardChanged(BoardEntry("facts", "k", "v", "user", 1, 1.0)),
    Judged("need_more", "why"),
    SubtaskEvent("first", 1, ToolCallStarted(1, "math.add", {"a": 1})),
    SubtaskEvent("first", 1, StepFinished(STEP)),
    SubtaskEvent("first", 1, SubtaskEvent("deeper", 1, StepFinished(STEP))),
]


def within(depth: int, event: Event) -> Event:
    """The event of a part, or of a part's part."""
    return event if not depth else SubtaskEvent("a", 1, within(depth - 1, event))


async def printed(*events: Event, tells_prompts: bool = False) -> list[dict[str, Any]]:
    stream = io.StringIO()
    write = EventWriter(stream, Redactor({"API_KEY": CANARY}), tells_prompts=tells_prompts)
    for event in events:
        await write(event)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
async def test_each_event_of_a_team_is_what_the_schema_says(event: Event) -> None:
    (told,) = await printed(event)
    schema = jsonschema_rs.validator_for(SCHEMAS["line"]())
    assert [str(error) for error in schema.iter_errors(told)] == []
    known = SCHEMAS["line"]()["$defs"]
    assert isinstance(known, dict)
    of_its_kind = json.loads(json.dumps(known[told["type"]]))
    assert told.keys() == of_its_kind["properties"].keys()


async def test_a_parts_event_stands_in_it_as_it_would_by_itself() -> None:
    for inner in (ToolCallStarted(1, "math.add", {"a": 1}), StepFinished(STEP)):
        (alone,) = await printed(inner)
        (nested,) = await printed(SubtaskEvent("first", 2, inner, "4bf9", "reader"))
        assert nested == {
            "type": "subtask_event",
            "schema": 1,
            "subtask": "first",
            "attempt": 2,
            "event": alone,
            "span_id": "4bf9",
            "role": "reader",
        }


async def test_the_end_of_a_parts_run_is_not_printed_nor_is_a_prompt() -> None:
    asked = ModelAnswered("m", "decision", Usage(), 1, None, "reply", "the prompt")
    finished = RunFinished(RunOutcome("done", "3", "", (STEP,)))
    for depth in (1, 2):
        assert await printed(within(depth, finished)) == []
        assert "the prompt" not in json.dumps(await printed(within(depth, asked)))
        assert "the prompt" in json.dumps(await printed(within(depth, asked), tells_prompts=True))


async def test_a_parts_answer_is_redacted_and_an_event_of_it_has_its_bound() -> None:
    (told,) = await printed(SubtaskEvent("a", 1, Answered(CANARY)))
    assert told["event"]["text"] == "[redacted API_KEY]"
    many: list[Json] = ["x" * 1_000] * 1_000
    (told,) = await printed(within(2, ToolCallStarted(1, "t", {"a": many})))
    assert len(json.dumps(told)) < 2 * EVENT_CHARACTERS_MAX


def test_the_result_holds_the_graph() -> None:
    ended = GraphOutcome(
        GRAPH,
        {"first": "failed", "both": "blocked"},
        reasons={"first": "no A", "both": "it needs first, which failed"},
        stopped="",
        attempts={"first": 3},
        seconds={"first": 0.12345678},
        roles={"first": "analyst"},
    )
    stream = io.StringIO()
    outcome = RunOutcome("no_answer", None, "No answer: no A.", graph=ended)
    print_json(outcome, "notes", "m", stream, Redactor({}))
    told = json.loads(stream.getvalue())
    schema = jsonschema_rs.validator_for(SCHEMAS["result"]())
    assert [str(error) for error in schema.iter_errors(told)] == []
    first, both = told["graph"]["subtasks"]
    assert first == {
        "id": "first",
        "description": "find A",
        "role": "analyst",
        "state": "failed",
        "after": [],
        "attempts": 3,
        "seconds": 0.123457,
        "result": None,
        "reason": "no A",
    }
    assert (both["role"], both["after"], both["attempts"]) == ("writer", ["first"], 0)
    assert (both["seconds"], told["graph"]["goal"]) == (None, "compare")
