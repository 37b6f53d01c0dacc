"""What the terminal says about each event, at each loudness, to any stream."""

import io
import os
from dataclasses import replace
from pathlib import Path
from typing import TextIO, get_args

import pytest

from core.base.redaction import Redactor
from core.events import (
    ActionChosen,
    Answered,
    BoardChanged,
    Clarified,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Notice,
    Observed,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RoleChosen,
    RunFinished,
    RunStarted,
    ServerLogged,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.team.board import BoardEntry
from core.team.graph import GraphOutcome, Subtask, TaskGraph
from core.team.messages import Message
from core.turn import (
    FinalAnswer,
    PerceptionResult,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    Step,
    ToolCall,
    Usage,
)
from core.values import Json
from modules.terminal.progress import CALL_PROGRESS_LINES, SERVER_LOG_LINES, Loudness, Progress
from modules.terminal.wording import ARGUMENTS_SHOWN, VALUE_CHARACTERS, call_line

PLAN = Plan("async def solve():\n    return 'FINAL_ANSWER: 3'")
FAILURE = PlanFailure("error", "ZeroDivisionError: division by zero", 2, "1 / 0")
CALL = ToolCall("math.add", {"input": {"a": 1, "b": [2]}}, ok=True, result=3, seconds=0.0034)
STEP = Step(1, 2, PerceptionResult(), PLAN, FinalAnswer("3"), 0.25)
FAILED_STEP = Step(1, 1, PerceptionResult(), PLAN, PlanFailed(FAILURE), 0.002)

NOTICE = Notice("memory", "the session file was damaged")
NOTICE_LINE = "[memory] the session file was damaged\n"
CALL_LINE = "[tool] math.add(a=1, b=[2]) → 3 (3 ms)\n"
KEPT_LINE = "[tool] math.add(a=1, b=[2]) → 3 (kept from the failed plan)\n"
PROGRESS_LINE = "[tool] web.get: 3/10 reading\n"
LOG_LINE = "[mcp] web warning: slow today\n"
OBSERVED_LINE = "[loop] step 1 found text to go on with (5 characters)\n"
RETRY_LINE = (
    "[loop] plan 1 of step 1 failed: ZeroDivisionError: division by zero (line 2: 1 / 0); "
    "planning again, 2 lifelines left\n"
)

RETRIED_LINE = "[model] try 2 of m in 0.5 s: model m is busy\n"
REPLACED_LINE = "[model] model m is down; n takes over\n"
UNASKED_LINE = "[loop] no answer to: Which one? The likeliest reading is taken\n"
REFUSED_LINE = '[tool] refused web.get(url="u"): not called\n'
PART = Subtask("a", "find A")
GRAPH = TaskGraph("x", (PART, Subtask("both", "say {{a}}")))
GRAPH_CHOSEN_LINE = "[graph] chose graph: two parts\n"
PLANNED_LINES = "[graph] c is done in both\n[graph] 2 subtasks: a, both after a\n"
REPLANNED_LINE = "[graph] planned anew, as a failed: no host; 2 subtasks: a, both after a\n"
BEGINS_LINE = "[graph] a begins, try 2\n"
JUDGED_LINE = "[graph] the result is judged: need more: B is missing\n"
TOLD: list[tuple[Event, str, str, str]] = [
    (NOTICE, NOTICE_LINE, NOTICE_LINE, NOTICE_LINE),
    (RunStarted("2026/x", "add", "offline"), "", "", "[loop] session 2026/x, model offline\n"),
    (
        Perceived(1, PerceptionResult(intent="sum", selected_servers=["a", "b"], tool_hint="add")),
        "",
        "",
        "[perception] step 1: sum; servers a, b, hint add\n",
    ),
    (
        Perceived(2, PerceptionResult(intent="sum")),
        "",
        "",
        "[perception] step 2: sum; servers none\n",
    ),
    (
        PlanWritten(1, 2, PLAN, "prompts/p.txt"),
        "",
        "",
        f"[strategy] prompts/p.txt\n[plan] step 1, plan 2:\n{PLAN.source}\n",
    ),
    (
        PlanRepaired(1, 2, ("added await to tools.add (line 3)", "b")),
        "",
        "",
        "[plan] repaired: added await to tools.add (line 3); b\n",
    ),
    (
        ToolCallStarted(1, "math.add", {"input": {"a": 1}}),
        "",
        "",
        "[tool] calls math.add(a=1)\n",
    ),
    (ToolCallProgress(1, "web.get", 3, 10, "reading"), "", PROGRESS_LINE, PROGRESS_LINE),
    (ServerLogged("web", "warning", "slow today"), "", LOG_LINE, LOG_LINE),
    (ToolCallFinished(1, CALL), "", CALL_LINE, CALL_LINE),
    (ToolCallKept(replace(CALL, kept=True)), "", KEPT_LINE, KEPT_LINE),
    (ToolCallRefused("web.get", {"url": "u"}, "not\ncalled"), "", REFUSED_LINE, REFUSED_LINE),
    (StepFinished(STEP), "", "", "[sandbox] plan 2 worked in 250 ms\n"),
    (StepFinished(FAILED_STEP), "", "", "[sandbox] plan 1 failed in 2 ms\n"),
    (Observed(1, "12345"), "", OBSERVED_LINE, OBSERVED_LINE),
    (Retrying(1, 1, FAILURE, 2), "", RETRY_LINE, RETRY_LINE),
    (ModelAsked("m", "decision"), "", "", "[model] asks m for decision\n"),
    (ModelWriting("m", 12, 0), "", "", ""),
    (
        ModelAnswered("m", "decision", Usage(1, 1_200, 30, 1_000, 0.002), 1.5, 0.25),
        "",
        "",
        "[model] m: decision in 1.50 s, first token after 0.25 s; "
        "1,200 tokens read (1,000 cached), 30 written, $0.0020\n",
    ),
    (ModelRetried("m", "model m is busy", 1, 0.5), "", RETRIED_LINE, RETRIED_LINE),
    (ModelFailed("m", "decision", "model m is down"), "", "", ""),  # what comes of it says it
    (ModelReplaced("m", "n", "model m is down"), "", REPLACED_LINE, REPLACED_LINE),
    (Clarified(1, "Which one?", None), "", UNASKED_LINE, UNASKED_LINE),
    (ActionChosen("graph", "two\nparts"), "", GRAPH_CHOSEN_LINE, GRAPH_CHOSEN_LINE),
    (GraphPlanned(GRAPH, ("c is done in both",)), "", PLANNED_LINES, PLANNED_LINES),
    (RoleChosen("a", "writer", "it fits"), "", "", "[graph] writer does a: it fits\n"),
    (SubtaskChanged(PART, "running", 2), "", BEGINS_LINE, BEGINS_LINE),
    (SubtaskEvent("a", 1, ToolCallFinished(1, CALL)), "", "", CALL_LINE.replace("]", "] a:", 1)),
    (Replanned("a", "no\nhost.", GRAPH), "", REPLANNED_LINE, REPLANNED_LINE),
    (
        MessageSent(Message("writer", None, "result", "a", "it\nis 3", 1.0)),
        "",
        "",
        "[graph] writer to all: result it is 3\n",
    ),
    (
        BoardChanged(BoardEntry("facts", "price", "42\n", "writer", 1, 1.0)),
        "",
        "",
        "[graph] writer notes facts: price = 42\n",
    ),
    (Judged("need_more", "B is\nmissing"), "", JUDGED_LINE, JUDGED_LINE),
    (Answered("3"), "", "", ""),
    (
        RunFinished(RunOutcome("done", "3", "", durations={"action": 0.01, "total": 1.5})),
        "",
        "",
        "[loop] done; action 10 ms, total 1500 ms\n",
    ),
]


def _ended(message: str) -> RunFinished:
    return RunFinished(RunOutcome("no_answer", None, message))


async def told(event: Event, loudness: Loudness) -> str:
    stream = io.StringIO()
    await Progress(stream, loudness)(event)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("event", "quiet", "normal", "verbose"), TOLD, ids=[type(e[0]).__name__ for e in TOLD]
)
async def test_every_event_is_told_as_loudly_as_asked(
    event: Event, quiet: str, normal: str, verbose: str
) -> None:
    assert await told(event, "quiet") == quiet
    assert await told(event, "normal") == normal
    assert await told(event, "verbose") == verbose


def test_the_table_above_knows_every_event() -> None:
    assert {type(row[0]) for row in TOLD} == set(get_args(Event))


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (SubtaskChanged(PART, "pending"), ""),
        (SubtaskChanged(PART, "ready"), ""),
        (SubtaskChanged(PART, "running"), "[graph] a begins\n"),
        (SubtaskChanged(PART, "completed", 1, "it\nis 3", 12.5), "[graph] a → it is 3 (12 s)\n"),
        (SubtaskChanged(PART, "failed", 3, "no one", 0.25), "[graph] a failed: no one (250 ms)\n"),
        (SubtaskChanged(PART, "blocked", 1, "it needs b"), "[graph] a blocked: it needs b\n"),
        (SubtaskChanged(PART, "cancelled"), "[graph] a cancelled\n"),
        (ActionChosen("plan", "the default"), ""),
        (Judged("satisfied", "all there"), ""),
        (GraphPlanned(TaskGraph("x", tuple(Subtask(f"t{n}", "x") for n in range(14)))),
         f"[graph] 14 subtasks: {', '.join(f't{n}' for n in range(12))} and 2 more\n"),
        (RunFinished(RunOutcome("done", "3", "", usage=Usage(1, 10, 5), durations={"total": 2.0},
                                graph=GraphOutcome(GRAPH, {"a": "completed", "both": "failed"}))),
         "[loop] 1 of 2 subtasks done; failed: both; 0 tool calls, 2.0 s; "
         "10 tokens read, 5 written\n"),
    ],
)  # fmt: skip
async def test_a_request_in_parts_has_a_line_a_change_in_a_pipe(event: Event, line: str) -> None:
    assert await told(event, "normal") == line


async def test_of_a_part_its_troubles_are_told_with_its_id_and_its_notices_even_when_quiet() -> (
    None
):
    for inner in (
        ToolCallRefused("web.get", {"url": "u"}, "not called"),
        ModelRetried("m", "model m is busy", 1, 0.5),
        ModelReplaced("m", "n", "model m is down"),
        Clarified(1, "Which one?", None),
        ServerLogged("web", "warning", "slow today"),
        Retrying(1, 1, FAILURE, 2),
    ):
        alone = await told(inner, "normal")
        assert alone
        assert await told(SubtaskEvent("a", 1, inner), "normal") == alone.replace("] ", "] a: ", 1)
        assert await told(SubtaskEvent("a", 1, inner), "quiet") == ""
    nested = SubtaskEvent("a", 1, SubtaskEvent("b", 1, NOTICE))
    assert await told(nested, "quiet") == NOTICE_LINE.replace("] ", "] a: b: ")
    for usual in (Answered("3"), _ended("no"), ToolCallStarted(1, "t", {}), Observed(1, "x")):
        assert await told(SubtaskEvent("a", 1, usual), "normal") == ""


async def test_a_part_that_floods_is_silenced_as_its_servers_are() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal")
    for number in range(3 * SERVER_LOG_LINES):
        await progress(SubtaskEvent(f"t{number}", 1, ServerLogged("web", "error", "again")))
        await progress(SubtaskEvent(f"t{number}", 1, RunStarted("s", "r", "m")))
    assert len(stream.getvalue().splitlines()) == SERVER_LOG_LINES + 1


async def test_notices_between_runs_are_told_even_when_quiet() -> None:
    stream = io.StringIO()
    await Progress(stream, "quiet").notice("server 'web' did not start")
    assert stream.getvalue() == "[loop] server 'web' did not start\n"


async def test_one_is_not_many_and_the_last_plan_is_called_so() -> None:
    for_model = PlanFailure("no_plan", "no plan; reply with solve()", said="no plan: Paris")
    line = await told(Retrying(1, 1, for_model, 1), "normal")
    assert (
        line == "[loop] plan 1 of step 1 failed: no plan: Paris; planning again, 1 lifeline left\n"
    )
    assert (await told(Retrying(1, 1, FAILURE, 1), "normal")).endswith(" again, 1 lifeline left\n")
    assert (await told(Retrying(1, 1, FAILURE, 0), "normal")).endswith(
        " again, for the last time\n"
    )
    assert await told(Observed(2, "x"), "normal") == (
        "[loop] step 2 found text to go on with (1 character)\n"
    )


async def test_secrets_of_the_environment_are_not_told() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal", Redactor({"SOME_API_KEY": "sekret-value-123"}))
    await progress(ToolCallFinished(1, ToolCall("t", {"a": "sekret-value-123"}, True, 1, 0)))
    assert stream.getvalue() == '[tool] t(a="[redacted SOME_API_KEY]") → 1 (0 ms)\n'


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolCallProgress(1, "t", 0.5, None, None), "[tool] t: 0.5\n"),
        (ToolCallProgress(1, "t", 1e9, 2e9, ""), "[tool] t: 1e+09/2e+09\n"),
        (ToolCallProgress(1, "t", float("nan"), None, "x"), "[tool] t: x\n"),
        (ToolCallProgress(1, "t", 1, None, "a\n[loop] b"), "[tool] t: a [loop] b\n"),
    ],
)
async def test_progress_of_a_call_says_what_the_server_said(event: Event, line: str) -> None:
    assert await told(event, "normal") == line


FAILED_CALL = ToolCall("web.get", {}, ok=False, result="get: no\nsuch host.", seconds=0.002)


@pytest.mark.parametrize(
    ("then", "lines"),
    [
        ([StepFinished(FAILED_STEP), Perceived(1, PerceptionResult()), _ended("no such host")],
         ["[tool] web.get() failed (2 ms)"]),
        ([StepFinished(FAILED_STEP), _ended("No answer: something else")],
         ["[tool] web.get() failed: no such host. (2 ms)"]),
        ([Retrying(1, 1, PlanFailure("tool", "get: no such host."), 1)],
         ["[tool] web.get() failed (2 ms)",
          "[loop] plan 1 of step 1 failed: get: no such host; planning again, 1 lifeline left"]),
        ([ToolCallFinished(2, CALL)], ["[tool] web.get() failed: no such host. (2 ms)", CALL_LINE]),
    ],
)  # fmt: skip
async def test_the_reason_of_a_failed_call_is_told_once_and_its_tool_is_named_once(
    then: list[Event], lines: list[str]
) -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal")
    for event in [ToolCallFinished(1, FAILED_CALL), *then]:
        await progress(event)
    assert stream.getvalue().splitlines() == [line.strip() for line in lines]


async def test_nothing_that_a_server_or_model_says_floods_the_terminal() -> None:
    long = "x" * 100_000
    events: list[Event] = [
        ToolCallFinished(1, ToolCall("t", {"a": long}, ok=True, result=[long], seconds=0)),
        ToolCallFinished(1, ToolCall("t", {}, ok=False, result=long, seconds=0)),
        ToolCallStarted(1, "t", {"a": long}),
        PlanRepaired(1, 1, (long,) * 9),
        ToolCallProgress(1, "t", 1, None, long),
        ServerLogged("web", long, long),
        Retrying(1, 1, PlanFailure("error", long), 1),
        Perceived(1, PerceptionResult(intent=long, tool_hint=long, selected_servers=[long])),
        Observed(1, long),
        ActionChosen("graph", long),
        GraphPlanned(TaskGraph(long, (Subtask(long, long),) * 50), (long,)),
        SubtaskChanged(Subtask("a", long), "failed", 1, long),
        Replanned("a", long, TaskGraph(long, (Subtask(long, long),) * 50)),
        RoleChosen("a", "r", long),
        MessageSent(Message("a", None, "task", "a", long, 1.0)),
        BoardChanged(BoardEntry("facts", "k", long, "w", 1, 1.0)),
        Judged("blocked", long),
        SubtaskEvent("a", 1, Observed(1, long)),
    ]
    for event in events:
        assert len(await told(event, "verbose")) < 4 * VALUE_CHARACTERS, event


class TestServerLogs:
    @pytest.mark.parametrize("level", ["debug", "info", "notice"])
    async def test_what_is_no_warning_is_told_only_to_those_who_ask(self, level: str) -> None:
        event = ServerLogged("web", level, "hello")
        assert await told(event, "normal") == ""
        assert await told(event, "verbose") == f"[mcp] web {level}: hello\n"

    @pytest.mark.parametrize("level", ["error", "critical", "alert", "emergency", "odd", ""])
    async def test_errors_and_what_has_no_level_are_told_unless_quiet_is_wanted(
        self, level: str
    ) -> None:
        event = ServerLogged("web", level, "hello")
        assert await told(event, "normal") == f"[mcp] web {level}: hello\n"
        assert await told(event, "quiet") == ""

    async def test_no_server_writes_more_than_one_line_a_message(self) -> None:
        event = ServerLogged("web", "error\n[loop] x", "a\n[loop] all is well\r\n\x1b[2J")
        line = await told(event, "normal")
        seen = "\N{REPLACEMENT CHARACTER}[2J"
        assert line == f"[mcp] web error [loop] x: a [loop] all is well {seen}\n"

    async def test_a_server_that_floods_is_silenced_until_the_next_request(self) -> None:
        stream = io.StringIO()
        progress = Progress(stream, "normal")
        for number in range(3 * SERVER_LOG_LINES):
            await progress(ServerLogged("web", "error", f"message {number}"))
        await progress(ServerLogged("other", "error", "heard"))
        lines = stream.getvalue().splitlines()
        assert len(lines) == SERVER_LOG_LINES + 2
        assert lines[-2] == "[mcp] web logs more than is shown; --verbose shows all"
        assert lines[-1] == "[mcp] other error: heard"
        await progress(RunStarted("s", "r", "m"))
        await progress(ServerLogged("web", "error", "again"))
        assert stream.getvalue().endswith("[mcp] web error: again\n")

    async def test_a_call_that_reports_without_end_gets_a_few_lines(self) -> None:
        stream = io.StringIO()
        progress = Progress(stream, "normal")
        for number in range(3 * CALL_PROGRESS_LINES):
            await progress(ToolCallProgress(1, "web.get", number, None, f"at {number}"))
        await progress(ToolCallProgress(2, "web.get", 3, 10, "reading"))
        lines = stream.getvalue().splitlines()
        assert len(lines) == CALL_PROGRESS_LINES + 2
        assert lines[-2] == "[tool] web.get reports more than is shown; --verbose shows all"
        assert f"{lines[-1]}\n" == PROGRESS_LINE
        await progress(RunStarted("s", "r", "m"))
        await progress(ToolCallProgress(1, "web.get", 3, 10, "reading"))
        assert stream.getvalue().endswith(f"shows all\n{PROGRESS_LINE * 2}")


class TestCallLines:
    def test_the_wrapper_is_not_shown_and_plain_arguments_are(self) -> None:
        assert call_line(ToolCall("t", {"a": "x"}, True, None, 1.5)) == 't(a="x") → null (1.5 s)'
        assert call_line(ToolCall("t", {"input": 5}, True, None, 0)) == "t(input=5) → null (0 ms)"
        both: dict[str, Json] = {"input": {"a": 1}, "b": 2}
        assert call_line(ToolCall("t", both, True, 1, 0)) == 't(input={"a": 1}, b=2) → 1 (0 ms)'
        assert call_line(ToolCall("t", {}, True, "", 0)) == 't() → "" (0 ms)'

    def test_a_failed_call_shows_the_error_as_it_reads(self) -> None:
        call = ToolCall("t", {}, ok=False, result="no such file", seconds=0)
        assert call_line(call) == "t() failed: no such file (0 ms)"

    def test_many_arguments_and_names_of_any_kind_stand_on_one_line(self) -> None:
        many: dict[str, Json] = {f"a{number}": number for number in range(100_000)}
        line = call_line(ToolCall("t", many, True, 1, 0))
        assert line.endswith(f"a{ARGUMENTS_SHOWN - 1}={ARGUMENTS_SHOWN - 1}, …) → 1 (0 ms)")
        odd: dict[str, Json] = {"a\n[loop] b": 1, "x" * 1_000: 2}
        line = call_line(ToolCall("t", odd, True, "\n", 0))
        assert line == f't(a [loop] b=1, {"x" * 99}…=2) → "\\n" (0 ms)'

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (float("inf"), "Infinity"),
            ("grüße\n", '"grüße\\n"'),
            ({"a": [1, 2.5]}, '{"a": [1, 2.5]}'),
            pytest.param([10**5000], "[…]", id="digits"),
        ],
    )
    def test_values_stand_there_whatever_they_are(self, value: Json, text: str) -> None:
        line = call_line(ToolCall("t", {"a": value}, True, value, 0))
        assert line == f"t(a={text}) → {text} (0 ms)"


async def test_no_line_that_is_told_drives_a_terminal() -> None:
    hostile = "\x1b[2J"
    assert await told(Notice("x", hostile), "quiet") == "[x] \\x1b[2J\n"
    for event in (
        ToolCallProgress(1, "t", 1, None, hostile),
        ToolCallFinished(1, ToolCall("t", {hostile: hostile}, False, hostile, 0)),
        PlanWritten(1, 1, Plan(hostile), hostile),
        Perceived(1, PerceptionResult(intent=hostile)),
    ):
        assert "\x1b" not in await told(event, "verbose")


def full_disk() -> TextIO:
    return Path("/dev/full").open("w", encoding="utf-8")


class TestStreamsThatAreGone:
    async def test_a_closed_stream_is_no_reason_to_fail(self) -> None:
        stream = io.StringIO()
        progress = Progress(stream, "verbose")
        stream.close()
        await progress(NOTICE)
        await progress(RunStarted("s", "r", "m"))
        await progress.notice("again")

    async def test_a_pipe_that_nobody_reads_is_none_either(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        stream = os.fdopen(writing, "w", encoding="utf-8")
        progress = Progress(stream, "normal")
        await progress(NOTICE)
        await progress(Observed(1, "x"))
        with pytest.raises(BrokenPipeError):
            stream.close()  # what it could not write is still in it

    async def test_a_full_disk_is_none_either(self) -> None:
        stream = full_disk()
        await Progress(stream, "normal")(NOTICE)
        with pytest.raises(OSError, match="No space left"):
            stream.close()

    async def test_a_stderr_that_was_closed_before_we_began_is_none_either(self) -> None:
        """With `2>&-` Python has no `sys.stderr` at all."""
        await Progress(None, "normal")(NOTICE)

    async def test_after_a_failure_only_notices_are_tried(self) -> None:
        written: list[str] = []

        class Flaky(io.StringIO):
            def write(self, text: str) -> int:
                written.append(text)
                raise OSError("gone")

        progress = Progress(Flaky(), "verbose")
        await progress(Observed(1, "x"))
        await progress(Observed(2, "x"))
        await progress(NOTICE)
        assert len(written) == 2


async def test_what_is_waited_for_is_told_unless_quiet_is_wanted() -> None:
    for loudness in get_args(Loudness):
        stream = io.StringIO()
        await Progress(stream, loudness).waiting("wait")
        assert stream.getvalue() == ("" if loudness == "quiet" else "[loop] wait\n")


async def test_what_is_waited_for_is_not_told_after_the_answer() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal")
    await progress(RunStarted("s", "r", "m"))
    await progress.waiting("one")
    await progress(RunFinished(RunOutcome("done", "3", "")))
    await progress.waiting("two")
    progress.begin_request()
    await progress.waiting("three")
    told = [line for line in stream.getvalue().splitlines() if not line.startswith("[loop] done")]
    assert told == ["[loop] one", "[loop] three"]


def test_letters_of_a_tools_name_that_pass_for_latin_ones_show_in_a_call() -> None:
    assert call_line(ToolCall("m.\u0430dd", {}, True, 1, 0)) == r"m.\u0430dd() → 1 (0 ms)"
