"""Whole screens: what a run leaves there, and every frame on the way to it."""

import re
from pathlib import Path

import pytest

from tests.command_line import ROOT, plan, script, without_servers, write_profile
from tests.processes.conftest import OpenScreen
from tests.screens import ScreenTerminal, broken_words, lines_of, settled

ANIMALS = plan(
    """\
import asyncio
results = await asyncio.gather(tools.hold(name="hippopotamus"), tools.hold(name="rhinoceros"))
return "FINAL_ANSWER: # Animals\\n\\nThe **hippopotamus** and the rhinoceros are open, \
said the veterinarian extraordinarily.\\n\\n| animal | where |\\n|---|---|\\n\
| hippopotamus | in the river |\\n| rhinoceros | in the savannah |\""""
)
WORDS = ("hippopotamus", "rhinoceros", "veterinarian", "extraordinarily", "savannah", "gather")

WIDE = """\
[tool] ✓ gate.hold(name="hippopotamus") → "hippopotamus is open" (T)
[tool] ✓ gate.hold(name="rhinoceros") → "rhinoceros is open" (T)
[loop] 2 tool calls, T
💡 Final Answer:
Animals

The hippopotamus and the rhinoceros are open, said the veterinarian extraordinarily.

animal        where
────────────  ───────────────
hippopotamus  in the river
rhinoceros    in the savannah"""

NARROW = """\
[tool] ✓ gate.hold(…) → "hi… (T)
[tool] ✓ gate.hold(…) → "rh… (T)
[loop] 2 tool calls, T
💡 Final Answer:
Animals

The hippopotamus and the rhinoceros are
open, said the veterinarian
extraordinarily.

animal        where
────────────  ───────────────
hippopotamus  in the river
rhinoceros    in the savannah"""

LIGHT_AND_DARK = {"default", "red", "green", "cyan", "magenta", "blue", "brown"}
"""Colours that can be read on both; pyte calls yellow brown."""


@pytest.fixture
def animals(gated: list[str], tmp_path: Path) -> list[str]:
    """Options and request of a run whose two calls wait at gates."""
    return [*gated, "--model", script(tmp_path, [ANIMALS]), "open the gates"]


def both_held(terminal: ScreenTerminal) -> None:
    terminal.until(lambda text: text.count("gate.hold(") == 2)


def open_gates(gates: Path) -> None:
    for name in WORDS[:2]:
        (gates / name).touch()


def left_on(terminal: ScreenTerminal) -> str:
    """What stands there at the end, from the first call on."""
    text = settled("\n".join(lines_of(terminal.screen)))
    assert text.startswith("[model]")
    return text[text.index("[tool]") :]


def assert_every_frame_is_whole(terminal: ScreenTerminal) -> None:
    assert terminal.recorder.redraws_outside_updates() == []
    for frame in terminal.recorder.frames():
        assert broken_words(frame, WORDS) == [], frame


@pytest.mark.parametrize("extra", [{}, {"NO_COLOR": "1"}, {"XTERM_VERSION": "", "TMUX": "x"}])
def test_a_run_is_drawn_in_whole_frames_and_leaves_its_trail_and_answer(
    open_screen: OpenScreen, animals: list[str], gates: Path, extra: dict[str, str]
) -> None:
    terminal = open_screen(*animals, **extra)
    both_held(terminal)
    (gates / "hippopotamus").touch()
    terminal.shows("✓")
    open_gates(gates)
    assert terminal.ends() == 0
    assert left_on(terminal) == WIDE
    assert_every_frame_is_whole(terminal)
    cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
    assert {cell.bg for cell in cells} == {"default"}
    assert {cell.fg for cell in cells} <= ({"default"} if "NO_COLOR" in extra else LIGHT_AND_DARK)


def test_a_terminal_made_narrow_while_a_run_draws_has_no_leftovers(
    open_screen: OpenScreen, animals: list[str], gates: Path
) -> None:
    terminal = open_screen(*animals, columns=200)
    both_held(terminal)
    terminal.resize(40)
    drawn = len(terminal.recorder.written)
    terminal.until(lambda text: len(terminal.recorder.written) > drawn + 3)
    assert terminal.text.count("gate.hold(") == 2
    assert all(len(row) <= 40 for row in terminal.text.splitlines())
    open_gates(gates)
    assert terminal.ends() == 0
    shown = re.sub('"(hi|rh)[a-z]*… ', r'"\1… ', left_on(terminal))  # as the time leaves room
    assert shown == NARROW
    assert_every_frame_is_whole(terminal)


def test_a_terminal_that_cannot_erase_gets_the_same_lines(
    open_screen: OpenScreen, animals: list[str], gates: Path
) -> None:
    open_gates(gates)
    terminal = open_screen(*animals, TERM="dumb")
    assert terminal.ends() == 0
    assert "\x1b" not in terminal.recorder.text
    assert left_on(terminal).splitlines()[-1] == "rhinoceros    in the savannah"
    assert broken_words([*lines_of(terminal.screen)], WORDS) == []


def test_nothing_is_silent_for_long_while_a_tool_runs(
    open_screen: OpenScreen, animals: list[str], gates: Path
) -> None:
    terminal = open_screen(*animals)
    terminal.shows(" · 2 s")
    open_gates(gates)
    assert terminal.ends() == 0
    assert terminal.recorder.silent_seconds(since=1) < 1  # 0.3 s, and a machine that is busy


def test_without_a_word_the_prompt_opens_and_tells_of_help(open_screen: OpenScreen) -> None:
    terminal = open_screen()
    terminal.shows("offline · Cortex-R · new session")
    assert terminal.text.splitlines()[:-1] == [
        "[model] offline: no key, no Ollama, no llama.cpp server, no local model",
        "[loop] `help` says what can be asked, `/help` lists the commands; Ctrl-C cancels, Ctrl-D "
        "leaves",
        "[config] no profile of yours and no model so far. Enter sets them up: documents, a key,",
        "         servers of other programs; n goes on with the offline planner; or just type a "
        "request",
        "cortex-r>",
    ]
    terminal.sendeof()
    assert terminal.ends() == 0


def test_help_at_40_columns_breaks_no_word(open_screen: OpenScreen, tmp_path: Path) -> None:
    terminal = open_screen(*without_servers(tmp_path), columns=40)
    terminal.shows("cortex-r>")
    terminal.send("/help\r")
    terminal.shows("goes along.")
    lines, words = lines_of(terminal.screen), ("documents", "sessions", "earlier", "completes")
    assert broken_words(lines, words) == []
    assert all(word in terminal.recorder.text for word in words)


def test_tables_at_the_prompt_fit_and_show_no_codes(
    open_screen: OpenScreen, gated: list[str], tmp_path: Path
) -> None:
    terminal = open_screen(*gated, "--model", script(tmp_path, []), columns=60)
    terminal.shows("cortex-r>")
    terminal.send("/mcp\r")
    text = terminal.shows("NAME")
    terminal.until(lambda text: text.count("cortex-r>") == 2)
    assert "x1b" not in terminal.text
    rows = text[text.index("NAME") :].splitlines()
    assert rows[0].split() == ["NAME", "STATE", "SERVER", "PROTOCOL", "TOOLS", "START", "LOG"]
    assert rows[1].startswith("gate ")


def test_a_server_that_still_starts_leaves_nothing_beside_the_next_prompt(
    open_screen: OpenScreen, tmp_path: Path
) -> None:
    silent = ROOT / "tests" / "fixtures" / "servers" / "silent_server.py"
    servers = f"id: silent\nscript: {silent}", f"id: slow\nscript: {silent}"
    options = ["--profile", str(write_profile(tmp_path, *servers)), "--model"]
    terminal = open_screen(*options, script(tmp_path, []))
    terminal.shows("cortex-r>")
    terminal.send("/tools\r")
    terminal.shows("waiting for server")
    terminal.send("\x03")
    terminal.until(lambda text: text.count("cortex-r>") == 2)
    terminal.send("/memory\r")
    terminal.until(lambda text: text.count("cortex-r>") == 3)
    rows = [row for row in terminal.text.splitlines() if "cortex-r>" in row]
    assert all(row.startswith("cortex-r>") for row in rows)
    assert "waiting for server" not in terminal.text
