"""What happens around the program: suspended, servers killed, terminals and readers that go."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.command_line import ROOT, environment, plan, script, without_servers
from tests.processes.conftest import OpenScreen
from tests.processes.test_cancelling import HELD, left_of
from tests.screens import ScreenTerminal, wait_until

PROMPT = "cortex-r>"
AGENT = (sys.executable, str(ROOT / "agent.py"))
DOOR = plan("return f'FINAL_ANSWER: {await tools.hold(name=\"door\")}'")


def holding(terminal: ScreenTerminal) -> None:
    terminal.shows(PROMPT)
    terminal.send("open the door\r")
    terminal.shows("gate.hold(")


def kill_server(gates: Path) -> None:
    os.kill(int((gates / "pid").read_text(encoding="utf-8")), signal.SIGKILL)


def test_ctrl_z_in_a_run_suspends_it_and_fg_goes_on(
    gated: list[str], gates: Path, tmp_path: Path
) -> None:
    # Only a program that a shell watches can be stopped; the shell goes on when it is.
    line = 'set -m; "$@"; echo "suspended by $?"; read gone; fg'
    options = [*AGENT, *gated, "--model", script(tmp_path, [HELD]), "open the door"]
    terminal: pexpect.spawn[str] = pexpect.spawn(
        "/bin/sh",
        ["-c", line, "sh", *options],
        env=environment(tmp_path, TERM="xterm", NO_COLOR="1"),
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=20,
        dimensions=(30, 100),
    )
    terminal.expect_exact("gate.hold(")
    terminal.send("\x1a")
    terminal.expect_exact(f"suspended by {128 + signal.SIGTSTP}")
    before: str = terminal.before or ""
    assert "gate.hold" not in before.rpartition("\x1b[?2026h")[2], "the rows are gone"
    terminal.sendline("typed to the shell")
    terminal.expect_exact("typed to the shell")
    (gates / "door").touch()
    terminal.expect_exact("door is open")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


def test_a_server_killed_while_a_request_is_typed_costs_nothing(
    open_screen: OpenScreen, gated: list[str], gates: Path, tmp_path: Path
) -> None:
    (gates / "door").touch()
    terminal = open_screen(*gated, "--model", script(tmp_path, [DOOR, DOOR]))
    holding(terminal)
    terminal.until(lambda text: text.count(PROMPT) == 2)
    terminal.send("open it")
    terminal.shows(f"{PROMPT} open it")
    killed = (gates / "pid").read_text(encoding="utf-8")
    kill_server(gates)
    terminal.send(" again")
    terminal.shows(f"{PROMPT} open it again")
    terminal.send("\r")
    terminal.until(lambda text: text.count("Final Answer: door is open") == 2)
    assert (gates / "pid").read_text(encoding="utf-8") != killed
    assert terminal.text.count(f"{PROMPT} open it again") == 1


def test_a_server_killed_while_its_tool_runs_is_told_and_the_prompt_goes_on(
    open_screen: OpenScreen, gated: list[str], gates: Path, tmp_path: Path
) -> None:
    told = plan("return 'FINAL_ANSWER: the door fell'")
    terminal = open_screen(*gated, "--model", script(tmp_path, [DOOR, told, DOOR]))
    holding(terminal)
    kill_server(gates)
    text = terminal.shows("Final Answer: the door fell")
    assert "✗ gate.hold" in text
    assert "SIGKILL" in text or "ended" in text
    (gates / "door").touch()
    terminal.send("once more\r")
    terminal.shows("Final Answer: door is open")


@pytest.mark.parametrize("in_run", [False, True])
def test_a_terminal_that_is_closed_leaves_no_process(
    open_screen: OpenScreen, gated: list[str], gates: Path, tmp_path: Path, *, in_run: bool
) -> None:
    (gates / "door").touch()
    terminal = open_screen(*gated, "--model", script(tmp_path, [DOOR, HELD]))
    holding(terminal)
    terminal.until(lambda text: text.count(PROMPT) == 2)
    if in_run:
        (gates / "door").unlink()
        terminal.send("open the door\r")
        terminal.until(lambda text: text.count("gate.hold(") == 2)
    assert left_of(tmp_path) != []
    terminal.hang_up()
    terminal.wait()
    wait_until(lambda: left_of(tmp_path) == [])


@pytest.mark.parametrize("request_", [[], ["anything"]])
def test_a_closed_stdin_is_no_reason_to_fail(tmp_path: Path, request_: list[str]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" <&-', "sh", *AGENT, *without_servers(tmp_path), *request_],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "12\n" if request_ else "")
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_one_line_ends_a_pipe_of_requests_quietly(tmp_path: Path) -> None:
    replies = [plan(f"return 'FINAL_ANSWER: answer {n}'") for n in range(30)]
    options = [*without_servers(tmp_path)[:2], "--model", script(tmp_path, replies)]
    line = 'yes "a request" | head -30 | "$@" | head -1'
    done = subprocess.run(
        ["/bin/sh", "-c", line, "sh", *AGENT, *options],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=30,
        check=False,
    )
    assert done.stdout == "answer 0\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
