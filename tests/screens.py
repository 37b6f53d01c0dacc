"""Screens as terminals show them: pyte emulates one, and keeps what was written, and when.

`Recorder` is such a screen, `ScreenTerminal` one at which `agent.py` runs. What was written can be
played again frame by frame: a terminal that knows synchronized updates (DEC private mode 2026)
shows each of them at once, and all else as it comes.
"""

import itertools
import os
import re
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pyte

from tests.processes.forked_terminal import ROWS as FORKED_ROWS
from tests.processes.forked_terminal import ForkedTerminal

COLUMNS = 100
ROWS = 40
WAIT_SECONDS = 20
POLL_SECONDS = 0.05

BEGIN_OF_UPDATE = "\x1b[?2026h"
END_OF_UPDATE = "\x1b[?2026l"

_REDRAWS = re.compile(r"\x1b\[\d*[ABFGHJKdf]|\x1b\[\d+;\d+H|\r(?!\n|\Z)")
"""Goes back to what stands on the screen, or erases it: a return that ends no line does, too."""

_VARIES = (
    (re.compile(r"\d[\d,.]* (?:ms|s|min)\b"), "T"),
    (re.compile(r"\b\d{4}/\d\d/\d\d/session-\d+-[0-9a-f]{6}"), "SESSION"),
    (re.compile(r"\S*script\.json"), "MODEL"),
)
"""What differs from run to run."""


@dataclass(frozen=True)
class Written:
    """A piece as it was read, or how wide the screen became."""

    at: float
    text: str = ""
    columns: int = 0


class Recorder:
    """A screen, and all that was written to it with its time."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        """An empty one."""
        self.columns, self.rows = columns, rows
        self.written: list[Written] = []
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)

    def feed(self, text: str) -> None:
        """Show what was written."""
        self.written.append(Written(time.monotonic(), text))
        self._stream.feed(text)

    def resize(self, columns: int) -> None:
        """Make it so wide; rows that are longer are cut off, as xterm does."""
        self.written.append(Written(time.monotonic(), columns=columns))
        self.screen.resize(columns=columns)

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(each.text for each in self.written)

    def frames(self) -> Iterator[list[str]]:
        """The rows that have something after each update, and after each piece outside of one."""
        played = Recorder(self.columns, self.rows)
        for columns, text in self._pieces():
            if columns:
                played.resize(columns)
            else:
                played.feed(text)
            yield [row.rstrip() for row in played.screen.display if row.strip()]

    def redraws_outside_updates(self) -> list[str]:
        """What a terminal shows half drawn, though it knows synchronized updates."""
        pieces = [text for _, text in self._pieces() if not text.startswith(BEGIN_OF_UPDATE)]
        return [text for text in pieces if _REDRAWS.search(text)]

    def silent_seconds(self, since: int = 0) -> float:
        """The longest time in which nothing was written, from the piece of that number on."""
        times = [each.at for each in self.written[since:]]
        return max((late - soon for soon, late in itertools.pairwise(times)), default=0.0)

    def _pieces(self) -> Iterator[tuple[int, str]]:
        """Whole updates, and what stands between two; a new width stands for itself."""
        text = ""
        for each in self.written:
            if each.columns:
                yield each.columns, ""
            text += each.text
            *whole, text = re.split(
                f"({re.escape(BEGIN_OF_UPDATE)}.*?{re.escape(END_OF_UPDATE)})",
                text,
                flags=re.DOTALL,
            )
            yield from ((0, piece) for piece in whole if piece)
            if text and BEGIN_OF_UPDATE not in text:
                yield 0, text
                text = ""
        assert not text, "an update has no end"


def broken_words(frame: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those of the words that go on in the row below, without a hyphen of their own."""
    pairs = [(above.rstrip(" │"), below.lstrip(" │")) for above, below in itertools.pairwise(frame)]
    return [
        word
        for word in words
        for above, below in pairs
        if any(
            re.search(rf"\b{re.escape(word[:at])}\Z", above) and below.startswith(word[at:])
            for at in range(2, len(word) - 1)
        )
    ]


def settled(text: str) -> str:
    """The text with a word in place of each time, session and path of a test's own."""
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text


def screen_lines(written: str, columns: int = COLUMNS, rows: int = ROWS) -> list[str]:
    """The lines on a new screen, those that scrolled away too, without empty ones at the end."""
    shown = Recorder(columns, rows)
    shown.feed(on_terminal(written))
    return lines_of(shown.screen)


def lines_of(screen: pyte.HistoryScreen) -> list[str]:
    """What stands on a screen and above it."""
    above = ["".join(line[x].data for x in range(screen.columns)) for line in screen.history.top]
    lines = [line.rstrip() for line in [*above, *screen.display]]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def on_terminal(written: str) -> str:
    """What reaches the screen: the terminal's driver makes each line end a return as well."""
    return written.replace("\r\n", "\n").replace("\n", "\r\n")


class ScreenTerminal(ForkedTerminal):
    """A terminal with a screen, which answers where its cursor is, as terminals do."""

    def __init__(
        self,
        *arguments: str,
        environ: Mapping[str, str],
        cwd: Path,
        columns: int = COLUMNS,
        loses_output: bool = True,
    ) -> None:
        """Run `agent.py ARGUMENTS` at it; see `ForkedTerminal`."""
        self.recorder = Recorder(columns, FORKED_ROWS)
        self.screen = self.recorder.screen
        self.screen.write_process_input = self._answer
        super().__init__(
            *arguments,
            environ=environ,
            cwd=cwd,
            timeout=WAIT_SECONDS,
            columns=columns,
            loses_output=loses_output,
        )

    @property
    def text(self) -> str:
        """The rows that have something, a line each."""
        return "\n".join(row.rstrip() for row in self.screen.display if row.strip())

    def until(self, is_there: Callable[[str], bool]) -> str:
        """The screen's text once it is as wanted.

        Raises:
            AssertionError: it does not come to that.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            if is_there(self.text):
                return self.text
            self.look()
        raise AssertionError(f"the screen stays at:\n{self.text}")

    def shows(self, part: str) -> str:
        """The screen's text once it has this in it."""
        return self.until(lambda text: part in text)

    def ends(self) -> int:
        """The exit code."""
        with suppress(pexpect.EOF):
            self.until(lambda text: False)
        return self.wait()

    def resize(self, columns: int) -> None:
        """Make it so wide."""
        self.recorder.resize(columns)
        termios.tcsetwinsize(self.child_fd, (FORKED_ROWS, columns))

    def look(self) -> None:
        """Take in what has been written meanwhile."""
        try:
            self.recorder.feed(self.read_nonblocking(65_536, POLL_SECONDS))
        except pexpect.TIMEOUT:
            return

    def _answer(self, data: str) -> None:
        os.write(self.child_fd, data.encode())


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again until it is so.

    Raises:
        AssertionError: it does not come to that.
    """
    looking, deadline = threading.Event(), time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        looking.wait(POLL_SECONDS)
