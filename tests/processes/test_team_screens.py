"""A request in parts on a real terminal: every frame whole, at any width, also when interrupted."""

import os
import sys
import time

import pexpect
import pytest

from tests.command_line import ROOT
from tests.screens import POLL_SECONDS, WAIT_SECONDS, Recorder, broken_words, lines_of, settled

ROWS = 30
WORDS = ("prices", "researcher", "cancelled", "zlotys", "notice")


class Player:
    """`tests.processes.team_events` at a terminal with a screen."""

    def __init__(self, columns: int, *arguments: str, **extra: str) -> None:
        """Begin it: nothing has been told yet but that the graph is planned."""
        self.recorder = Recorder(columns, ROWS)
        self.child: pexpect.spawn[str] = pexpect.spawn(
            sys.executable,
            ["-m", "tests.processes.team_events", *arguments],
            dimensions=(ROWS, columns),
            env={"PATH": os.environ["PATH"], "TERM": "xterm", **extra},
            cwd=str(ROOT),
            encoding="utf-8",
            echo=False,
        )

    @property
    def text(self) -> str:
        return "\n".join(lines_of(self.recorder.screen))

    def shows(self, part: str) -> str:
        """What stands there once it has this in it.

        Raises:
            AssertionError: it does not come.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while part not in self.text:
            assert time.monotonic() < deadline, self.text
            self.look()
        return self.text

    def look(self) -> bool:
        """Take in what has been written; whether there may be more."""
        try:
            self.recorder.feed(self.child.read_nonblocking(65_536, POLL_SECONDS))
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        return True

    def ends(self) -> str:
        """What is left at the end."""
        deadline = time.monotonic() + WAIT_SECONDS
        while self.look():
            assert time.monotonic() < deadline, self.text
        self.child.close()
        return settled(self.text)


def assert_every_frame_is_whole(player: Player) -> None:
    assert player.recorder.redraws_outside_updates() == []
    for frame in player.recorder.frames():
        assert broken_words(frame, WORDS) == [], frame
        # A part stands in the tree or above it, not in both, and the tree is there once.
        assert sum(line.startswith("[graph]") and "subtasks done" in line for line in frame) <= 1
        for number in (1, 2):
            ended = any(f"[graph] ✓ prices_{number}" in line for line in frame)
            in_tree = any(f" prices_{number} " in line and line.startswith("  ") for line in frame)
            assert not (ended and in_tree), frame


@pytest.mark.parametrize(("columns", "extra"), [(100, {}), (40, {}), (100, {"NO_COLOR": "1"})])
def test_parts_are_drawn_side_by_side_and_leave_a_line_each(
    columns: int, extra: dict[str, str]
) -> None:
    player = Player(columns, "normal", "3", **extra)
    player.shows("[graph] 5 subtasks")
    player.child.send("\n")
    tree = player.shows("· summary").splitlines()[-6:]
    assert tree[0].startswith("[graph] 0 of 5 subtasks done")
    names = ["prices_1", "prices_2", "prices_3", "· table after", "· summary after"]
    assert [name in line for name, line in zip(names, tree[1:], strict=True)] == [True] * 5
    player.child.send("\n")
    player.shows("web.read(")
    player.child.send("\n")
    player.shows("✓ prices_1 → The price")
    player.child.send("\n")
    player.shows("✗ prices_2 failed")
    player.child.send("\n")
    left = player.ends()
    assert_every_frame_is_whole(player)
    assert all(len(line) <= columns for line in left.splitlines())
    shown = left[left.index("[graph] ✓") :]
    if columns == 100:
        assert shown == LEFT
    assert "· summary" not in left, "the tree is gone"
    colours = {cell.fg for row in player.recorder.screen.buffer.values() for cell in row.values()}
    assert colours <= {"default"} if "NO_COLOR" in extra else {"green", "red"} <= colours


LEFT = """\
[graph] ✓ prices_1 → The price is 42 zlotys and rising (3,201 tokens, T)
[memory] prices_2: a part has a notice
[graph] ✗ prices_2 failed: no such host: example.org (T)
[graph] ✗ prices_3 cancelled (T)
[loop] 1 of 5 subtasks done; failed: prices_2; blocked: table, summary; cancelled:
       prices_3; 0 tool calls, T; 3,000 tokens read, 201 written"""


def test_ctrl_c_leaves_a_line_for_what_ran_and_counts_the_rest() -> None:
    player = Player(40, "normal", "2")
    player.shows("[graph] 4 subtasks")
    player.child.send("\n")
    player.shows("waits for gemini")
    player.child.sendintr()
    left = player.ends()
    assert_every_frame_is_whole(player)
    assert left[left.index("[graph] ✗") :].split("; 0 tool")[0].splitlines() == [
        "[graph] ✗ prices_1 cancelled (T)",
        "[graph] ✗ prices_2 cancelled (T)",
        "[loop] 0 of 4 subtasks done;",
        "       cancelled: prices_1, prices_2,",
        "       table and 1 more",
    ]


def test_a_terminal_that_cannot_erase_gets_a_line_a_change() -> None:
    player = Player(100, "normal", "2", TERM="dumb")
    for _ in range(5):
        player.child.send("\n")
    left = player.ends()
    assert "\x1b" not in player.recorder.text
    assert [line for line in left.splitlines() if "prices_1" in line][1:] == [
        "[graph] prices_1 begins", "[graph] prices_1 → The price is 42 zlotys and rising (T)",
    ]  # fmt: skip
