"""The prompt in a real pseudo-terminal, as a person types at it."""

import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.command_line import (
    ROOT,
    SUMS_SERVER,
    environment,
    plan,
    script,
    without_servers,
    write_profile,
)
from tests.processes.forked_terminal import ForkedTerminal
from tests.processes.test_end_to_end import SLOW_SERVER

if TYPE_CHECKING:
    Terminal = pexpect.spawn[str] | ForkedTerminal

PROMPT = "cortex-r>"
WAIT_SECONDS = 20
AGENT = (sys.executable, str(ROOT / "agent.py"))


@pytest.fixture
def terminals() -> "Iterator[list[Terminal]]":
    """The terminals that a test opened; closed behind it."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def open_terminal(
    terminals: "list[Terminal]",
    home: Path,
    *arguments: str,
    columns: int = 100,
    command: Sequence[str] = (),
    term: str = "xterm",
) -> "Terminal":
    """A terminal at the prompt of a fork; with a `command`, at that of what it starts afresh."""
    environ = environment(home, TERM=term, PROMPT_TOOLKIT_NO_CPR="1")
    if command:
        terminals.append(fresh_terminal([*command, *arguments], environ, home, columns))
    else:
        forked = ForkedTerminal(
            *arguments, environ=environ, cwd=home, timeout=WAIT_SECONDS, columns=columns
        )
        terminals.append(forked)
    terminal = terminals[-1]
    terminal.expect_exact(PROMPT)
    return terminal


def fresh_terminal(
    command: Sequence[str], environ: Mapping[str, str], home: Path, columns: int
) -> "pexpect.spawn[str]":
    return pexpect.spawn(
        command[0],
        [*command[1:]],
        env=dict(environ),
        cwd=str(home),
        encoding="utf-8",
        timeout=WAIT_SECONDS,
        dimensions=(30, columns),
    )


def say(terminal: "Terminal", line: str) -> None:
    terminal.send(f"{line}\r")


def test_answers_carry_a_label_and_follow_ups_use_what_was_said(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    sums = str(write_profile(tmp_path, SUMS_SERVER))
    options = ["--profile", sums]
    terminal = open_terminal(terminals, tmp_path, *options, columns=40, command=AGENT)
    say(terminal, "add 5 and 7")
    terminal.expect(r"💡 Final Answer: 12\r")
    say(terminal, "now divide that by 2")
    terminal.expect(r"💡 Final Answer: 6\r")
    say(terminal, "new")
    terminal.expect_exact("new session")
    say(terminal, "now divide that by 2")
    terminal.expect_exact("no number to refer")
    terminal.expect_exact(PROMPT)
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert len(list((tmp_path / "memory").rglob("*.json"))) == 2


def test_ctrl_c_cancels_the_request_and_the_servers_live_on(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    slow, pid_file = tmp_path / "slow.py", tmp_path / "pid"
    slow.write_text(SLOW_SERVER, encoding="utf-8")
    profile = write_profile(tmp_path, SUMS_SERVER, f"id: slow\nscript: {slow}\nargs: [{pid_file}]")
    model = script(
        tmp_path,
        [
            plan("return await tools.wait()"),
            plan("while True:\n    pass"),
            plan('return f"FINAL_ANSWER: {await tools.add(a=1, b=2)}"'),
        ],
    )
    options = ("--profile", str(profile), "--model", model, "--verbose", "--approve", "slow.wait")
    terminal = open_terminal(terminals, tmp_path, *options)
    say(terminal, "wait")
    terminal.expect_exact("calls slow.wait")
    terminal.sendintr()
    terminal.expect_exact("interrupted before there was an answer")
    pid = int(pid_file.read_text(encoding="utf-8"))
    os.kill(pid, 0)
    terminal.expect_exact(PROMPT)
    say(terminal, "spin")
    terminal.expect_exact("while True")
    terminal.sendintr()
    terminal.expect_exact("interrupted before there was an answer")
    say(terminal, "add")
    terminal.expect(r"💡 Final Answer: 3\r")
    terminal.expect_exact(PROMPT)
    say(terminal, "exit")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ctrl_c_is_heard_while_servers_still_start(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    """Without a cached tool list a run begins by waiting for the servers that it may need."""
    silent = ROOT / "tests" / "fixtures" / "servers" / "silent_server.py"
    profile = write_profile(
        tmp_path,
        f"id: silent\nscript: {silent}\ndescription: can add\n"
        f"start_timeout_seconds: {10 * WAIT_SECONDS}",
        f"id: gone\nscript: {tmp_path / 'gone.py'}\ndescription: can add",
    )
    terminal = open_terminal(terminals, tmp_path, "--profile", str(profile))
    for _ in range(2):
        say(terminal, "add 1 and 2")
        terminal.expect_exact("server 'gone' did not start")
        terminal.expect_exact("waiting for server 'silent'")
        terminal.sendintr()
        terminal.expect_exact("interrupted before a plan was written")
        terminal.expect_exact(PROMPT)
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0


def test_ctrl_z_suspends_at_the_prompt_and_the_session_goes_on(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    # Only a program that a shell watches can be stopped; the shell goes on when it is.
    line = 'set -m; "$@"; echo "suspended by $?"; fg'
    command = ["/bin/sh", "-c", line, "sh", *AGENT]
    options = [*without_servers(tmp_path), "--session", "mine"]
    terminal = open_terminal(terminals, tmp_path, *options, command=command)
    terminal.send("\x1a")
    terminal.expect_exact(f"suspended by {128 + signal.SIGTSTP}")
    terminal.expect_exact(PROMPT)
    say(terminal, "add 5 and 7")
    terminal.expect(r"💡 Final Answer: 12\r")
    terminal.expect_exact(PROMPT)
    say(terminal, "exit")
    terminal.expect_exact("--session mine continues this session")
    terminal.expect(pexpect.EOF)


@pytest.mark.parametrize("busy", [False, True])
def test_sigterm_ends_the_program_in_good_order_at_the_prompt_and_in_a_request(
    tmp_path: Path, terminals: "list[Terminal]", *, busy: bool
) -> None:
    model = script(tmp_path, [plan("while True:\n    pass")])
    bare = str(write_profile(tmp_path))
    options = ["--profile", bare, "--model", model, "--verbose"]
    terminal = open_terminal(terminals, tmp_path, *options)
    if busy:
        say(terminal, "spin")
        terminal.expect_exact("while True")
    terminal.kill(signal.SIGTERM)
    terminal.expect_exact("interrupted")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert (terminal.exitstatus, terminal.signalstatus) == (130, None)


def test_a_dumb_terminal_gets_no_escape_sequences(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    terminal = open_terminal(terminals, tmp_path, *without_servers(tmp_path), term="dumb")
    shown = terminal.before or ""
    say(terminal, "add 5 and 7")
    terminal.expect(r"💡 Final Answer: 12\r")
    shown += terminal.before or ""
    terminal.expect_exact(PROMPT)
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert "\x1b" not in shown + (terminal.before or "")


def test_ctrl_c_at_the_prompt_clears_the_line_and_stays(
    tmp_path: Path, terminals: "list[Terminal]"
) -> None:
    terminal = open_terminal(terminals, tmp_path, *without_servers(tmp_path))
    terminal.send("half a requ")
    terminal.expect_exact("half a requ")
    terminal.sendintr()
    say(terminal, "")
    terminal.expect_exact(PROMPT)
    say(terminal, "help")
    terminal.expect_exact("At the prompt: /help lists")
    terminal.expect_exact(PROMPT)
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert not re.search("Traceback", terminal.before or "")
