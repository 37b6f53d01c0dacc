"""What changes the session at a real terminal: model, profile, strategy, servers, the shell."""

import json
import sys
from pathlib import Path

import pytest

from tests.command_line import (
    SUMS,
    SUMS_SERVER,
    agent,
    fresh_agent,
    plan,
    script,
    write_profile,
)
from tests.processes.conftest import PROMPT, OpenScreen
from tests.processes.test_typing import CTRL_C, leave
from tests.screens import ScreenTerminal

KEY = "AIza-0123456789-not-a-real-key"


@pytest.fixture
def at_prompt(tmp_path: Path, open_prompt: OpenScreen) -> OpenScreen:
    """Opens a terminal with a profile's text, whose model answers `one`."""

    def open_one(profile: str = "", *servers: str, **extra: str) -> ScreenTerminal:
        file = write_profile(tmp_path, *servers)
        file.write_text(f"{file.read_text(encoding='utf-8')}{profile}", encoding="utf-8")
        model = script(tmp_path, [plan("return 'FINAL_ANSWER: one'")] * 4)
        return open_prompt("--profile", str(file), "--model", model, **extra)

    return open_one


def say(terminal: ScreenTerminal, line: str, shown: str) -> str:
    """Type a line, and give the screen once it shows that and the next prompt."""
    terminal.send(f"{line}\r")
    return terminal.until(
        lambda text: shown in text and text.splitlines()[-2].startswith(PROMPT.rstrip())
    )


def test_the_model_is_shown_and_changed_with_the_line_below(at_prompt: OpenScreen) -> None:
    terminal = at_prompt()
    text = say(terminal, "/model", "read and written")
    assert "CONTEXT    PRICE" in text
    assert "\\x1b" not in text
    terminal.send("/model offl\t")
    terminal.shows(f"{PROMPT} /model offline")
    terminal.send("\r")
    terminal.until(lambda text: text.splitlines()[-1].startswith("offline"))
    leave(terminal)


def test_the_profile_is_changed_with_the_line_below(at_prompt: OpenScreen, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    work = "agent: {name: Worker, id: another}\n"
    (folder / "work.yaml").write_text(work, encoding="utf-8")
    terminal = at_prompt("", SUMS_SERVER)
    text = say(terminal, "/profile work", "Worker (another), from")
    assert "server 'math' is gone" in text
    assert " Worker " in text.splitlines()[-1]
    say(terminal, "a request", "💡 Final Answer: one")
    leave(terminal)
    assert [*(tmp_path / "memory" / "profiles" / "another").rglob("session-*.json")] != []


def test_the_strategy_is_completed_and_set(at_prompt: OpenScreen) -> None:
    terminal = at_prompt()
    terminal.send("/strategy planning_mode e\t")
    terminal.shows("/strategy planning_mode exploratory")
    say(terminal, "", "planning_mode is exploratory from the next request on")
    text = say(terminal, "/strategy", "planning_mode            exploratory")
    assert "\nclarify                  true" in text
    leave(terminal)


def test_a_server_added_in_another_terminal_is_seen_restarted_and_switched_off(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt()
    added = fresh_agent(tmp_path, "mcp", "add", "sums", "--", sys.executable, str(SUMS))
    assert added.code == 0
    say(terminal, "/mcp restart sums", "'sums' was started anew: 4 tools")
    text = say(terminal, "/mcp", "1 server\n")
    assert "server 'sums' is there now" in text
    assert "\nsums  up" in text
    terminal.send("/mcp disable s\t")
    terminal.shows("/mcp disable sums")
    say(terminal, "", "server 'sums' is switched off")
    say(terminal, "/tools", "[mcp] 0 tools")
    leave(terminal)


def test_a_shell_command_has_the_terminal_to_itself(at_prompt: OpenScreen) -> None:
    terminal = at_prompt("terminal: {shell: true}\n", SHELL="/bin/sh", GEMINI_API_KEY=KEY)
    terminal.send("!echo begun; read -r word; echo got:$word:$GEMINI_API_KEY:; exit 3\r")
    terminal.until(lambda text: "\nbegun" in text)
    terminal.send("typed\r")
    terminal.until(lambda text: "ended with 3" in text and text.count(PROMPT) == 2)
    assert "\ntyped\ngot:typed::\n[shell] echo begun;" in terminal.text
    # It reads first: then the terminal is its own, and so is the key. `exec`, as dash itself may
    # outlive the key in the moment in which it begins another program.
    terminal.send("!echo reads; read -r word; echo $word; exec sleep 60\r")
    terminal.until(lambda text: "\nreads" in text)
    terminal.send("ready\r")
    terminal.until(lambda text: "\nready\nready" in text)
    terminal.send(CTRL_C)
    terminal.shows(
        "\n[shell] echo reads; read -r word; echo $word; exec sleep 60: was ended by SIGINT"
    )
    say(terminal, "a request", "💡 Final Answer: one")
    leave(terminal)


def test_switched_off_a_shell_command_is_no_request(at_prompt: OpenScreen) -> None:
    terminal = at_prompt()
    text = say(terminal, "!echo made", "agent.py config set terminal.shell true")
    assert "\nmade" not in text
    leave(terminal)


def test_all_of_it_works_from_a_pipe_with_a_line_for_each(tmp_path: Path) -> None:
    file = write_profile(tmp_path, SUMS_SERVER)
    file.write_text(f"{file.read_text()}terminal: {{shell: true}}\n", encoding="utf-8")
    lines = [
        "/strategy max_steps 2",
        "!echo made",
        "/mcp restart math",
        "/profile nowhere",
        "/model offline",
        "add 5 and 7",
        "/mcp tools math",
    ]
    model = script(tmp_path, [])
    options = ["--profile", str(file), "--model", model, "--output-format", "json"]
    done = agent(tmp_path, *options, stdin="\n".join(lines).encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["answer"] for answer in answers] == ["", None, "", None, "", "12", ""]
    assert "not run from a pipe" in answers[1]["message"]
    assert answers[5]["model"] == "offline"
    assert done.code == 2
