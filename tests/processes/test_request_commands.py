"""Requests asked again, taken back, planned and kept, seen at a real terminal."""

from pathlib import Path

import pytest

from tests.command_line import agent, plan, script, without_servers, write_profile
from tests.processes.conftest import PROMPT, OpenScreen
from tests.processes.test_typing import CTRL_C, leave
from tests.screens import ScreenTerminal

SPIN = plan("while True:\n    pass")


def saying(answer: str) -> str:
    return plan(f"return 'FINAL_ANSWER: {answer}'")


@pytest.fixture
def at_prompt(tmp_path: Path, open_prompt: OpenScreen) -> OpenScreen:
    """Opens a terminal whose model writes these plans, or notes."""

    def open_one(*replies: str, columns: int = 100, **extra: str) -> ScreenTerminal:
        model, profile = script(tmp_path, replies), str(write_profile(tmp_path))
        return open_prompt("--profile", profile, "--model", model, columns=columns, **extra)

    return open_one


def done(terminal: ScreenTerminal, line: str, shown: str) -> str:
    """Type a line; the screen once it shows that, and the next prompt behind it."""
    terminal.send(f"{line}\r")
    return terminal.until(
        lambda text: shown in text and text.rpartition(shown)[2].rpartition(PROMPT)[1] != ""
    )


def test_a_request_is_asked_again_and_taken_back(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(saying("Oslo"), saying("Bern"))
    done(terminal, "a capital?", "Oslo")
    text = done(terminal, "/retry", "Final Answer: Bern")
    assert "[loop] asks again: a capital?" in text
    text = done(terminal, "/undo", "earlier requests that still count: 0")
    assert "[memory] taken back: a capital?" in text
    done(terminal, "/undo", "there is nothing to take back")
    leave(terminal)


def test_the_last_request_is_changed_at_the_prompt(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(saying("3"), saying("33"))
    done(terminal, "add 1 and 2", "Final Answer: 3")
    terminal.send("/edit\r")
    terminal.shows(f"/edit\n{PROMPT} add 1 and 2")
    text = done(terminal, "0", "Final Answer: 33")
    assert f"{PROMPT} add 1 and 20\n" in text
    leave(terminal)


def test_a_plan_is_shown_in_colours_changed_in_the_editor_and_run(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(saying("nine"), EDITOR="sed -i s/nine/ten/")
    text = done(terminal, "/plan how many?", "/run runs it, /plan edit changes it")
    assert "[plan] 2 lines\n  async def solve():\n      return 'FINAL_ANSWER: nine'\n" in text
    row = next(n for n, line in enumerate(terminal.screen.display) if "async def" in line)
    assert terminal.screen.buffer[row][2].fg == "magenta"
    assert "Final Answer" not in text
    done(terminal, "/plan edit", "'FINAL_ANSWER: ten'")
    done(terminal, "/run", "Final Answer: ten")
    leave(terminal)


GRAPH = """{"action": "graph", "reason": "two \\u001b[31msearches", "subtasks": [
  {"id": "tea", "description": "find green \\u001b[31mtea"},
  {"id": "milk", "description": "find milk"},
  {"id": "end", "description": "join {{tea}} and {{milk}}"}]}"""
DRINKS = "find where tea comes from and where milk does, then combine both"


def test_a_graph_is_shown_changed_in_the_editor_and_run(at_prompt: OpenScreen) -> None:
    replies = GRAPH, saying("China"), saying("cows"), saying("both")
    terminal = at_prompt(*replies, EDITOR="sed -i s/green/black/")
    text = done(terminal, f"/plan {DRINKS}", "/run runs it, /plan edit changes it")
    assert "[plan] 3 subtasks\ntea: find green " in text
    assert "end after tea, milk: join {{tea}} and {{milk}}\n" in text
    row = next(n for n, line in enumerate(terminal.screen.display) if "find green" in line)
    assert {cell.fg for cell in terminal.screen.buffer[row].values()} == {"default"}
    done(terminal, "/plan edit", "tea: find black")
    text = done(terminal, "/run", "Final Answer: both")
    assert "Final Answer: China" not in text
    leave(terminal)


def test_a_graph_that_is_wrong_is_told_and_can_be_put_right(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(GRAPH, EDITOR="sed -i s/{{tea}}/{{te}}/")
    done(terminal, f"/plan {DRINKS}", "/run runs it, /plan edit changes it")
    text = done(terminal, "/plan edit", "did you mean tea")
    assert "subtask 'end' needs 'te', which is not there" in text
    done(terminal, "/run", "did you mean tea")
    leave(terminal)


def test_without_an_editor_it_is_said(at_prompt: OpenScreen) -> None:
    terminal = at_prompt(saying("nine"), VISUAL="'open")
    done(terminal, "/plan how many?", "/run runs it, /plan edit changes it")
    text = done(terminal, "/plan edit", "say in $VISUAL or $EDITOR which to use")
    assert "nothing was changed" not in text
    leave(terminal)


def test_a_plan_by_hand_can_be_cancelled(at_prompt: OpenScreen, tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text(SPIN, encoding="utf-8")
    terminal = at_prompt()
    terminal.send("/run pl\t")
    terminal.shows(f"{PROMPT} /run plan.py")
    terminal.send("\r")
    terminal.shows("while True")
    terminal.send(CTRL_C)
    terminal.shows("interrupted before there was an answer")
    leave(terminal)


def test_what_the_next_prompt_holds_goes_into_notes(at_prompt: OpenScreen) -> None:
    replies = (saying("a" * 4_000), saying("b"), "Letters were wanted.")
    terminal = at_prompt(*replies)
    done(terminal, "first", "aaa")
    done(terminal, "second", "Final Answer: b")
    text = done(terminal, "/context", "in all")
    assert "\\x1b" not in text
    assert "what the next prompt holds\npart " in text
    done(terminal, "/compact", "notes on 1 request: about 1,0")
    text = done(terminal, "/context", "notes on this session  5")
    leave(terminal)


def test_a_run_is_shown_as_a_tree_and_things_as_they_are(
    at_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = at_prompt(saying("nine"), columns=70)
    done(terminal, "how many?", "Final Answer: nine")
    text = done(terminal, "/trace", "└─ plan 1.1")
    assert "[trace] 1 run\nhow many?" in text
    text = done(terminal, "/status", "walls")
    assert "\\x1b" not in text
    assert "memory       on\n" in text
    assert f"CORTEX_HOME  {tmp_path}"[:60] in text
    text = done(terminal, "/sessions", "how many?\n")
    assert "\\x1b" not in text
    leave(terminal)


def test_the_last_answer_is_copied_and_saved(at_prompt: OpenScreen, tmp_path: Path) -> None:
    terminal = at_prompt(saying("nine"))
    done(terminal, "/copy", "there is no answer in this session yet")
    done(terminal, "how many?", "Final Answer: nine")
    text = done(terminal, "/copy", "it is there if that is allowed by the terminal (OSC 52)")
    assert "]52" not in text
    done(terminal, "/save answer.md", "wrote")
    assert (tmp_path / "answer.md").read_text(encoding="utf-8") == "nine\n"
    done(terminal, "/save answer.md", "add --force to replace it")
    leave(terminal)


def test_each_piped_line_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text(saying("by hand"), encoding="utf-8")
    lines = {
        "how many?": "12",
        "/undo": "",
        "/plan": "",
        "/run": "12",
        "/run plan.py": "by hand",
        "/retry": "by hand",
        "/context": "",
        "/trace": "",
        "/save --session all.md": "",
        "/status": "",
        "/copy": "[the answer is not copied: no terminal is there; /save FILE writes it]",
        "/edit": "[there is no terminal here to edit at; send the changed request itself]",
        "/run none.py": f"[{tmp_path}/none.py: there is no such file; /run FILE runs the plan of a "
        "file]",
    }
    ran = agent(tmp_path, *without_servers(tmp_path), stdin="\n".join(lines).encode())
    assert ran.out.splitlines() == [*lines.values()]
    assert (tmp_path / "all.md").read_text(encoding="utf-8").count("(taken back)") == 2
