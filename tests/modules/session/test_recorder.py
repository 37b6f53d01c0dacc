"""The recorder: which events become which items, and what happens when they can't be kept."""

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from config.schema import MemorySection
from core.base.redaction import Redactor
from core.events import (
    Answered,
    Clarified,
    Event,
    ModelAnswered,
    ModelReplaced,
    ModelRetried,
    Notice,
    Observed,
    Perceived,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    ServerLogged,
    StepFinished,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.turn import (
    ActionResult,
    Exchange,
    FinalAnswer,
    FurtherProcessing,
    MemoryItem,
    PerceptionResult,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    Step,
    ToolCall,
    Usage,
)
from core.values import Json, JsonObject
from modules.session.history import TRACE, exchanges
from modules.session.memory import MemoryManager
from modules.session.recorder import (
    MAX_FIELD_CHARS,
    MAX_FIELD_VALUES,
    MAX_MODEL_CALLS,
    MAX_REPAIRS,
    SUMMARY_CHARS,
    SessionRecorder,
)
from tests.modules.session.opened import opened

NOW = 1_795_000_000.25
CANARY = "sk-0123456789abcdef"


def recorder(memory: MemoryManager, *, summarize: bool = True, tag: bool = True) -> SessionRecorder:
    section = MemorySection(summarize_tool_results=summarize, tag_interactions=tag)
    return SessionRecorder(
        memory, section, clock=lambda: NOW, redactor=Redactor({"MODEL_API_KEY": CANARY})
    )


async def recorded(event: Event, *, summarize: bool = True, tag: bool = True) -> MemoryItem:
    """The one item that an event leaves."""
    memory = MemoryManager("notes", enabled=False)
    assert await recorder(memory, summarize=summarize, tag=tag)(event) is None
    (item,) = memory.get_session_items()
    assert item.timestamp == NOW
    assert item.session_id == "notes"
    return item


def step(result: ActionResult, repairs: tuple[str, ...] = ()) -> StepFinished:
    plan = Plan("async def solve():\n    ...")
    return StepFinished(Step(2, 1, PerceptionResult(), plan, result, 0.5, repairs))


def finished(result: Json, ok: bool = True) -> ToolCallFinished:
    return ToolCallFinished(7, ToolCall("math.add", {"a": 1}, ok, result, 0.25))


async def test_a_run_starts_with_its_request_and_time() -> None:
    item = await recorded(RunStarted("notes", "add 1 and 2", "offline"))
    assert item.type == "run_metadata"
    assert item.user_query == "add 1 and 2"
    assert item.tags == ["run_start"]
    assert item.metadata == {"start_time": "2026-11-18T11:06:40.250000+00:00", "model": "offline"}
    traced = await recorded(RunStarted("notes", "add 1 and 2", "offline", "4bf9", "00f0"))
    assert traced.metadata[TRACE] == "4bf9"


async def test_a_call_is_kept_under_the_bare_name_of_its_tool() -> None:
    item = await recorded(ToolCallStarted(7, "math.add", {"a": 1}))
    assert (item.type, item.tool_name, item.tool_args) == ("tool_call", "add", {"a": 1})
    assert item.metadata == {"server": "math", "call_id": 7}
    dotted = await recorded(ToolCallStarted(7, "files.read.text", {}))
    assert (dotted.tool_name, dotted.metadata["server"]) == ("read.text", "files")
    bare = await recorded(ToolCallStarted(7, "add", {}))
    assert (bare.tool_name, bare.metadata["server"]) == ("add", "")


@pytest.mark.parametrize("ok", [True, False])
async def test_an_output_keeps_result_and_success(ok: bool) -> None:
    item = await recorded(finished({"x": [1, "two"]}, ok))
    assert (item.type, item.tool_name, item.success) == ("tool_output", "add", ok)
    assert item.tool_args == {"a": 1}
    assert item.tool_result == {"result": {"x": [1, "two"]}}
    assert item.metadata == {"server": "math", "call_id": 7, "seconds": 0.25}


async def test_a_kept_call_is_an_output_without_a_call() -> None:
    item = await recorded(ToolCallKept(ToolCall("math.add", {"a": 1}, True, 3, 0.25, kept=True)))
    assert (item.type, item.tool_name, item.tool_result) == ("tool_output", "add", {"result": 3})
    assert item.metadata == {"server": "math", "kept": True, "seconds": 0.25}


async def test_a_refused_call_is_kept_as_one_that_failed() -> None:
    item = await recorded(ToolCallRefused("web.get", {"url": "u"}, "web.get was not called: why"))
    assert (item.type, item.tool_name, item.success) == ("tool_output", "get", False)
    assert item.tool_result == {"result": "web.get was not called: why"}
    assert item.metadata == {"server": "web", "refused": True, "seconds": 0.0}


async def test_what_was_repaired_in_a_plan_is_kept_with_it_and_not_with_the_next() -> None:
    memory = MemoryManager("notes", enabled=False)
    record = recorder(memory)
    repairs = (f"added await to tools.{CANARY} (line 3)", *("x" * 1_000,) * 100)
    for event in (step(FinalAnswer("1"), repairs), step(FinalAnswer("2"))):
        assert await record(event) is None
    first, *others = [item.metadata.get("repairs") for item in memory.get_session_items()]
    assert isinstance(first, list)
    assert first[0] == "added await to tools.[redacted MODEL_API_KEY] (line 3)"
    assert len(first) == MAX_REPAIRS
    assert all(len(str(repair)) < 600 for repair in first)
    assert others == [None]


@pytest.mark.parametrize(
    ("result", "success", "text"),
    [
        (FinalAnswer("3"), True, "FINAL_ANSWER: 3"),
        (FurtherProcessing("a page"), True, "FURTHER_PROCESSING_REQUIRED: a page"),
        (
            PlanFailed(PlanFailure("error", "division by zero", 2, "1 / 0")),
            False,
            "error: division by zero (line 2: 1 / 0)",
        ),
    ],
)
async def test_a_plan_is_kept_as_an_output_of_the_sandbox(
    result: ActionResult, success: bool, text: str
) -> None:
    item = await recorded(step(result))
    assert (item.type, item.tool_name) == ("tool_output", "solve_sandbox")
    assert item.tool_args == {"plan": "async def solve():\n    ..."}
    assert item.tool_result == {"result": text}
    assert item.success is success
    assert item.tags == ["sandbox"]
    assert item.metadata.get("failure") == (None if success else "error")


async def test_a_run_without_answer_leaves_its_status() -> None:
    item = await recorded(RunFinished(RunOutcome("no_answer", None, "gave up after 3 steps")))
    assert item.type == "run_metadata"
    assert item.metadata == {"status": "no_answer", "message": "gave up after 3 steps"}
    assert item.success is False


@pytest.mark.parametrize(
    "event",
    [
        Notice("loop", "x"),
        Perceived(1, PerceptionResult()),
        PlanWritten(1, 1, Plan(""), "p"),
        ToolCallProgress(1, "math.add", 0.5, None, None),
        ServerLogged("math", "info", "x"),
        Observed(1, "x"),
        Retrying(1, 1, PlanFailure("error", "x"), 2),
        RunFinished(RunOutcome("done", "3", "")),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_passing_news_leave_no_item(event: Event) -> None:
    memory = MemoryManager("notes", enabled=False)
    assert await recorder(memory)(event) is None
    assert memory.get_session_items() == []


async def kept_with_plan(*events: Event, keeps_prompts: bool = False) -> JsonObject:
    """The metadata of the plan that these events led to; each comes a second after the last."""
    memory, times = MemoryManager("notes", enabled=False), itertools.count(NOW)
    record = SessionRecorder(
        memory,
        MemorySection(),
        clock=lambda: next(times),
        redactor=Redactor({"MODEL_API_KEY": CANARY}),
        keeps_prompts=keeps_prompts,
    )
    for event in (*events, step(FinalAnswer("3"))):
        assert await record(event) is None
    return memory.get_session_items()[-1].metadata


async def test_perception_is_kept_with_the_plan_that_follows() -> None:
    seen = PerceptionResult(intent=f"find {CANARY}", selected_servers=["a", "b"], entities=["c"])
    metadata = await kept_with_plan(RunStarted("notes", "x", "m"), Perceived(1, seen))
    assert metadata["perception"] == {
        "intent": "find [redacted MODEL_API_KEY]",
        "servers": "a, b",
        "entities": "c",
        "tool_hint": "",
        "at": NOW,
        "seconds": 1.0,
    }
    again = await kept_with_plan(Observed(1, "text"), Perceived(2, seen), step(FinalAnswer("1")))
    assert "perception" not in again, "it is told once"


async def test_troubles_with_models_are_kept_with_the_plan_that_follows() -> None:
    events = (ModelRetried("m", f"503 {CANARY}", 1, 0.5), ModelReplaced("m", "n", "no credit"))
    assert (await kept_with_plan(*events))["model_calls"] == [
        {
            "model": "m",
            "purpose": "tried again",
            "at": NOW,
            "seconds": 0.5,
            "trouble": "503 [redacted MODEL_API_KEY]",
        },
        {
            "model": "m",
            "purpose": "n takes over",
            "at": NOW + 1,
            "seconds": 0.0,
            "trouble": "no credit",
        },
    ]
    many = await kept_with_plan(*[events[0]] * (MAX_MODEL_CALLS + 5))
    assert len(cast("list[Json]", many["model_calls"])) == MAX_MODEL_CALLS


async def test_prompts_and_replies_are_kept_on_demand_to_the_letter_redacted_and_bounded() -> None:
    prompt = f"  exact\n\ttext {CANARY} " + "p" * MAX_FIELD_CHARS
    told = ModelAnswered("m", "decision", Usage(), 0.5, None, f"reply {CANARY}", prompt)
    (call,) = cast("list[JsonObject]", (await kept_with_plan(told))["model_calls"])
    assert not {"prompt", "reply"} & call.keys()
    kept = await kept_with_plan(told, keeps_prompts=True)
    (call,) = cast("list[JsonObject]", kept["model_calls"])
    assert call["reply"] == "reply [redacted MODEL_API_KEY]"
    assert str(call["prompt"]).startswith("  exact\n\ttext [redacted MODEL_API_KEY] ppp")
    assert MAX_FIELD_CHARS < len(str(call["prompt"])) < MAX_FIELD_CHARS + 100


async def test_what_is_recorded_gives_the_exchange_of_the_next_request() -> None:
    memory = MemoryManager("notes", enabled=False)
    record = recorder(memory)
    for event in (
        RunStarted("notes", "add 1 and 2", "offline"),
        Answered("3"),
        RunFinished(RunOutcome("done", "3", "")),
    ):
        await record(event)
    assert exchanges(memory.get_session_items()) == (Exchange("add 1 and 2", "3"),)


async def test_long_results_are_summarised_with_their_full_size() -> None:
    item = await recorded(finished("y" * 5_000))
    assert item.tool_result == {
        "result": "y" * SUMMARY_CHARS + "… [shortened; 5,000 characters in all]"
    }
    listed = await recorded(finished(["z" * 3_000]))
    assert isinstance(listed.tool_result, dict)
    assert str(listed.tool_result["result"]).startswith('["zzz')


async def test_without_summaries_results_are_kept_up_to_a_hard_bound() -> None:
    whole = await recorded(finished("y" * 5_000), summarize=False)
    assert whole.tool_result == {"result": "y" * 5_000}
    cut = await recorded(finished("y" * 1_000_000), summarize=False)
    assert len(json.dumps(cut.tool_result)) < MAX_FIELD_CHARS + 100


class Watched(list[Json]):
    """A list that knows how far it was read, and in which thread."""

    read = 0
    thread: int | None = None

    def __iter__(self) -> Iterator[Json]:
        """The items, each counted."""
        self.thread = threading.get_ident()
        for item in super().__iter__():
            self.read += 1
            yield item


async def test_a_huge_result_is_read_outside_of_the_event_loop_and_no_further_than_it_is_kept() -> (
    None
):
    huge = Watched([1] * 200_000)
    item = await recorded(finished({"rows": huge}), summarize=False)
    assert huge.read <= MAX_FIELD_VALUES
    assert huge.thread not in (None, threading.get_ident())
    text = str((item.tool_result or {})["result"])
    assert text.startswith('{"rows": [1, 1, ')
    assert text.endswith("… [shortened; over 150,007 characters in all]")


async def test_a_request_of_a_megabyte_is_kept_in_part() -> None:
    item = await recorded(RunStarted("notes", "q" * 1_000_000, "offline"))
    assert item.user_query is not None
    assert item.user_query.endswith("[shortened; 1,000,000 characters in all]")
    huge = await recorded(ToolCallStarted(1, "math.add", {"a": "x" * 1_000_000}))
    assert huge.tool_args is not None
    assert list(huge.tool_args) == ["shortened"]


async def test_tags_can_be_switched_off() -> None:
    assert (await recorded(Answered("3"), tag=False)).tags == []


@pytest.mark.parametrize(
    "event",
    [
        RunStarted("notes", f"use {CANARY}", CANARY),
        ToolCallStarted(1, "web.get", {"header": [f"Bearer {CANARY}"], CANARY: 1}),
        ToolCallStarted(1, f"web.{CANARY}", {}),
        ToolCallRefused(f"{CANARY}.get", {"header": CANARY}, f"{CANARY} is refused"),
        ToolCallKept(ToolCall(CANARY, {"a": CANARY}, True, [CANARY], 0.25, kept=True)),
        Clarified(1, f"Is it {CANARY}?", f"no, {CANARY}"),
        RunFinished(
            RunOutcome(
                "done",
                "3",
                "",
                usage=Usage(input_tokens=1),
                usage_by_model={CANARY: Usage(input_tokens=1)},
            )
        ),
        RunStarted("notes", "y" * (500 - 30) + CANARY, "offline"),
        finished({"echo": f"{CANARY}"}),
        finished("y" * (SUMMARY_CHARS - 5) + CANARY),
        step(FinalAnswer(CANARY)),
        step(PlanFailed(PlanFailure("error", CANARY))),
        Answered(f"it is {CANARY}"),
        RunFinished(RunOutcome("failed", None, f"refused {CANARY}")),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_no_secret_is_written_down_not_even_a_piece(event: Event) -> None:
    item = await recorded(event)
    assert CANARY[:5] not in item.model_dump_json()
    assert "[redacted" in item.model_dump_json() or "shortened" in item.model_dump_json()


async def test_what_the_user_masks_is_masked_before_anything_is_cut() -> None:
    redactor = Redactor({})
    redactor.mask(["[0-9]{4}-[0-9]{4}"])
    memory = MemoryManager("notes", enabled=False)
    record = SessionRecorder(memory, MemorySection(), clock=lambda: NOW, redactor=redactor)
    pin = "7777-8888"
    for event in (
        RunStarted("notes", "y" * 470 + pin, pin),
        RunStarted("notes", "y" * (MAX_FIELD_CHARS - 5) + pin, "offline"),
        ToolCallStarted(1, "web.get", {"a": "y" * 480 + pin, pin: [pin]}),
        finished("y" * (SUMMARY_CHARS - 5) + pin),
        finished(["y" * (SUMMARY_CHARS - 7) + pin]),
        step(PlanFailed(PlanFailure("error", "y" * 470 + pin)), ("y" * 495 + pin,)),
        Clarified(1, "y" * 480 + pin, pin),
        Answered("y" * 480 + pin),
    ):
        assert await record(event) is None
    assert "777" not in "".join(item.model_dump_json() for item in memory.get_session_items())


async def test_any_text_a_run_can_hold_is_kept(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    record = recorder(memory)
    deep: Json = 1
    for _ in range(500):
        deep = [deep]
    for event in (
        RunStarted("notes", "\x00\x1b[31m {braces} ``` \ud800", "offline"),
        ToolCallStarted(1, "math.add", {"a": float("inf"), "\udc80": 10**5_000}),
        finished([float("nan"), deep]),
    ):
        assert await record(event) is None
    again = opened("notes", tmp_path)
    assert again.take_warnings() == []
    started, called, _ = again.get_session_items()
    assert started.user_query == "\x00\x1b[31m {braces} ``` \ufffd"
    assert called.tool_args is not None
    assert called.tool_args["a"] == "Infinity"


async def test_the_first_failed_write_is_told_once_and_memory_goes_on(tmp_path: Path) -> None:
    blocker = tmp_path / "memory"
    blocker.write_text("a file where the folder should be")
    memory = MemoryManager("notes", blocker)
    record = recorder(memory)
    notice = await record(RunStarted("notes", "add 1 and 2", "offline"))
    assert notice is not None
    assert notice.source == "memory"
    assert "CORTEX_HOME" in notice.text
    assert await record(Answered("3")) is None
    assert exchanges(memory.get_session_items()) == (Exchange("add 1 and 2", "3"),)
    memory.load()  # the next request begins so
    assert await record(RunStarted("notes", "halve it", "offline")) is None  # told already
    blocker.unlink()
    memory.load()
    notice = await record(RunStarted("notes", "halve it", "offline"))
    assert notice is not None
    assert notice.text.endswith("is kept again, as a whole")
    assert len(opened("notes", blocker).get_session_items()) == 4


async def test_damage_found_while_recording_is_told(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    record = recorder(memory)
    assert await record(RunStarted("notes", "x", "offline")) is None
    memory.path.write_bytes(b"scribble")
    notice = await record(Answered("3"))
    assert notice is not None
    assert "set aside" in notice.text
    assert await record(Answered("4")) is None


async def test_the_disk_is_waited_for_outside_of_the_event_loop() -> None:
    class Watched(MemoryManager):
        thread: int | None = None

        def add(self, item: MemoryItem) -> None:
            self.thread = threading.get_ident()
            super().add(item)

    memory = Watched("notes", enabled=False)
    await recorder(memory)(Answered("3"))
    assert memory.thread not in (None, threading.get_ident())


@pytest.mark.parametrize(("answer", "told"), [("the red one", "the red one"), (None, "no answer")])
async def test_a_question_is_kept_with_what_the_user_said(answer: str | None, told: str) -> None:
    item = await recorded(Clarified(1, "Which one?", answer))
    assert item.text == f"Asked back: Which one? → {told}"
    assert item.metadata == {"question": "Which one?", "reply": answer}
    assert exchanges([item]) == ()
