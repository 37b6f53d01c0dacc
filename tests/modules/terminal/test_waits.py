"""What is waited for: named with its time on a terminal, in lines elsewhere, never for a blink.

And the line that is written over: what fits a terminal, and which terminals can erase it.
"""

import asyncio
import io
import re
import threading
from collections.abc import Callable

import pytest

from core.events import (
    Event,
    ModelAnswered,
    ModelAsked,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Notice,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    StepFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from core.turn import (
    FinalAnswer,
    PerceptionResult,
    Plan,
    PlanFailure,
    RunOutcome,
    Step,
    ToolCall,
    Usage,
)
from modules.terminal.asking.dialogue import HeldStream
from modules.terminal.display.region import (
    can_erase,
)
from modules.terminal.progress import Loudness, Progress
from modules.terminal.screen import fitting
from modules.terminal.waits import Waits
from tests.doubles import Terminal
from tests.screens import screen_lines

MARK = re.compile("[\u2800-\u28ff] ")


class Time:
    """A clock that stands still, and what is to be called as it goes on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def clock(self) -> float:
        return self.now

    def schedule(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        entry = (self.now + seconds, action)
        self.due.append(entry)
        return lambda: self.due.remove(entry) if entry in self.due else None

    def go_on(self, seconds: float) -> None:
        """Let a little more time pass, calling what is due at its time."""
        end = self.now + seconds + 0.002
        while due := min((entry for entry in self.due if entry[0] <= end), default=None, key=_when):
            self.due.remove(due)
            self.now = due[0]
            due[1]()
        self.now = end


def _when(entry: tuple[float, Callable[[], None]]) -> float:
    return entry[0]


class Screen:
    """A progress display on a terminal, or not, with its clock."""

    def __init__(
        self, *, terminal: bool = True, loudness: Loudness = "normal", calls: bool = True
    ) -> None:
        self.stream = Terminal() if terminal else io.StringIO()
        self.time = Time()
        self.held = False
        self.progress = Progress(
            self.stream,
            loudness,
            is_held=lambda: self.held,
            clock=self.time.clock,
            schedule=self.time.schedule,
            call=(lambda text: f"<{text}>") if calls else None,
        )

    def tell(self, event: Event) -> None:
        self.progress.tell(event)

    @property
    def line(self) -> str:
        """What stands in the last line, without the mark that turns."""
        lines = screen_lines(self.stream.getvalue())
        return MARK.sub("", lines[-1]) if lines else ""


@pytest.fixture(autouse=True)
def term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def no_log(stage: str, text: str) -> None:
    """A terminal has its line."""


CALL = ToolCall("web.read", {}, ok=True, result="x", seconds=15)
STEP = Step(1, 1, PerceptionResult(), Plan("p"), FinalAnswer("3"), 0.25)
STARTED = ToolCallStarted(1, "web.read", {})


def test_a_call_is_named_once_it_has_taken_a_quarter_of_a_second_and_its_seconds_count() -> None:
    screen = Screen()
    screen.tell(STARTED)
    assert screen.line == ""
    screen.time.go_on(0.24)
    assert screen.stream.getvalue() == ""
    screen.time.go_on(0.05)
    assert screen.line == "[tool] web.read() · 0.2 s"
    screen.time.go_on(0.75)
    assert screen.line == "[tool] web.read() · 1 s"
    screen.time.go_on(64)
    assert screen.line == "[tool] web.read() · 1 min 5 s"
    screen.tell(ToolCallFinished(1, CALL))
    assert screen.line == ""
    written = screen.stream.getvalue()
    screen.time.go_on(60)
    assert screen.stream.getvalue() == written, "nothing is waited for any more"


def test_quick_waits_in_a_row_are_one_silence_that_is_ended() -> None:
    screen = Screen()
    screen.progress.begin_request()
    screen.time.go_on(0.1)
    screen.tell(RunStarted("1", "s", "scripted"))
    screen.tell(ModelAsked("scripted", "perception"))
    screen.time.go_on(0.1)
    screen.tell(ModelAnswered("scripted", "perception", Usage(), 0.1, None))
    screen.tell(ModelAsked("scripted", "decision"))
    assert screen.stream.getvalue() == ""
    screen.time.go_on(0.06)
    assert screen.line == "[model] waiting for scripted (a plan)"


def test_what_is_done_before_a_run_is_named_and_no_longer_than_that() -> None:
    screen = Screen()
    screen.progress.begin_request()
    screen.time.go_on(0.3)
    assert screen.line == "[loop] waiting for what the request needs · 0.2 s"
    screen.tell(RunStarted("1", "s", "scripted"))
    screen.time.go_on(0.1)
    assert screen.line == ""


def test_what_is_quick_is_never_shown() -> None:
    screen = Screen()
    screen.tell(STARTED)
    screen.time.go_on(0.2)
    screen.tell(ToolCallFinished(1, CALL))
    assert "waiting" not in screen.stream.getvalue()


@pytest.mark.parametrize(
    ("begun", "named", "ended"),
    [
        (
            ModelAsked("gemini", "decision"),
            "[model] waiting for gemini (a plan) · 2 s",
            ModelAnswered("gemini", "decision", Usage(), 2, None),
        ),
        (
            ModelRetried("gemini", "busy", 1, 30),
            "[model] try 2 of gemini in 30.0 s: busy · 2 s",
            ModelAnswered("gemini", "decision", Usage(), 2, None),
        ),
        (
            ModelReplaced("gemini", "ollama", "down"),
            "[model] waiting for ollama · 2 s",
            ModelAnswered("ollama", "decision", Usage(), 2, None),
        ),
        (
            ModelWriting("gemini", 12, 0),
            "[model] gemini: 12 characters written · 2 s",
            ModelAnswered("gemini", "decision", Usage(), 2, None),
        ),
        (
            PlanWritten(1, 1, Plan("p"), "path"),
            "[plan] p · 2 s",
            StepFinished(STEP),
        ),
        (STARTED, "[tool] web.read() · 2 s", RunFinished(RunOutcome("failed", None, ""))),
    ],
)
def test_every_wait_of_a_run_has_a_name(begun: Event, named: str, ended: Event) -> None:
    screen = Screen()
    screen.tell(begun)
    screen.time.go_on(2)
    assert screen.line == named
    screen.tell(ended)
    assert "·" not in screen.line


def test_a_stream_that_stalls_says_for_how_long_nothing_came() -> None:
    screen = Screen()
    screen.tell(ModelAsked("gemini", "decision"))
    screen.time.go_on(5)
    screen.tell(ModelWriting("gemini", 12, 0))
    screen.time.go_on(2)
    assert screen.line == "[model] gemini: 12 characters written · 7 s"
    screen.time.go_on(2.5)
    assert screen.line == "[model] gemini: 12 characters written · 9 s, nothing for 4 s"
    screen.tell(ModelWriting("gemini", 13, 0))
    screen.time.go_on(1)
    assert screen.line == "[model] gemini: 13 characters written · 10 s"


def test_retries_are_told_in_one_line_that_changes() -> None:
    screen = Screen()
    screen.tell(ModelAsked("gemini", "decision"))
    for attempt, pause in ((1, 0.5), (2, 2.0), (3, 8.0)):
        screen.tell(ModelRetried("gemini", "model gemini is busy; wait", attempt, pause))
        screen.time.go_on(pause)
        assert f"try {attempt + 1} of gemini in {pause} s: model gemini is busy · " in screen.line
    screen.tell(ModelAnswered("gemini", "decision", Usage(), 2, None))
    assert "busy" not in screen.line
    assert "\n" not in screen.stream.getvalue()


def test_the_newest_wait_is_named_and_then_the_one_before_again() -> None:
    screen = Screen()
    screen.tell(STARTED)
    screen.time.go_on(5)
    with screen.progress.during("mcp", "server 'web' to start"):
        screen.time.go_on(0.1)
        assert screen.line == "[tool] web.read() · 5 s"
        screen.time.go_on(1)
        assert screen.line == "[mcp] waiting for server 'web' to start · 1 s"
    screen.time.go_on(0.1)
    assert screen.line == "[tool] web.read() · 6 s"


def test_a_line_in_between_stands_above_the_wait() -> None:
    screen = Screen()
    screen.tell(STARTED)
    screen.time.go_on(1)
    screen.tell(Notice("loop", "hello"))
    lines = screen_lines(screen.stream.getvalue())
    assert [MARK.sub("", line) for line in lines] == ["[loop] hello", "[tool] web.read() · 1 s"]


def test_a_name_drives_no_terminal_and_takes_one_line() -> None:
    screen = Screen()
    screen.tell(ToolCallStarted(1, "a\n\x1b[2J", {}))
    screen.time.go_on(1)
    assert screen.line == "[tool] a \\x1b[2J() · 1 s"


def test_while_somebody_else_has_the_terminal_nothing_is_written() -> None:
    screen = Screen()
    screen.tell(STARTED)
    screen.held = True
    screen.time.go_on(10)
    assert screen.stream.getvalue() == ""
    screen.held = False
    screen.time.go_on(1)
    assert screen.line == "[tool] web.read() · 11 s"


def test_a_question_finds_an_empty_line() -> None:
    told: list[str] = []
    stream = HeldStream(io.StringIO())
    stream.before_held = lambda: told.append("made room")
    assert not stream.is_held()
    with stream.held():
        assert told == ["made room"]
        assert stream.is_held()


def test_a_verbose_pipe_gets_a_line_every_ten_seconds() -> None:
    screen = Screen(terminal=False, loudness="verbose")
    screen.tell(STARTED)
    screen.time.go_on(9.9)
    assert "waiting" not in screen.stream.getvalue()
    screen.time.go_on(15)
    screen.tell(ToolCallFinished(1, CALL))
    screen.time.go_on(60)
    lines = [line for line in screen.stream.getvalue().splitlines() if "waiting" in line]
    assert lines == [
        "[tool] still waiting for web.read, 10 s so far",
        "[tool] still waiting for web.read, 20 s so far",
    ]


@pytest.mark.parametrize(
    ("terminal", "loudness"), [(False, "normal"), (False, "quiet"), (True, "quiet")]
)
def test_a_pipe_and_quiet_runs_get_none(*, terminal: bool, loudness: Loudness) -> None:
    screen = Screen(terminal=terminal, loudness=loudness)
    screen.tell(STARTED)
    screen.time.go_on(60)
    assert screen.stream.getvalue() == ""
    assert screen.time.due == []


def test_a_terminal_that_cannot_erase_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    screen.tell(STARTED)
    screen.time.go_on(11)
    assert screen.stream.getvalue() == "[tool] still waiting for web.read, 10 s so far\n"


def test_before_there_is_an_event_loop_a_thread_names_the_wait() -> None:
    shown = threading.Event()

    class Stream(Terminal):
        def write(self, text: str) -> int:
            if "waiting for the keyring" in text:
                shown.set()
            return super().write(text)

    stream = Stream()
    with Waits(stream, no_log).during("model", "the keyring"):
        assert shown.wait(timeout=10)
    assert screen_lines(stream.getvalue()) == []


async def test_on_an_event_loop_the_loop_does() -> None:
    shown = asyncio.Event()

    class Stream(Terminal):
        def write(self, text: str) -> int:
            if "waiting for the server" in text:
                shown.set()
            return super().write(text)

    waits = Waits(Stream(), no_log)
    async with asyncio.timeout(10):
        with waits.during("mcp", "the server"):
            await shown.wait()


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("[model] m: 12 characters", 10, "[model] m:"),
        ("模型模型", 5, "模型"),
        ("a模型", 4, "a模"),
        ("short", 10, "short"),
        ("any", 0, ""),
        ("any", -1, ""),
        ("👩\u200d💻 x", 3, "👩\u200d💻"),
        ("👩\u200d💻 x", 1, ""),
        ("❤️❤️", 2, "❤️"),
        ("\U0001fae8\U0001fae8", 3, "\U0001fae8"),
        ("e\u0301e\u0301", 1, "e\u0301"),
        ("x" * 100_000, 5, "xxxxx"),
    ],
)
def test_a_line_takes_no_more_columns_than_there_are(text: str, columns: int, shown: str) -> None:
    assert fitting(text, columns) == shown


@pytest.mark.parametrize(("term", "can"), [("xterm-256color", True), ("dumb", False), ("", False)])
def test_only_terminals_that_know_how_are_told_to_erase(term: str, can: bool) -> None:
    assert can_erase({"TERM": term}) == can
    assert not can_erase({})


def test_a_dumb_terminal_gets_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    progress = Progress(stream, "normal")
    progress.tell(ModelWriting("m", 12, 0))
    progress.tell(Notice("loop", "x"))
    assert stream.getvalue() == "[loop] x\n"
    progress.end_waits()  # else its timers go on through all tests that follow


def test_a_line_in_between_stands_alone_and_a_models_name_drives_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(stream, "normal")
    progress.tell(ModelWriting("m\x1b[2J", 12, 3))
    progress.tell(Notice("loop", "x"))
    shown = "[model] m\N{REPLACEMENT CHARACTER}[2J: 12 characters written, 3 characters thought"
    lines = screen_lines(stream.getvalue())
    assert [MARK.sub("", line) for line in lines] == ["[loop] x", shown]
    progress.end_waits()
    assert screen_lines(stream.getvalue()) == ["[loop] x"]


def test_what_a_service_or_tool_says_of_its_trouble_stays_on_our_line() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal")
    progress.tell(ModelRetried("m", "busy\n[loop] all is well", 1, 0.5))
    progress.tell(Retrying(1, 1, PlanFailure("tool", "bad\n[loop] all is well"), 2))
    assert [line[:7] for line in stream.getvalue().splitlines()] == ["[model]", "[loop] "]


class TestCalls:
    """Who looks elsewhere meanwhile is called."""

    def run_of(self, seconds: float, outcome: RunOutcome, screen: Screen) -> str:
        screen.tell(RunStarted("s", "add", "m"))
        screen.time.go_on(seconds)
        screen.tell(RunFinished(outcome))
        return screen.stream.getvalue()

    def test_when_a_long_run_has_ended(self) -> None:
        done, failed = RunOutcome("done", "3", ""), RunOutcome("failed", None, "no")
        assert "<Cortex-R: done after 11 s>" in self.run_of(11, done, Screen())
        assert "<Cortex-R: no answer after 1 min 5 s>" in self.run_of(65, failed, Screen())

    def test_not_for_a_short_run_or_one_that_was_stopped_by_hand(self) -> None:
        assert "<" not in self.run_of(9, RunOutcome("done", "3", ""), Screen())
        assert "<" not in self.run_of(65, RunOutcome("interrupted", None, "no"), Screen())

    @pytest.mark.parametrize(
        "screen",
        [
            lambda: Screen(terminal=False),
            lambda: Screen(loudness="quiet"),
            lambda: Screen(calls=False),
        ],
    )
    def test_not_where_nobody_looks_or_wants_it(self, screen: Callable[[], Screen]) -> None:
        assert "<" not in self.run_of(65, RunOutcome("done", "3", ""), screen())


def test_calls_of_a_plan_that_no_run_follows_are_told_when_it_says_so() -> None:
    screen = Screen()
    screen.tell(ToolCallStarted(1, "desk.delete_file", {}))
    screen.tell(ToolCallFinished(1, ToolCall("desk.delete_file", {}, True, "deleted", 0.001)))
    assert "deleted" not in screen.stream.getvalue()
    screen.progress.tell_calls("")
    assert "✓ desk.delete_file()" in "\n".join(screen_lines(screen.stream.getvalue()))
