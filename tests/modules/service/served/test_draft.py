"""The answer in pieces: what a client puts together is the answer, whatever was taken back."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.base.redaction import Redactor
from core.events import (
    Answered,
    Event,
    ModelAsked,
    ModelRetried,
    ModelWriting,
    Perceived,
    RunFinished,
)
from core.turn import PerceptionResult, RunOutcome
from core.values import JsonObject
from modules.service.served.draft import Draft
from modules.service.served.events import CHUNK, ServiceEvent
from modules.service.served.run_log import log_file
from tests.command_line import plan
from tests.modules.service.made import OWNER, end_of, heard, says, serving, setting, until

ASKED = ModelAsked("m", "decision")


def writing(answer: str, end: str = "") -> ModelWriting:
    text = f'async def solve():\n    return "FINAL_ANSWER: {answer}{end}'
    return ModelWriting("m", len(text), 0, text)


def pieces(*events: Event) -> list[JsonObject]:
    draft = Draft()
    return [piece for event in events for piece in draft.pieces(event)]


def put_together(chunks: Sequence[JsonObject]) -> str:
    """What a client that follows the description shows at the end."""
    shown = ""
    for chunk in chunks:
        shown = ("" if chunk.get("restart") else shown) + str(chunk["content"])
    return shown


def test_an_answer_grows_and_its_rest_comes_last() -> None:
    assert pieces(ASKED, writing("one"), writing("one two"), Answered("one two\n\nSources: x")) == [
        {"content": "one", "more": True},
        {"content": " two", "more": True},
        {"content": "\n\nSources: x"},
    ]


def test_a_plan_that_has_to_run_is_told_in_one_piece() -> None:
    asked = ModelWriting("m", 30, 0, "async def solve():\n    x = 1\n")
    assert pieces(ASKED, asked, Answered("7")) == [{"content": "7"}]


def test_a_reply_that_does_not_become_the_answer_is_taken_back() -> None:
    assert pieces(ASKED, writing("wrong"), Answered("right"))[-1] == {
        "content": "right",
        "restart": True,
    }
    failed = RunFinished(RunOutcome("no_answer", None, "no"))
    assert pieces(ASKED, writing("wrong"), failed)[-1] == {"content": "", "restart": True}
    assert pieces(ASKED, failed) == []


def test_a_model_that_is_asked_again_begins_anew_only_where_it_says_something_else() -> None:
    again = ModelRetried("m", "torn", 1, 0.1), ASKED
    same = pieces(ASKED, writing("one two"), *again, writing("one"), writing("one two three"))
    assert [*map(dict, same)] == [
        {"content": "one two", "more": True},
        {"content": " three", "more": True},
    ]
    other = pieces(ASKED, writing("one two"), *again, writing("three"))
    assert other[-1] == {"content": "three", "more": True, "restart": True}


def test_of_several_who_write_at_once_nobody_is_told() -> None:
    assert pieces(ASKED, ASKED, writing("one"), Answered("two")) == [{"content": "two"}]
    step = Perceived(2, PerceptionResult())
    assert len(pieces(ASKED, ASKED, writing("one"), step, ASKED, writing("one"))) == 1


def test_what_is_no_plan_and_what_has_lost_its_beginning_is_not_told() -> None:
    assert pieces(ModelAsked("m", "text"), writing("one")) == []
    assert pieces(ASKED, ModelWriting("m", 9_000, 0, "FINAL_ANSWER: the end of it")) == []


def paced(text: str) -> object:
    return {"text": text, "seconds": 1.2}


def chunks_of(events: Sequence[ServiceEvent]) -> list[JsonObject]:
    return [event.data for event in events if event.name == CHUNK]


async def test_a_run_tells_the_answer_while_it_is_written(tmp_path: Path) -> None:
    long = " ".join(f"word{n}" for n in range(40))
    async with serving(setting(tmp_path, [paced(says(long))])) as runs:
        run = await runs.start(OWNER, "say much")
        events = await heard(run)
    chunks = chunks_of(events)
    assert chunks[0]["more"]
    assert "more" not in chunks[-1]
    assert put_together(chunks) == long == end_of(events)["answer"]


async def test_a_draft_that_fails_is_replaced(tmp_path: Path) -> None:
    torn = plan('return "FINAL_ANSWER: the sum is twelve of them" + 1')
    async with serving(setting(tmp_path, [paced(torn), says("it is 12")])) as runs:
        events = await heard(await runs.start(OWNER, "sum"))
    chunks = chunks_of(events)
    assert chunks[0]["more"]
    assert "restart" in chunks[-1]
    assert put_together(chunks) == "it is 12" == end_of(events)["answer"]


async def test_a_draft_is_taken_back_where_the_run_ends_by_an_exception(tmp_path: Path) -> None:
    torn = plan('return "FINAL_ANSWER: the sum is twelve of them" + 1')
    async with serving(setting(tmp_path, [paced(torn)])) as runs:  # there is no second reply
        events = await heard(await runs.start(OWNER, "sum"))
    chunks = chunks_of(events)
    assert chunks[0]["more"]
    assert chunks[-1]["restart"]
    assert put_together(chunks) == ""
    assert end_of(events)["status"] == "failed"


async def test_a_draft_of_a_service_that_was_killed_is_taken_back(tmp_path: Path) -> None:
    async with serving(setting(tmp_path, [paced(says("one two three four five"))])) as runs:
        run = await runs.start(OWNER, "say much")
        await until(run, CHUNK)
        lines = log_file(runs.pool.home(OWNER), run.id).read_text()
    log_file(tmp_path, other := "0" * 32).write_text(lines)
    async with serving(setting(tmp_path, [])) as runs:
        events = await heard(runs.get(OWNER, other))
    assert chunks_of(events)[-1]["restart"]
    assert end_of(events)["status"] == "interrupted"


async def test_no_piece_of_a_secret_is_kept(tmp_path: Path) -> None:
    phrase = "alpha bravo charlie delta echo foxtrot golf"
    made = setting(tmp_path, [paced(says(f"it is {phrase} indeed"))])
    redactor = Redactor({"SECRET_KEY": phrase})
    async with serving(replace(made, redactor=redactor)) as runs:
        run = await runs.start(OWNER, "tell me")
        events = await heard(run)
        lines = log_file(runs.pool.home(OWNER), run.id).read_text().splitlines()
    assert put_together(chunks_of(events)) == f"it is {phrase} indeed"
    assert "bravo" not in "".join(lines)
    kept = [fields for _, name, fields in map(json.loads, lines[1:]) if name == CHUNK]
    assert len(kept) == len(chunks_of(events))
    assert put_together(kept) == redactor.text(f"it is {phrase} indeed")
