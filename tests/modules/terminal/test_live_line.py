"""The line that is written over: what fits a terminal, and which terminals can erase it."""

import io

import pytest

from core.events import ModelRetried, ModelWriting, Notice, Retrying
from core.turn import PlanFailure
from modules.terminal.progress import Progress
from modules.terminal.screen import fitting
from modules.terminal.waits import LiveLine, breaks_lines, can_erase

ERASE = "\r\x1b[K"


class Tty(io.StringIO):
    """A terminal of unknown width."""

    def isatty(self) -> bool:
        """So it says."""
        return True


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


def test_the_last_columns_stay_free_for_what_a_terminal_puts_there_itself() -> None:
    stream = io.StringIO()
    line = LiveLine(stream, columns=lambda: 20)
    line.show("x" * 100)
    line.clear()
    line.clear()
    assert stream.getvalue() == f"{ERASE}{'x' * 17}{ERASE}"


def test_the_end_of_a_line_stays_where_its_text_does_not_fit() -> None:
    stream = io.StringIO()
    LiveLine(stream, columns=lambda: 20).show("waiting for everybody", " · 9 s")
    assert stream.getvalue() == f"{ERASE}waiting for · 9 s"


def test_a_terminal_that_was_made_narrower_keeps_nothing_of_the_line() -> None:
    stream, columns = io.StringIO(), [40]
    line = LiveLine(stream, columns=lambda: columns[0], environ={})
    line.show("x" * 35)
    columns[0] = 10
    line.show("y")
    assert stream.getvalue().endswith("x\r\x1b[3A\x1b[Jy"), "it had been broken into four rows"
    columns[0] = 40
    line.clear()
    assert stream.getvalue().endswith(f"y{ERASE}")


def test_an_xterm_cuts_lines_off_and_the_one_above_stays() -> None:
    stream, columns = io.StringIO(), [40]
    environ = {"XTERM_VERSION": "XTerm(390)"}
    line = LiveLine(stream, columns=lambda: columns[0], environ=environ)
    line.show("x" * 35)
    columns[0] = 10
    line.clear()
    assert stream.getvalue().endswith(f"x{ERASE}")
    assert breaks_lines({**environ, "TMUX": "socket"})


@pytest.mark.parametrize(("term", "can"), [("xterm-256color", True), ("dumb", False), ("", False)])
def test_only_terminals_that_know_how_are_told_to_erase(term: str, can: bool) -> None:
    assert can_erase({"TERM": term}) == can
    assert not can_erase({})


def test_a_dumb_terminal_gets_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Tty()
    progress = Progress(stream, "normal")
    progress.tell(ModelWriting("m", 12, 0))
    progress.tell(Notice("loop", "x"))
    assert stream.getvalue() == "[loop] x\n"


def test_a_line_in_between_stands_alone_and_a_models_name_drives_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Tty()
    progress = Progress(stream, "normal")
    progress.tell(ModelWriting("m\x1b[2J", 12, 3))
    progress.tell(Notice("loop", "x"))
    shown = "[model] m\\x1b[2J: 12 characters written, 3 characters thought"
    assert stream.getvalue() == f"{ERASE}{shown}{ERASE}[loop] x\n"


def test_what_a_service_or_tool_says_of_its_trouble_stays_on_our_line() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "normal")
    progress.tell(ModelRetried("m", "busy\n[loop] all is well", 1, 0.5))
    progress.tell(Retrying(1, 1, PlanFailure("tool", "bad\n[loop] all is well"), 2))
    assert [line[:7] for line in stream.getvalue().splitlines()] == ["[model]", "[loop] "]
