"""A busy program says so: at a terminal nothing is silent, whatever it waits for."""

import json
import os
import sys
from pathlib import Path

from tests.at_terminal import AtTerminal
from tests.command_line import ROOT, plan, write_profile

SLOW_SERVER = f"""
id: slow
command: {sys.executable}
args: [{ROOT / "tests" / "fixtures" / "servers" / "slow_server.py"}, "1.5", "1.5", "1.5"]
"""
MEMORY_SERVER = "id: memory\nscript: servers/memory_server.py"
PROMPT_OPENS = b"\x1b[6n\x1b[?2004h"
"""Where the cursor is, and bracketed paste: what each prompt begins with."""


def at_terminal(
    home: Path, *words: str, servers: tuple[str, ...], strategy: str, **replies: list[str]
) -> AtTerminal:
    """The program with a model that begins after 1.5 s and writes for 1 s."""
    paced = {
        purpose: [{"text": text, "after": 1.5, "seconds": 1.0} for text in texts]
        for purpose, texts in replies.items()
    }
    (home / "script.json").write_text(json.dumps(paced), encoding="utf-8")
    profile = write_profile(home, *servers, strategy=strategy)
    options = ["--profile", str(profile), "--approve", "slow.work"]
    command = [sys.executable, str(ROOT / "agent.py"), *options]
    return AtTerminal([*command, "--model", "scripted:script.json", *words], home)


def too_long(terminal: AtTerminal) -> list[tuple[float, str]]:
    """Silences beyond what is allowed, but for the first, before anything can be shown.

    What is waited for is named after 0.25 s. The rest is for the machine: as much again, and more
    where it has more to do than it has processors.
    """
    most = 0.5 if os.getloadavg()[0] < (os.cpu_count() or 1) else 1.0
    return [each for each in terminal.silences[1:] if each[0] > most]


def test_nothing_is_silent_while_a_server_a_model_or_a_tool_takes_its_time(tmp_path: Path) -> None:
    goes_on = plan("found = await tools.work()\nreturn f'FURTHER_PROCESSING_REQUIRED: {found}'")
    spins = plan("for n in range(4_000_000):\n    pass\nreturn 'FINAL_ANSWER: all is done now'")
    terminal = at_terminal(
        tmp_path,
        "do the work",
        servers=(SLOW_SERVER,),
        strategy="perception: always",
        perception=['{"intent": "work", "selected_servers": ["slow"]}'] * 2,
        decision=[goes_on, spins],
    )
    terminal.end()
    for named in (
        "waiting for server 'slow' to start",
        "(perception)",
        "(a plan)",
        "characters written",
        "slow.work",
        "FINAL_ANSWER: all is",
        "waiting for the servers to end",
    ):
        assert named in terminal.shown, named
    assert "all is done now" in terminal.shown
    assert too_long(terminal) == []


def test_nothing_is_silent_at_the_prompt_whatever_a_line_waits_for(tmp_path: Path) -> None:
    searches = "return 'FINAL_ANSWER: ' + str(await tools.search_memory(query='rent'))"
    terminal = at_terminal(
        tmp_path,
        servers=(SLOW_SERVER, MEMORY_SERVER),
        strategy="perception: never",
        decision=[plan("return 'FINAL_ANSWER: the rent is 900'"), plan(searches)],
        summary=["- the rent is 900"],
    )
    terminal.until(PROMPT_OPENS)
    for line, named in (
        ("what is the rent?", "(a plan)"),
        ("/search rent", "the rent is 900"),
        ("what did I ask of the rent?", "memory.search_memory"),
        ("/compact", "(a summary)"),
        ("/mcp restart slow", "waiting for server 'slow' to start"),
        ("/mcp restart slow", "waiting for server 'slow' to end"),
        ("/model offline", "offline"),
        ("/model", "offline"),
    ):
        before = len(terminal.shown)
        terminal.type(f"{line}\r".encode())
        terminal.until(PROMPT_OPENS)
        assert named in terminal.shown[before:], line
    terminal.type(b"\x04")
    terminal.end()
    assert too_long(terminal) == []
