"""The prompt as it is typed at: keys, completion, history, blocks, sizes; seen on a screen."""

import json
import shlex
from pathlib import Path

import pytest

from tests.command_line import plan, script, session_files, write_profile
from tests.processes.conftest import PROMPT, OpenScreen
from tests.screens import ScreenTerminal

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"
CTRL_C, CTRL_D, CTRL_G, CTRL_J, CTRL_R, ESCAPE = "\x03", "\x04", "\x07", "\n", "\x12", "\x1b"
SPIN = plan("while True:\n    pass")
WORK = plan("for number in range(12_000_000):\n    pass\nreturn 'FINAL_ANSWER: worked'")


@pytest.fixture
def at_prompt(tmp_path: Path, open_prompt: OpenScreen) -> OpenScreen:
    """Opens a terminal whose model answers `answer 1`, `answer 2` and so on."""

    def open_one(
        *arguments: str,
        columns: int = 100,
        profile: str = "",
        replies: list[str] | None = None,
        **extra: str,
    ) -> ScreenTerminal:
        told = [plan(f"return 'FINAL_ANSWER: answer {n}'") for n in range(1, 9)]
        model = script(tmp_path, told if replies is None else [*replies, *told])
        path = write_profile(tmp_path)
        path.write_text(path.read_text(encoding="utf-8") + profile, encoding="utf-8")
        options = ["--profile", str(path), "--model", model, *arguments]
        return open_prompt(*options, columns=columns, **extra)

    return open_one


def asked(home: Path) -> list[str]:
    """All requests that are kept, oldest first."""
    items = [item for f in session_files(home) for item in json.loads(f.read_text())]
    return [item["user_query"] for item in items if "run_start" in item.get("tags", [])]


def leave(terminal: ScreenTerminal) -> None:
    terminal.send(CTRL_D)
    assert terminal.ends() == 0


def test_commands_complete_as_they_are_typed_and_with_tab(at_prompt: OpenScreen) -> None:
    terminal = at_prompt()
    terminal.send("/")
    terminal.shows("begin another session")
    terminal.send("res\t")
    terminal.shows(f"{PROMPT} /resume")
    terminal.send(CTRL_C)
    terminal.until(lambda text: "/resume" not in text)
    terminal.send("/docs rei\t")
    terminal.shows("/docs reindex")
    terminal.send(CTRL_C)
    terminal.send("plain words are left in peace /")
    terminal.shows("in peace /")
    assert "another session" not in terminal.text
    terminal.send(CTRL_C)
    terminal.until(lambda text: "in peace" not in text)
    leave(terminal)


def test_paths_complete_behind_an_at(at_prompt: OpenScreen, tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").write_text("hello", encoding="utf-8")
    terminal = at_prompt()
    terminal.send("what is in @my")
    terminal.shows('@"my notes.txt"')
    terminal.send("\t")
    terminal.shows(f'{PROMPT} what is in @"my notes.txt"')


def test_a_request_may_have_several_lines(at_prompt: OpenScreen, tmp_path: Path) -> None:
    terminal = at_prompt()
    terminal.send(f"one{ESCAPE}\rtwo{CTRL_J}three\\\rfour")
    text = terminal.shows("four")
    assert text.count("        … ") == 3
    assert "\\" not in text
    terminal.send("\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["one\ntwo\nthree\nfour"]


def test_a_pasted_block_is_shown_folded_and_sent_whole(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    block = "\n".join(f"line {number} 漢字 🎉" for number in range(500))
    terminal = at_prompt()
    terminal.send("sum up: ")
    terminal.send(f"{PASTE_BEGIN}gone{'x' * 1000}{PASTE_END}")
    terminal.shows("[pasted 1,004 characters]")
    terminal.send("\x7f")  # takes the block away as one
    terminal.until(lambda text: "[pasted" not in text)
    terminal.send(f"{PASTE_BEGIN}{block}{PASTE_END} in a word")
    terminal.shows(f"{PROMPT} sum up: [pasted 500 lines] in a word")
    terminal.send("\r")
    terminal.shows("answer 1")
    assert "line 7" not in terminal.text
    leave(terminal)
    assert asked(tmp_path) == [f"sum up: {block} in a word"]
    again = at_prompt()
    again.send("\x1b[A")
    again.shows("line 499 漢字 🎉 in a word")


def test_requests_are_found_again_in_the_next_session(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    first = at_prompt()
    for request in ("what about blue whales?", "what else?"):
        first.send(f"{request}\r")
        first.until(lambda text: text.count(PROMPT) > text.count("answer") > 0)
    first.shows("answer 2")
    leave(first)
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600
    second = at_prompt()
    second.send(f"{CTRL_R}whale")
    second.shows("what about blue whales?")
    second.send("\r")
    second.until(lambda text: "reverse" not in text)
    second.send("\r")
    second.shows("answer 1")


def test_escape_twice_clears_and_the_editor_gets_the_text(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf ' edited' >> \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    terminal = at_prompt(EDITOR=shlex.quote(str(editor)))
    terminal.send("gone")
    terminal.shows("gone")
    terminal.send(f"{ESCAPE}{ESCAPE}")
    terminal.until(lambda text: "gone" not in text)
    terminal.send("half")
    terminal.shows("half")
    terminal.send(CTRL_G)
    terminal.shows("half edited")
    terminal.send("\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["half edited"]


def test_vi_keys_edit_where_they_are_wanted(at_prompt: OpenScreen, tmp_path: Path) -> None:
    terminal = at_prompt(profile="terminal: {keys: vi}\n")
    terminal.send(f"first word{ESCAPE}")
    terminal.shows("first word")
    terminal.send("0cwlast ")
    terminal.shows("last word")
    terminal.send(f"{ESCAPE}\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["last word"]


def test_ctrl_c_clears_says_and_leaves(at_prompt: OpenScreen) -> None:
    terminal = at_prompt()
    terminal.send("half a requ")
    terminal.shows("half a requ")
    terminal.send(CTRL_C)
    terminal.until(lambda text: "half" not in text)
    terminal.send(CTRL_C)
    terminal.shows("Ctrl-C once more leaves")
    terminal.send("a request\r")
    terminal.shows("answer 1")
    terminal.until(lambda text: text.count(PROMPT) == 2)
    terminal.send(CTRL_C)
    terminal.until(lambda text: text.count("once more leaves") == 2)
    terminal.send("x")
    terminal.shows(f"{PROMPT} x")
    terminal.send(f"\x7f{CTRL_C}")
    terminal.until(lambda text: text.count("once more leaves") == 3)
    terminal.send(CTRL_C)
    assert terminal.ends() == 0


def test_ctrl_c_twice_in_a_run_that_does_not_end_leaves(at_prompt: OpenScreen) -> None:
    terminal = at_prompt("--verbose", replies=[SPIN])
    terminal.send("spin\r")
    terminal.shows("while True")
    terminal.send(CTRL_C)
    terminal.shows("interrupted before there was an answer")
    terminal.until(lambda text: text.count(PROMPT) == 2)
    terminal.send(CTRL_C)
    terminal.shows("once more leaves")
    terminal.send(CTRL_C)
    assert terminal.ends() == 0


def test_what_is_typed_during_a_run_stands_at_the_next_prompt_and_is_not_sent(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt("--verbose", replies=[WORK])
    terminal.send("first\r")
    terminal.shows("for number in range")
    terminal.send("secomd\x7f\x7fnd\rthird, half")
    terminal.shows(f"{PROMPT} second\n        … third, half")
    assert asked(tmp_path) == ["first"]
    terminal.send(" of it\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["first", "second\nthird, half of it"]


@pytest.mark.parametrize("marks", [(PASTE_BEGIN, PASTE_END), ("", "")])
def test_what_is_pasted_during_a_run_is_one_request_once_it_is_sent(
    at_prompt: OpenScreen, tmp_path: Path, marks: tuple[str, str]
) -> None:
    lines = [
        f"line {number}: a text long enough to fill what a terminal keeps" * 3
        for number in range(30)
    ]
    terminal = at_prompt("--verbose", replies=[WORK])
    terminal.send("first\r")
    terminal.shows("for number in range")
    terminal.send("\r".join(lines).join(marks))
    terminal.shows(f"{PROMPT} [pasted 30 lines]")
    assert asked(tmp_path) == ["first"]
    terminal.send("\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["first", "\n".join(lines)]


def test_the_lines_behind_the_first_of_a_paste_without_marks_are_not_sent(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt()
    terminal.send("first\rsecond\rthird\r")
    terminal.shows("answer 1")
    terminal.shows(f"{PROMPT} second\n        … third")
    assert asked(tmp_path) == ["first"]


def test_an_interrupted_run_leaves_what_was_typed(at_prompt: OpenScreen, tmp_path: Path) -> None:
    terminal = at_prompt("--verbose", replies=[SPIN])
    terminal.send("spin\r")
    terminal.shows("while True")
    terminal.send("the next one\r")
    terminal.send(CTRL_C)
    terminal.shows(f"{PROMPT} the next one")
    assert asked(tmp_path) == ["spin"]


@pytest.mark.parametrize("extra", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_made_narrow_keeps_one_prompt_and_one_line_below(
    at_prompt: OpenScreen, extra: dict[str, str]
) -> None:
    terminal = at_prompt(columns=200, **extra)
    terminal.send("漢字 and 🎉 " * 6)
    terminal.shows("漢字 and 🎉 漢字")
    for columns in (120, 80, 40, 100, 40):
        terminal.resize(columns)
        terminal.until(lambda text: text.count("漢字") == 6 and text.count("\nscripted") == 1)
        assert terminal.text.count(PROMPT) == 1
    assert all(len(row) <= 40 for row in terminal.text.splitlines())
    terminal.send("\r")
    terminal.shows("answer 1")


def test_without_colour_no_colour_is_sent(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(NO_COLOR="1")
    terminal.send("/")
    terminal.shows("begin another session")
    cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
    assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}


def test_plain_for_screen_readers_nothing_is_drawn_anew(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt(profile="terminal: {plain: true}\n")
    before = terminal.text
    assert "new session" not in before
    terminal.send("one\\\r")
    terminal.shows("…")
    terminal.send("two\r")
    terminal.shows("answer 1")
    leave(terminal)
    assert asked(tmp_path) == ["one\ntwo"]


def test_plain_too_what_is_typed_during_a_run_is_sent_by_an_enter_alone(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt("--verbose", profile="terminal: {plain: true}\n", replies=[WORK])
    terminal.send("first\r")
    terminal.shows("for number in range")
    terminal.send("second\rthird\r")
    terminal.shows("typed meanwhile; Enter alone sends it")
    assert asked(tmp_path) == ["first"]
    terminal.send("\r")
    terminal.shows("Final Answer: answer 1")
    terminal.until(lambda text: text.rstrip().endswith(PROMPT))
    leave(terminal)
    assert asked(tmp_path) == ["first", "second\nthird"]


@pytest.mark.parametrize("key", [f"AIza{'a1B-' * 8}abc", "MY_TOKEN=0123456789"])
def test_a_key_that_is_typed_as_a_request_is_neither_sent_nor_kept(
    at_prompt: OpenScreen, tmp_path: Path, key: str
) -> None:
    terminal = at_prompt()
    terminal.send(f"{key}\r")
    terminal.shows("this looks like a key, and was neither sent nor kept")
    leave(terminal)
    assert asked(tmp_path) == []
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "history" for file in kept)
    assert not [file for file in kept if key.encode() in file.read_bytes()]


def test_the_line_below_tells_model_and_session(at_prompt: OpenScreen) -> None:
    terminal = at_prompt("--session", "mine")
    row = terminal.shows(" · Test · mine").splitlines()[-1]
    assert row.startswith("scripted:")
