"""Rows at the foot of a terminal: cut to its width, written over, gone without a trace."""

import pyte

from modules.terminal.display.region import DIM, Region, Size, breaks_lines, row
from tests.doubles import Terminal
from tests.screens import END_OF_UPDATE, lines_of, on_terminal, screen_lines

XTERM = {"TERM": "xterm"}
CUTS_LINES = {"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}


class Screen:
    """A region on an emulated terminal that can be resized."""

    def __init__(self, columns: int = 40, rows: int = 12, environ: dict[str, str] = XTERM) -> None:
        self.stream = Terminal()
        self.size = Size(columns, rows)
        self.region = Region(self.stream, lambda: self.size, environ)
        self.emulator = pyte.HistoryScreen(columns, rows, history=1000, ratio=0.5)
        self._feed = pyte.Stream(self.emulator)
        self._fed = 0

    @property
    def lines(self) -> list[str]:
        written = self.stream.getvalue()
        self._feed.feed(on_terminal(written[self._fed :]))
        self._fed = len(written)
        return lines_of(self.emulator)

    def resize(self, columns: int) -> None:
        assert self.lines is not None, "what was written before is on the screen"
        self.size = Size(columns, self.size.rows)
        self.emulator.resize(columns=columns)


def test_rows_are_written_over_and_leave_nothing() -> None:
    screen = Screen()
    screen.region.show([row("one"), row("two"), row("three is longer")])
    assert screen.lines == ["one", "two", "three is longer"]
    screen.region.show([row("1")])
    assert screen.lines == ["1"]
    screen.region.clear()
    screen.region.clear()
    assert screen.lines == []


def test_lines_go_above_and_the_rows_stay_in_the_same_update() -> None:
    screen = Screen()
    screen.region.show([row("waiting"), row("for it")])
    with screen.region.frame():
        screen.region.write_above("told\n")
        screen.region.show([row("waiting"), row("for it")])
    assert screen.lines == ["told", "waiting", "for it"]
    assert screen.stream.getvalue().count(END_OF_UPDATE) == 2


def test_lines_without_rows_are_plain_lines() -> None:
    screen = Screen()
    screen.region.write_above("told\n")
    assert screen.stream.getvalue() == "told\n"


def test_the_last_columns_stay_free_and_the_end_of_a_row_is_cut_last() -> None:
    screen = Screen(columns=20)
    screen.region.show([row("waiting for everybody", end=" · 9 s"), row("x" * 50)])
    assert screen.lines == ["waiting for · 9 s", "x" * 17]


def test_more_rows_than_fit_lose_the_first() -> None:
    screen = Screen(rows=6)
    screen.region.show([row(str(number)) for number in range(9)])
    assert screen.lines == ["5", "6", "7", "8"]


def test_wide_letters_are_measured() -> None:
    screen = Screen(columns=10)
    screen.region.show([row("模型模型模型")])
    assert screen_lines(screen.stream.getvalue(), columns=10)[0].replace(" ", "") == "模型模"


def test_a_terminal_that_was_made_narrower_has_broken_the_rows_into_more() -> None:
    screen = Screen(columns=40)
    screen.region.show([row("x" * 35), row("short")])
    screen.size = Size(10, 12)
    screen.region.show([row("y")])
    assert "\r\x1b[4A\x1b[Jy" in screen.stream.getvalue(), "four rows and one"


def test_an_xterm_cuts_lines_off_and_the_one_above_stays() -> None:
    screen = Screen(environ=CUTS_LINES)
    screen.region.write_above("above\n")
    screen.region.show([row("x" * 35), row("z" * 35)])
    screen.resize(12)
    screen.region.show([row("y"), row("y")])
    assert screen.lines == ["above", "y", "y"]
    assert breaks_lines({**CUTS_LINES, "TMUX": "socket"})


def test_styles_are_left_out_without_colours() -> None:
    coloured, plain = Screen(), Screen(environ={"TERM": "xterm", "NO_COLOR": "1"})
    for screen in (coloured, plain):
        screen.region.show([row(("[x]", DIM), " y")])
    assert "\x1b[2m[x]\x1b[m y" in coloured.stream.getvalue()
    assert "m[x]" not in plain.stream.getvalue()


def test_a_terminal_that_is_gone_ends_it() -> None:
    stream = Terminal()
    region = Region(stream, lambda: Size(40, 12), XTERM)
    stream.close()
    region.show([row("x")])
    assert not region.is_live
    region.clear()
