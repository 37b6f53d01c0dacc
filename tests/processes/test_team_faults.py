"""Faults of a team through the whole program: it says what happened, and leaves no process."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

from tests.command_line import agent, environment, plan, script, unread, write_profile
from tests.forked_agent import ROOT
from tests.modules.team.test_workflow import kept
from tests.processes.conftest import OpenScreen
from tests.processes.test_cancelling import CTRL_C, left_of
from tests.processes.test_ends_of_others import kill_server
from tests.screens import WAIT_SECONDS, wait_until

DOORS = """
description: Opens three doors at once.
steps:
  - {id: one, do: open the first door}
  - {id: two, do: open the second door}
  - {id: three, do: open the third door}
  - {id: all, do: "say {{one}}, {{two}} and {{three}}"}
"""
TWO = """
description: Two facts.
steps:
  - {id: one, do: find a fact}
  - {id: two, do: find another, after: [one]}
"""
HELD = plan("return f'FINAL_ANSWER: {await tools.hold(name=\"door\")}'")
AGAIN = plan("return f'FINAL_ANSWER: {await tools.hold(name=\"again\")}'")
ALL = plan("return f'FINAL_ANSWER: {one}; {two}; {three}'")
RUN = ("workflow", "run")


@pytest.fixture
def doors(tmp_path: Path, gated: list[str]) -> list[str]:
    """Options for three parts that all wait at the same door, and go on when it has gone."""
    kept(tmp_path, DOORS, "doors")
    return [*gated, "--model", script(tmp_path, [*[HELD] * 3, *[AGAIN] * 3, ALL])]


def all_hold(text: str) -> bool:
    return text.count("gate.hold(") >= 3


def test_a_server_killed_while_three_parts_use_it_is_started_again_and_they_go_on(
    open_screen: OpenScreen, doors: list[str], gates: Path, tmp_path: Path
) -> None:
    terminal = open_screen(*RUN, "doors", *doors)
    terminal.until(all_hold)
    killed = (gates / "pid").read_text(encoding="utf-8")
    (gates / "again").touch()
    kill_server(gates)
    terminal.shows("Final Answer: again is open; again is open; again is open")
    assert (gates / "pid").read_text(encoding="utf-8") != killed
    assert terminal.ends() == 0
    wait_until(lambda: left_of(tmp_path) == [])


def test_ctrl_c_twice_at_the_prompt_leaves_in_good_order(
    open_screen: OpenScreen, doors: list[str], tmp_path: Path
) -> None:
    terminal = open_screen(*doors)
    terminal.shows("cortex-r>")
    terminal.send("/workflow run doors\r")
    terminal.until(all_hold)
    with suppress(pexpect.EOF, OSError):  # two that come at once are one signal
        terminal.until(lambda text: not terminal.send(CTRL_C))
    assert terminal.ends() in (0, 130)
    assert "Traceback" not in terminal.recorder.text
    wait_until(lambda: left_of(tmp_path) == [])


def test_ctrl_c_once_at_the_prompt_keeps_it_and_tells_what_was_not_done(
    open_screen: OpenScreen, doors: list[str], tmp_path: Path
) -> None:
    terminal = open_screen(*doors)
    terminal.shows("cortex-r>")
    terminal.send("/workflow run doors\r")
    terminal.until(all_hold)
    terminal.send(CTRL_C)
    terminal.shows("0 of 4 subtasks done; cancelled: one, two, three")
    terminal.until(lambda text: text.splitlines()[-2].strip() == "cortex-r>")
    terminal.sendeof()
    assert terminal.ends() == 0
    wait_until(lambda: left_of(tmp_path) == [])


@pytest.mark.parametrize(
    "signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]], ids=["SIGTERM", "SIGINT twice"]
)
def test_a_signal_ends_all_parts_and_servers(
    doors: list[str], gates: Path, tmp_path: Path, signals: Sequence[signal.Signals]
) -> None:
    words = [sys.executable, str(ROOT / "agent.py"), *RUN, "doors", *doors, "--quiet"]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
        text=True,
    ) as process:
        wait_until((gates / "pid").exists)
        for number in signals:
            os.kill(process.pid, number)
        out, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
    wait_until(lambda: left_of(tmp_path) == [])


def test_a_stdout_that_nobody_reads_is_told_and_leaves_nothing(
    doors: list[str], gates: Path, tmp_path: Path
) -> None:
    (gates / "door").touch()
    held_alone = [*doors[:-1], script(tmp_path, [*[HELD] * 3, ALL])]
    done = unread(tmp_path, *RUN, "doors", *held_alone)
    assert done.code == 1
    assert "4 of 4 subtasks done" in done.err
    assert "Traceback" not in done.err
    wait_until(lambda: left_of(tmp_path) == [])


def test_a_cycle_in_a_file_is_told_with_the_way_round(tmp_path: Path) -> None:
    file = kept(tmp_path, TWO.replace("fact}", "fact, after: [two]}"), "ring")
    done = agent(tmp_path, *RUN, "ring", "--model", "offline")
    assert (done.code, done.out) == (2, "")
    assert f"{file}: these wait for each other: one → two → one" in done.err


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"text": plan("return 'late'"), "after": 3_000}, "no result within 1 s"),
        ({"error": "no route to the model"}, "no route to the model"),
        ("<tool_call>I am sure that I could, if I knew.", "Could not generate valid solve()"),
    ],
    ids=["hangs", "raises", "says nonsense"],
)
def test_a_worker_without_a_result_ends_in_a_plain_statement(
    tmp_path: Path, reply: object, told: str
) -> None:
    kept(tmp_path, TWO.replace("fact}", "fact, critical: true}"), "two")
    profile = write_profile(tmp_path)
    with profile.open("a", encoding="utf-8") as file:
        file.write("team: {deadline_seconds: 1}\n")
    replies = [*[reply] * 4, '{"subtasks": []}']
    options = ["--profile", str(profile), "--model", script(tmp_path, replies)]
    done = agent(tmp_path, *RUN, "two", *options)
    assert (done.code, done.out) == (3, "")
    assert "No answer: one failed, without which the rest is of no use: " in done.err
    assert told in " ".join(done.err.split("of no use: ")[1].split())
    assert "0 of 2 subtasks done; failed: one; blocked: two" in done.err
    wait_until(lambda: left_of(tmp_path) == [])
