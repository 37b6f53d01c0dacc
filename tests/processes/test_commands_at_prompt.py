"""Every command of the table, typed at the real prompt: its help, its completion, its mistakes."""

import re
from pathlib import Path

import pytest

from modules.cli.prompt_commands.command import PromptCommand
from modules.cli.prompt_commands.dispatch import COMMANDS_AT_PROMPT
from tests.command_line import ROOT, session_files, without_servers
from tests.processes.conftest import OpenScreen
from tests.screens import ScreenTerminal

PROMPT = "cortex-r>"
CTRL_C = "\x03"
NONSENSE = "frobnicate-zz"

TAKES_ANY_WORDS = {"[WORDS]", "[REQUEST]", "[REQUEST|edit]", "[--session] [--force] FILE"}
"""Arguments that no words are wrong for, nor none."""

SAYS_WHAT_TO_DO = re.compile(
    r"did you mean|such as|stands alone|say |see[: ]|shows|takes|runs|first|choose from|there are"
    r"|agent\.py|has no action '\S+'; list, "
)


@pytest.fixture
def terminal(open_screen: OpenScreen, tmp_path: Path) -> ScreenTerminal:
    """A prompt whose model answers `12`, 160 columns wide."""
    opened = open_screen(*without_servers(tmp_path), columns=160)
    opened.shows(PROMPT)
    return opened


def ids(command: PromptCommand) -> str:
    return command.name


def said(terminal: ScreenTerminal, line: str) -> str:
    """What is told between a line that is sent and the next prompt, on one line."""
    asked = terminal.text.count(PROMPT)
    terminal.send(f"{line}\r")
    told = terminal.until(lambda text: text.count(PROMPT) > asked)
    return " ".join(told.split(PROMPT)[-2].removeprefix(f" {line}").split())


@pytest.mark.parametrize("command", COMMANDS_AT_PROMPT, ids=ids)
def test_a_command_is_told_of_and_completed(
    terminal: ScreenTerminal, command: PromptCommand
) -> None:
    told = said(terminal, f"/help {command.name}")
    assert f"{command.usage}: {command.summary} {command.details}".strip() in told
    terminal.send(f"/{command.name[:-1]}")
    terminal.shows(command.summary)
    terminal.send(f"\t{CTRL_C}")
    terminal.until(lambda text: command.summary not in text.split(PROMPT)[-1])
    terminal.send(f"/help {command.name[:-1]}\t")
    terminal.shows(f"{PROMPT} /help {command.name}")


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS_AT_PROMPT if c.arguments not in TAKES_ANY_WORDS], ids=ids
)
def test_wrong_arguments_are_answered_with_what_to_do_and_asked_of_nobody(
    terminal: ScreenTerminal, command: PromptCommand, tmp_path: Path
) -> None:
    is_wanted = command.arguments and not command.arguments.startswith("[")
    told = said(terminal, f"/{command.name}" if is_wanted else f"/{command.name} {NONSENSE}")
    assert told.startswith("["), "a stage"
    assert SAYS_WHAT_TO_DO.search(told), told
    assert "Traceback" not in told
    assert session_files(tmp_path) == [], "no request was made of it"
    terminal.sendeof()
    assert terminal.ends() == 0


@pytest.mark.parametrize("command", COMMANDS_AT_PROMPT, ids=ids)
def test_a_mistyped_name_is_answered_with_the_nearest(
    terminal: ScreenTerminal, command: PromptCommand, tmp_path: Path
) -> None:
    told = said(terminal, f"/{command.name}zz")
    assert "there is no command" in told
    assert f"/{command.name}" in told.partition("did you mean")[2] or "see /help" in told
    assert session_files(tmp_path) == []


@pytest.mark.parametrize("keeps_keys", [True, False])
def test_a_profile_of_ones_own_is_proposed_written_and_tried(
    open_screen: OpenScreen, tmp_path: Path, keeps_keys: bool
) -> None:
    """A key is asked for only where one can be kept."""
    kind = "tests.fixtures.keyring_in_file" if keeps_keys else "keyring.backends.fail"
    backend = {"PYTHON_KEYRING_BACKEND": f"{kind}.Keyring", "PYTHONPATH": str(ROOT)}
    terminal = open_screen("config", "init", HOME=str(tmp_path), **backend)
    for question in ("documents folder [", "write ", *(["a key of "] if keeps_keys else [])):
        terminal.shows(question)
        terminal.send("\r")
    terminal.shows("all that is needed works")
    assert (tmp_path / "config" / "profiles.yaml").is_file()
    assert ("a key of " in terminal.recorder.text) == keeps_keys
    assert ("no key can be kept" in terminal.recorder.text) != keeps_keys


def test_in_40_columns_what_a_command_does_stands_further_in_than_its_name(
    open_screen: OpenScreen, tmp_path: Path
) -> None:
    terminal = open_screen(*without_servers(tmp_path), columns=40)
    terminal.shows(PROMPT)
    terminal.send("/help\r")
    rows = terminal.shows("\n  /clear\n    empty the screen").split("\n")
    assert "goes along." in rows, "a paragraph stands where it stood"
    assert max(map(len, rows)) <= 40


def test_in_80_columns_what_a_command_does_stands_beside_its_name(
    open_screen: OpenScreen, tmp_path: Path
) -> None:
    terminal = open_screen(*without_servers(tmp_path), columns=80)
    terminal.shows(PROMPT)
    terminal.send("/help\r")
    shown = terminal.shows("empty the screen")
    assert f"\n  {'/mcp [ACTION [NAME]]':<24}  the servers and how each is;" in shown
    assert f"\n{' ' * 28}enable, disable, tools" in shown
