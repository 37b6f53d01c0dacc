"""Ctrl-C, Ctrl-Z, and the ends of others, in each phase of a request typed at the prompt."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pexpect
import pytest

from tests.command_line import ROOT, plan, script, session_files, write_profile
from tests.processes.conftest import OpenScreen
from tests.processes.slow_model import ANSWER, PLAN, slow_model
from tests.screens import ScreenTerminal, wait_until

PROMPT = "cortex-r>"
CTRL_C, CTRL_Z = "\x03", "\x1a"
SERVERS = ROOT / "tests" / "fixtures" / "servers"
HELD = plan("return f'FINAL_ANSWER: {await tools.hold(name=\"door\")}'")
LONG = plan("return 'FINAL_ANSWER: ' + '\\n'.join(f'- line {n} of many' for n in range(3_000))")

PHASES = {
    "perception": "⠙",
    "writing": "number = 1",
    "starting": "server 'silent'",
    "tool": "gate.hold(",
    "printing": "line 1",
    "question": "required)\n>",
}
"""What a screen shows in each phase."""


@pytest.fixture
def options(
    request: pytest.FixtureRequest, gated: list[str], tmp_path: Path
) -> Iterator[list[str]]:
    """Those of a program that stays in the phase that the test is about."""
    phase: str = request.param
    with ExitStack() as stack:
        if phase in ("perception", "writing"):
            yield stack.enter_context(slow_model(tmp_path, PLAN if phase == "writing" else None))
        elif phase in ("tool", "printing"):
            yield [*gated, "--model", script(tmp_path, [HELD if phase == "tool" else LONG])]
        else:
            name = "silent" if phase == "starting" else "asking"
            server = f"id: {name}\nscript: {SERVERS / f'{name}_server.py'}\ndescription: can add"
            calls = plan("return await tools.table()")
            yield [
                *("--profile", str(write_profile(tmp_path, server))),
                *("--model", script(tmp_path, [calls]), "--approve", "asking.table"),
            ]


def in_phase(terminal: ScreenTerminal, phase: str) -> None:
    terminal.shows(PROMPT)
    terminal.send("open the door\r")
    terminal.shows(PHASES[phase])


def left_of(home: Path) -> list[str]:
    """The command lines of processes that run in this home, or were told of it."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
            told = line + (process / "environ").read_bytes()
            if str(home).encode() in told or (process / "cwd").readlink() == home:
                found.append(line.decode().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("options", "phase"), [(phase, phase) for phase in PHASES], indirect=["options"]
)
class TestCtrlC:
    def test_once_cancels_and_the_prompt_is_there(
        self, open_screen: OpenScreen, options: list[str], phase: str, tmp_path: Path
    ) -> None:
        terminal = open_screen(*options)
        in_phase(terminal, phase)
        terminal.send(CTRL_C)
        terminal.until(lambda text: text.splitlines()[-2].strip() == PROMPT)
        told = "the answer was cut here" if phase == "printing" else "interrupted"
        assert terminal.text.count(told) == 1
        assert "line 2999" not in terminal.recorder.text
        terminal.send("/usage\r")
        terminal.shows("no model has counted tokens")
        terminal.sendeof()
        assert terminal.ends() == 0
        wait_until(lambda: left_of(tmp_path) == [])

    def test_twice_leaves_in_good_order_with_no_process_left(
        self, open_screen: OpenScreen, options: list[str], phase: str, tmp_path: Path
    ) -> None:
        terminal = open_screen(*options, loses_output=False)
        in_phase(terminal, phase)
        assert left_of(tmp_path) != []
        with suppress(pexpect.EOF, OSError):  # two that come at once are one signal
            terminal.until(lambda text: not terminal.send(CTRL_C))
        assert terminal.ends() in (0, 130)
        assert "Traceback" not in terminal.recorder.text
        assert ("--session 20" in terminal.recorder.text) == (session_files(tmp_path) != [])
        wait_until(lambda: left_of(tmp_path) == [])


def test_an_answer_that_is_interrupted_is_laid_out_as_far_as_it_was_written(
    open_screen: OpenScreen, tmp_path: Path
) -> None:
    with slow_model(tmp_path, ANSWER) as options:
        terminal = open_screen(*options)
        terminal.shows(PROMPT)
        terminal.send("how is tea made?\r")
        terminal.shows("• wait long")
        terminal.send(CTRL_C)
        terminal.until(lambda text: text.splitlines()[-2].strip() == PROMPT)
    shown = terminal.text
    assert shown.count("Unfinished Answer:") == shown.count("interrupted before") == 1
    assert "Boil the water" in shown
    assert not any(raw in shown for raw in ("# Tea", "**", "```", "- wait", "*long*"))
