"""The dialogue in a pseudo-terminal: lines, keys, silence of others, and the modes it leaves."""

import asyncio
import contextlib
import io
import itertools
import os
import re
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pexpect
import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from modules.terminal.asking.dialogue import (
    HELD_TEXTS_MAX,
    Cancelled,
    Declined,
    Dialogue,
    HeldStream,
    Interrupted,
)
from modules.terminal.prompt import PromptKeyboard, do_above_prompt
from tests.command_line import ROOT, environment

BOUND_SECONDS = 5


class Screen(io.StringIO):
    """What was written, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str) -> int:
        self._written.set()
        return super().write(text)

    def isatty(self) -> bool:
        return True

    async def shows(self, text: str, *, after: str = "") -> None:
        """Wait for a text, behind another one."""
        while not re.search(f"{re.escape(after)}.*{re.escape(text)}", self.getvalue(), re.DOTALL):
            self._written.clear()
            await self._written.wait()


@dataclass
class Terminal:
    """Both ends of a pseudo-terminal; `keys` is where a person types."""

    keys: int
    stdin: TextIO
    shown: Screen
    dialogue: Dialogue
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def type(self, text: str) -> None:
        os.write(self.keys, text.encode())

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self.stdin))

    async def line(self, typed: str, *, hidden: bool = False) -> str:
        """What is read when this is typed once the prompt is there."""
        async with asyncio.timeout(BOUND_SECONDS), self.dialogue.opened():
            self.dialogue.write(prompt := f"[{next(self._numbers)}] >")
            reading = asyncio.create_task(self.dialogue.read_line(hidden=hidden))
            await self.shown.shows(prompt)
            self.type(typed)
            return await reading


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    keys, descriptor = os.openpty()
    shown = Screen()
    with os.fdopen(descriptor) as stdin:
        yield Terminal(keys, stdin, shown, Dialogue(stdin, HeldStream(shown)))
    os.close(keys)


class TestLines:
    @pytest.mark.parametrize(
        ("typed", "line"),
        [
            ("hello\n", "hello"),
            ("hello\r", "hello"),
            ("\n", ""),
            ("grüße 🎉\n", "grüße 🎉"),
            ("helo\x7flo\n", "hello"),
        ],
    )
    async def test_a_typed_line_is_given_as_the_terminal_edited_it(
        self, terminal: Terminal, typed: str, line: str
    ) -> None:
        assert await terminal.line(typed) == line

    async def test_several_lines_at_once_are_given_one_by_one(self, terminal: Terminal) -> None:
        async with asyncio.timeout(BOUND_SECONDS), terminal.dialogue.opened():
            terminal.type("one\ntwo\n")
            assert await terminal.dialogue.read_line() == "one"
            assert await terminal.dialogue.read_line() == "two"

    async def test_what_was_typed_before_the_question_is_no_answer(
        self, terminal: Terminal
    ) -> None:
        terminal.type("y\n")
        assert await terminal.line("n\n") == "n"

    async def test_ctrl_d_declines_and_ctrl_c_interrupts_at_once(self, terminal: Terminal) -> None:
        with pytest.raises(Declined):
            await terminal.line("\x04")
        with pytest.raises(Interrupted):
            await terminal.line("half a li\x03")

    async def test_a_terminal_that_goes_away_cancels(self) -> None:
        keys, descriptor = os.openpty()
        stdin = os.fdopen(descriptor)
        dialogue = Dialogue(stdin, HeldStream(Screen()))

        async def ask(close: Callable[[], None]) -> None:
            async with dialogue.opened():
                reading = asyncio.create_task(dialogue.read_line())
                await asyncio.sleep(0)
                close()
                await reading

        async with asyncio.timeout(BOUND_SECONDS):
            with pytest.raises((Cancelled, Declined)):
                await ask(lambda: os.close(keys))
            stdin.close()
            with pytest.raises(Cancelled):
                await ask(stdin.close)

    async def test_waiting_can_be_cancelled_and_blocks_nothing(self, terminal: Terminal) -> None:
        before = terminal.modes()
        async with asyncio.timeout(BOUND_SECONDS), terminal.dialogue.opened():
            terminal.dialogue.write("[x] >")
            reading = asyncio.create_task(terminal.dialogue.read_line())
            await terminal.shown.shows("[x] >")
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        assert not asyncio.get_running_loop().remove_reader(terminal.stdin.fileno())
        assert terminal.modes() == before


class TestModes:
    async def test_the_terminal_is_left_as_it_was(self, terminal: Terminal) -> None:
        before = terminal.modes()
        await terminal.line("a\n", hidden=True)
        assert terminal.modes() == before
        with pytest.raises(Cancelled):
            await terminal.line("\x03")
        assert terminal.modes() == before

    @pytest.mark.parametrize("term", ["xterm", "dumb"])
    async def test_hidden_lines_are_not_shown_and_the_next_one_is(
        self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str
    ) -> None:
        monkeypatch.setenv("TERM", term)
        async with asyncio.timeout(BOUND_SECONDS), terminal.dialogue.opened():
            for hidden, text in ((True, "sesame"), (False, "open")):
                terminal.dialogue.write("[x] > ")
                reading = asyncio.create_task(terminal.dialogue.read_line(hidden=hidden))
                await terminal.shown.shows("[x] >")
                terminal.type(f"{text}\n")
                assert await reading == text
        os.set_blocking(terminal.keys, False)
        with contextlib.suppress(BlockingIOError):  # nothing was echoed
            terminal.shown.write(os.read(terminal.keys, 10_000).decode())
        shown = terminal.shown.getvalue()
        assert "sesame" not in shown
        assert "*" not in shown, "nor how long it is"
        assert "open" in shown

    def test_what_is_no_terminal_is_attended_by_nobody(self, terminal: Terminal) -> None:
        # Not ours, either: the controlling terminal of the test run is another, if any.
        assert not terminal.dialogue.is_attended()
        reading, writing = os.pipe()
        with os.fdopen(reading) as stdin:
            dialogue = Dialogue(stdin, HeldStream(io.StringIO()))
            assert not dialogue.is_attended()
        os.close(writing)
        assert not dialogue.is_attended()


class TestHeldStream:
    async def test_what_others_write_during_a_question_comes_after_it(
        self, terminal: Terminal
    ) -> None:
        shown = io.StringIO()
        stream = HeldStream(shown)
        dialogue = Dialogue(terminal.stdin, stream)
        stream.write("before\n")
        async with dialogue.opened():
            stream.write("meanwhile\n")
            stream.flush()
            dialogue.write("question\n")
            stream.write("later\n")
        stream.write("after\n")
        assert shown.getvalue() == "before\nquestion\nmeanwhile\nlater\nafter\n"

    def test_of_very_much_the_oldest_is_counted_only(self) -> None:
        shown = io.StringIO()
        stream = HeldStream(shown)
        with stream.held():
            for number in range(HELD_TEXTS_MAX + 2):
                stream.write(f"{number}\n")
        assert shown.getvalue().startswith("[loop] 2 earlier lines are not shown\n2\n3\n")
        assert shown.getvalue().endswith(f"\n{HELD_TEXTS_MAX + 1}\n")

    async def test_where_nothing_can_be_shown_nobody_is_asked(self, terminal: Terminal) -> None:
        terminal.shown.close()
        async with terminal.dialogue.opened():
            with pytest.raises(Cancelled):
                terminal.dialogue.write("question")

    def test_a_closed_stream_is_no_reason_to_fail(self) -> None:
        shown = io.StringIO()
        stream = HeldStream(shown)
        with stream.held():
            stream.write("lost")
            shown.close()


ASKING = """
import asyncio
import sys

from core.dispatch.hooks import ToolChange
from core.mcp.hooks import Question
from modules.terminal.asking.dialogue import Dialogue, HeldStream
from modules.terminal.asking.questions import Questions

def say(stage, text):
    print(f"[{stage}] {text}", file=sys.stderr)

async def main():
    questions = Questions(Dialogue(sys.stdin, HeldStream(sys.stderr)), say)
    schema = {"properties": {"seat": {"type": "string", "enum": ["window", "aisle"]}}}
    print(await questions.ask(Question("booking", "Which seat?", schema)), flush=True)
    print(await questions.approve([ToolChange("notes", "read", "a", "b")]), flush=True)
    await questions.ask(Question("booking", "Which seat?", schema))
    for _ in range(10):  # for the loop to hear of the signal
        await asyncio.sleep(0)

asyncio.run(main())
"""


PROMPTING = """
import asyncio
import sys

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none

from core.mcp.hooks import Question
from modules.terminal.asking.dialogue import Dialogue, HeldStream
from modules.terminal.asking.questions import Questions

async def main():
    questions = Questions(Dialogue(sys.stdin, HeldStream(sys.stderr)), print)
    prompting = asyncio.create_task(PromptSession().prompt_async("prompt> ", handle_sigint=False))
    while not get_app_or_none():
        await asyncio.sleep(0)
    schema = {"properties": {"seat": {"type": "string"}}}
    print(await questions.ask(Question("booking", "Which seat?", schema)), flush=True)
    print("typed:", await prompting)

asyncio.run(main())
"""


def run(script: str, home: Path) -> "pexpect.spawn[str]":
    return pexpect.spawn(
        sys.executable,
        ["-c", script],
        env={
            **environment(home),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        },
        cwd=str(home),
        encoding="utf-8",
        timeout=20,
    )


class TestProcess:
    """A program of its own, for only a session's leader has a controlling terminal."""

    def test_somebody_at_the_terminal_is_asked_and_ctrl_c_is_passed_on(
        self, tmp_path: Path
    ) -> None:
        terminal = run(ASKING, tmp_path)
        try:
            terminal.expect_exact("│ Which seat?")
            terminal.expect_exact(">")
            terminal.send("2\r")
            terminal.expect_exact("Reply(action='accept', content={'seat': 'aisle'})")
            terminal.expect_exact("+b")
            terminal.expect_exact("[y/N]")
            terminal.send("y\r")
            terminal.expect_exact("True")
            terminal.expect_exact(">")
            terminal.sendintr()
            terminal.expect_exact("KeyboardInterrupt")
            terminal.expect(pexpect.EOF)
            terminal.wait()
        finally:
            terminal.close(force=True)
        assert terminal.signalstatus == signal.SIGINT

    def test_an_open_prompt_is_put_aside_and_comes_back(self, tmp_path: Path) -> None:
        """A server may change its tools while nobody has asked for anything."""
        terminal = run(PROMPTING, tmp_path)
        try:
            terminal.expect_exact("│ Which seat?")
            terminal.expect_exact(">")
            terminal.send("aisle\r")
            terminal.expect_exact("content={'seat': 'aisle'}")
            terminal.send("a request\r")
            terminal.expect_exact("typed: a request")
            terminal.expect(pexpect.EOF)
        finally:
            terminal.close(force=True)

    def test_in_the_background_nobody_is_asked_and_the_program_is_not_stopped(
        self, tmp_path: Path
    ) -> None:
        line = 'set -m; "$@" & wait $!; echo "ended with $?"'
        terminal: pexpect.spawn[str] = pexpect.spawn(
            "/bin/sh",
            ["-c", line, "sh", sys.executable, "-c", ASKING],
            env={**environment(tmp_path), "PYTHONPATH": str(ROOT)},
            cwd=str(tmp_path),
            encoding="utf-8",
            timeout=20,
        )
        try:
            terminal.expect_exact("declined: nobody is at a terminal")
            terminal.expect_exact("ended with 0")
        finally:
            terminal.close(force=True)


async def test_what_is_written_while_a_line_is_typed_stands_above_it() -> None:
    screen = Screen()
    output = Vt100_Output(screen, lambda: Size(rows=20, columns=80), term="xterm", enable_cpr=False)
    with create_pipe_input() as keys:
        session: PromptSession[str] = PromptSession(input=keys, output=output)
        stream = HeldStream(screen)
        async with asyncio.timeout(BOUND_SECONDS):
            typing = asyncio.create_task(session.prompt_async("> "))
            keys.send_text("half a li")
            await screen.shows("half a li")
            stream.write("some ")
            stream.write("news\n")
            await screen.shows("half a li", after="news\n")
            keys.send_text("ne\r")
            assert await typing == "half a line"
    before = screen.getvalue().partition("some ")[0]
    assert "\x1b[J" in before.rpartition("half a li")[2]  # what was typed was erased
    stream.write("now\n")
    assert screen.getvalue().endswith("now\n")


async def test_a_key_that_is_pressed_while_a_text_is_written_above_a_prompt_is_that_key(
    terminal: Terminal,
) -> None:
    """The terminal itself would take Ctrl-D for an end, and hand it on as Ctrl-@."""
    output = Vt100_Output(terminal.shown, lambda: Size(rows=20, columns=80), enable_cpr=False)
    prompt: PromptSession[str] = PromptSession(input=PromptKeyboard(terminal.stdin), output=output)

    def press() -> None:
        terminal.type("\x04")
        assert select.select([terminal.stdin], [], [], BOUND_SECONDS)[0], "it has arrived"

    async with asyncio.timeout(BOUND_SECONDS):
        typing = asyncio.create_task(prompt.prompt_async("> ", handle_sigint=False))
        await terminal.shown.shows(">")
        do_above_prompt(press)
        with pytest.raises(EOFError):
            await typing
