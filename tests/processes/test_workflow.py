"""Workflows at a real terminal: what a step needs is asked, one question at a time."""

from pathlib import Path

import pytest

from tests.command_line import SUMS_SERVER, write_profile
from tests.modules.team.test_workflow import kept
from tests.processes.conftest import OpenScreen

ASKS = """
description: Adds what somebody says.
parameters:
  first: {type: integer, description: the number to begin with}
steps:
  - {id: one, do: "add {{first}} and {{input}}", needs: input, question: "Add what to {{first}}?"}
  - {id: two, do: "add 1 and 1", needs: approval, question: May it run?}
  - {id: all, do: "add {{one}} and {{two}}"}
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    kept(tmp_path, ASKS, "asks")
    profile = str(write_profile(tmp_path, SUMS_SERVER))
    return ["workflow", "run", "asks", "--model", "offline", "--profile", profile]


def test_parameters_inputs_and_leave_are_asked_for(
    open_screen: OpenScreen, words: list[str]
) -> None:
    terminal = open_screen(*words)
    terminal.shows("first (the number to begin with):")
    terminal.send("7\r")
    terminal.shows("── the part 'one' asks ──")
    shown = terminal.shows("│ Add what to 7?")
    assert "May it run?" not in shown  # it waits for its turn
    terminal.shows("\n>")
    terminal.send("5\r")
    terminal.shows("── the part 'two' asks for your leave ──")
    terminal.shows("[y/N] >")
    terminal.send("y\r")
    terminal.shows("Final Answer: 14")
    assert terminal.ends() == 0


def test_ctrl_c_at_a_question_ends_the_run(open_screen: OpenScreen, words: list[str]) -> None:
    terminal = open_screen(*words, "first=7")
    terminal.shows("│ Add what to 7?")
    terminal.shows("\n>")
    terminal.send("\x03")
    terminal.shows("interrupted")
    assert "asks for your leave" not in terminal.text
    assert terminal.ends() == 130


def test_a_no_with_words_ends_the_part_at_the_prompt_too(
    open_screen: OpenScreen, words: list[str]
) -> None:
    terminal = open_screen(*words[3:])
    terminal.shows("cortex-r>")
    terminal.send("/workflow run asks first=7\r")
    terminal.shows("│ Add what to 7?")
    terminal.shows("\n>")
    terminal.send("5\r")
    terminal.shows("[y/N] >")
    terminal.send("not today\r")
    terminal.shows("the user did not allow it: not today")
    terminal.shows("cortex-r>")
