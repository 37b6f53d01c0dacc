"""Answers on stdout: for people, for pipes, and as JSON that the strictest reader takes."""

import io
import json
import math
import os
from typing import Any

import pytest

from core.errors import ExitCode, SpentBudget
from core.turn import (
    FinalAnswer,
    FurtherProcessing,
    PerceptionResult,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    RunStatus,
    Step,
    ToolCall,
    Usage,
)
from core.values import Json, JsonObject
from modules.terminal.answer import LABEL, print_answer, print_json, value_of
from tests.doubles import Terminal


def encoded(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    """A stream of another encoding, as `LANG=de_DE.ISO-8859-1` gives, and where it writes to."""
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


REPAIRS = ("added await to tools.add (line 3)",)


def with_result(value: Json) -> RunOutcome:
    """An outcome with one call that has this value as argument and result."""
    call = ToolCall("s.t", {"input": {"x": value}}, ok=True, result=value, seconds=0.1234567891)
    step = Step(1, 1, PerceptionResult(), Plan("plan"), FinalAnswer("a", (call,)), 0.5)
    return RunOutcome("done", "a", "", (step,))


def refuse(constant: str) -> Json:
    raise AssertionError(f"{constant} is not JSON")


def strictly(text: str) -> dict[str, Any]:
    """The one document in a text, as a reader takes it that knows RFC 8259 and nothing else."""
    assert text.endswith("\n")
    assert text.count("\n") == 1
    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def printed(outcome: RunOutcome) -> dict[str, Any]:
    stream = io.StringIO()
    print_json(outcome, "2026/11/21/session-1-abcdef", "offline", stream)
    return strictly(stream.getvalue())


class TestAnswers:
    def test_a_terminal_gets_the_label(self) -> None:
        stream = Terminal()
        print_answer("42", stream)
        assert stream.getvalue() == f"{LABEL} 42\n"

    def test_a_pipe_gets_the_bare_answer(self) -> None:
        stream = io.StringIO()
        print_answer("42", stream)
        assert stream.getvalue() == "42\n"

    def test_a_terminal_is_not_driven_by_an_answer_and_a_pipe_gets_it_whole(self) -> None:
        hostile = "\x1b]0;owned\x07 42\n\tmore"
        terminal, pipe = Terminal(), io.StringIO()
        print_answer(hostile, terminal)
        print_answer(hostile, pipe)
        assert terminal.getvalue() == f"{LABEL} \\x1b]0;owned\\x07 42\nmore\n"
        assert pipe.getvalue() == f"{hostile}\n"

    @pytest.mark.parametrize("answer", ["", "a\nb\n", "{'x': \"y\"}", "grüße 🎉"])
    def test_answers_of_all_kinds_come_out_as_they_are(self, answer: str) -> None:
        stream = io.StringIO()
        print_answer(answer, stream)
        assert stream.getvalue() == f"{answer}\n"

    def test_what_the_streams_encoding_lacks_becomes_an_escape_and_no_crash(self) -> None:
        raw, stream = encoded("latin-1")
        print_answer("grüße 💡", stream)
        assert raw.getvalue() == b"gr\xfc\xdfe \\U0001f4a1\n"

    def test_half_a_character_becomes_an_escape_and_no_crash(self) -> None:
        raw, stream = encoded("utf-8")
        print_answer("half \ud83d", stream)
        assert raw.getvalue() == b"half \\ud83d\n"

    def test_an_answer_is_out_when_the_function_returns(self) -> None:
        raw, stream = encoded("utf-8")
        print_answer("42", stream)
        assert raw.getvalue() == b"42\n"

    def test_a_reader_that_has_gone_is_told_to_the_caller(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        stream = os.fdopen(writing, "w", encoding="utf-8")
        with pytest.raises(BrokenPipeError):
            print_answer("42", stream)
        with pytest.raises(BrokenPipeError):
            stream.close()


def full_outcome() -> RunOutcome:
    call = ToolCall(
        "math.add", {"input": {"a": 1, "b": 2}}, ok=True, result=3, seconds=0.00123456, kept=True
    )
    failed_call = ToolCall("math.div", {}, ok=False, result="division by zero", seconds=0)
    failure = PlanFailure("tool", "math.div failed", 2, "await tools.div()")
    perception = PerceptionResult(intent="sum", entities=["1"], selected_servers=["math"])
    steps = (
        Step(1, 1, perception, Plan("p1"), PlanFailed(failure, (failed_call,)), 0.25),
        Step(1, 2, perception, Plan("p2"), FurtherProcessing("more", (call,)), 0.5, REPAIRS),
        Step(2, 1, perception, Plan("p3"), FinalAnswer("3"), 1.0),
    )
    used = Usage(3, 100, 20, 64, 0.5)
    return RunOutcome(
        "done", "3", "", steps, used, {"m": used}, {"total": 1.75000049}, grounded=True
    )


class TestDocument:
    def test_it_holds_answer_status_session_steps_usage_and_durations(self) -> None:
        used: JsonObject = {
            "model_calls": 3,
            "input_tokens": 100,
            "output_tokens": 20,
            "cached_tokens": 64,
            "cost": 0.5,
            "unpriced_calls": 0,
            "estimated_calls": 0,
        }
        perception: JsonObject = {
            "intent": "sum",
            "entities": ["1"],
            "tool_hint": None,
            "tags": [],
            "selected_servers": ["math"],
        }
        assert printed(full_outcome()) == {
            "type": "result",
            "schema": 1,
            "answer": "3",
            "value": 3,
            "status": "done",
            "message": "",
            "verdict": None,
            "rejected_answer": None,
            "grounded": True,
            "exit_code": 0,
            "session_id": "2026/11/21/session-1-abcdef",
            "trace_id": "",
            "model": "offline",
            "steps": [
                {
                    "step": 1,
                    "attempt": 1,
                    "perception": perception,
                    "plan": "p1",
                    "repairs": [],
                    "result": "failed",
                    "text": "tool: math.div failed (line 2: await tools.div())",
                    "calls": [
                        {
                            "tool": "math.div",
                            "arguments": {},
                            "ok": False,
                            "result": "division by zero",
                            "seconds": 0,
                            "kept": False,
                            "refused": False,
                        }
                    ],
                    "seconds": 0.25,
                },
                {
                    "step": 1,
                    "attempt": 2,
                    "perception": perception,
                    "plan": "p2",
                    "repairs": ["added await to tools.add (line 3)"],
                    "result": "further_processing",
                    "text": "more",
                    "calls": [
                        {
                            "tool": "math.add",
                            "arguments": {"input": {"a": 1, "b": 2}},
                            "ok": True,
                            "result": 3,
                            "seconds": 0.001235,
                            "kept": True,
                            "refused": False,
                        }
                    ],
                    "seconds": 0.5,
                },
                {
                    "step": 2,
                    "attempt": 1,
                    "perception": perception,
                    "plan": "p3",
                    "repairs": [],
                    "result": "final_answer",
                    "text": "3",
                    "calls": [],
                    "seconds": 1.0,
                },
            ],
            "graph": None,
            "budget": None,
            "usage": {**used, "by_model": {"m": used}},
            "durations": {"total": 1.75},
        }

    @pytest.mark.parametrize(
        ("status", "code"),
        [
            ("no_answer", ExitCode.NO_ANSWER),
            ("failed", ExitCode.WORLD_FAILED),
            ("interrupted", ExitCode.INTERRUPTED),
        ],
    )
    def test_without_an_answer_it_is_null_and_the_message_says_why(
        self, status: RunStatus, code: ExitCode
    ) -> None:
        document = printed(RunOutcome(status, None, "because"))
        assert document["answer"] is None
        assert document["message"] == "because"
        assert document["exit_code"] == int(code)
        assert document["steps"] == []

    def test_a_budget_that_ended_it_is_told_with_what_was_spent(self) -> None:
        spent = SpentBudget("day", "cost", 0.1 + 0.2, 0.25, "budgets.day.cost", is_before=True)
        document = printed(RunOutcome("no_answer", None, "spent", budget=spent))
        assert document["budget"] == {
            "scope": "day",
            "measure": "cost",
            "spent": 0.3,
            "limit": 0.25,
            "key": "budgets.day.cost",
            "is_before": True,
        }

    def test_it_is_one_line_on_a_terminal_too(self) -> None:
        stream = Terminal()
        print_json(RunOutcome("done", "a\nb", ""), "s", "m", stream)
        assert strictly(stream.getvalue())["answer"] == "a\nb"

    @pytest.mark.parametrize(
        ("value", "stands"),
        [
            (math.nan, "nan"),
            (math.inf, "inf"),
            ([-math.inf, 1.5], ["-inf", 1.5]),
            ({"a": [{"b": math.nan}]}, {"a": [{"b": "nan"}]}),
            (True, True),
            (None, None),
            pytest.param(10**4299, 10**4299, id="as many digits as Python reads"),
            pytest.param(16**5000, "0x1" + "0" * 5000, id="more"),
            pytest.param([-(16**5000)], ["-0x1" + "0" * 5000], id="more below zero"),
        ],
    )
    def test_numbers_that_json_readers_refuse_stand_as_text(
        self, value: Json, stands: Json
    ) -> None:
        (step,) = printed(with_result(value))["steps"]
        (call,) = step["calls"]
        assert (call["arguments"], call["result"]) == ({"input": {"x": stands}}, stands)
        assert call["seconds"] == 0.123457

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii", "utf-16"])
    def test_it_survives_every_encoding_of_stdout(self, encoding: str) -> None:
        raw, stream = encoded(encoding)
        print_json(RunOutcome("done", "grüße 💡 \x1b\u2028", ""), "s", "m", stream)
        assert strictly(raw.getvalue().decode(encoding))["answer"] == "grüße 💡 \x1b\u2028"

    def test_half_a_character_survives_as_json_escapes_it(self) -> None:
        raw, stream = encoded("utf-8")
        print_json(RunOutcome("done", "half \ud83d", ""), "s", "m", stream)
        assert strictly(raw.getvalue().decode("utf-8"))["answer"] == "half \ud83d"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("0.3", 0.3),
        ("12", 12),
        ("[0, 1, 1]", [0, 1, 1]),
        ("True", True),
        ("8.04672 km", "8.04672 km"),
        ("1e999", "1e999"),
        ("NaN", "NaN"),
        ("9" * 5000, "9" * 5000),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_an_answer_that_is_a_value_is_told_as_one(answer: str, value: Json) -> None:
    assert value_of(answer) == value
