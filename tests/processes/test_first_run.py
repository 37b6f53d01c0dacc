"""The first run at a terminal: a profile of one's own is offered once, and never in a pipe."""

from pathlib import Path

from modules.cli.first_run import GOES_ON
from tests.command_line import agent, script, without_servers
from tests.processes.conftest import PROMPT, OpenScreen
from tests.processes.test_typing import CTRL_C, leave

OFFERED = "Enter sets them up"
HINTED = "no profile of yours so far"


def test_enter_sets_a_profile_up_and_it_counts_at_once(
    open_prompt: OpenScreen, tmp_path: Path
) -> None:
    terminal = open_prompt(PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring")
    assert OFFERED in terminal.text
    terminal.send("\r")
    terminal.shows("documents folder [")
    terminal.send(CTRL_C)
    terminal.until(lambda text: PROMPT in text.partition("interrupted")[2])
    assert not (tmp_path / "config").exists()
    terminal.send("/init\r")
    terminal.until(lambda text: text.count("documents folder [") == 2)
    terminal.send("papers\r")
    terminal.shows("[Y/n]")
    terminal.send("\r")
    shown = terminal.shows("counts from the next request on")
    assert "no key can be kept" in terminal.recorder.text
    assert "server 'documents' has another entry now" in shown
    assert "papers" in (tmp_path / "config" / "profiles.yaml").read_text(encoding="utf-8")
    leave(terminal)
    again = open_prompt()
    assert OFFERED not in again.text
    assert HINTED not in again.text
    leave(again)


def test_n_goes_on_and_is_remembered(open_prompt: OpenScreen) -> None:
    terminal = open_prompt()
    terminal.send("n\r")
    terminal.shows(GOES_ON[:30])
    terminal.send("add 5 and 7\r")
    terminal.shows("Final Answer: 12")
    leave(terminal)
    again = open_prompt()
    assert OFFERED not in again.text
    assert HINTED in again.text
    leave(again)


def test_a_request_in_place_of_an_answer_is_answered(open_prompt: OpenScreen) -> None:
    terminal = open_prompt()
    terminal.send("add 5 and 7\r")
    terminal.shows("Final Answer: 12")
    leave(terminal)
    again = open_prompt()
    assert OFFERED not in again.text
    leave(again)


def test_with_a_profile_or_a_model_that_is_named_nothing_is_offered(
    open_prompt: OpenScreen, tmp_path: Path
) -> None:
    with_profile = open_prompt(*without_servers(tmp_path)[:2])
    assert "no profile" not in with_profile.text
    leave(with_profile)
    with_model = open_prompt("--model", script(tmp_path, []))
    assert OFFERED not in with_model.text
    assert HINTED in with_model.text
    leave(with_model)


def test_in_a_pipe_nothing_is_offered_and_init_says_what_to_do(tmp_path: Path) -> None:
    done = agent(tmp_path, stdin=b"\n/init\n")
    assert "set" not in done.out
    assert OFFERED not in done.err
    assert "from a pipe: agent.py config init --yes" in done.err
    assert not (tmp_path / "init_offered").exists()
