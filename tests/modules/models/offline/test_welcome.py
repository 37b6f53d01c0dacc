"""The page that helps: who gets it, and what it says of what is here and now."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.dispatch.hooks import ServerStatus
from modules.models.offline.welcome import Situation, asks_for_help, count_files, help_page
from modules.models.scripted import ScriptedModel
from tests.modules.models.offline.plans import MATH_TOOLS
from tests.modules.models.offline.quotes.test_document_plans import DOCUMENTS
from tests.modules.talks import conversation


def situation(model: str = "offline", documents: int = 0, *servers: ServerStatus) -> Situation:
    return Situation(model, (*MATH_TOOLS, *DOCUMENTS), servers, documents)


@pytest.mark.parametrize(
    "request_text",
    [
        "hello", "Hi!", "hey there", "Good morning.", "help", "help me please", "?", "usage",
        "what can you do?", "What can I ask you?", "who are you?", "what’s this?",
        "how do I use this?", "what tools do you have?", "how do you work?",
    ],
)  # fmt: skip
def test_greetings_and_requests_for_help_get_the_page(request_text: str) -> None:
    assert asks_for_help(request_text)


@pytest.mark.parametrize(
    "request_text",
    [
        "hello in German", "say hello", "help me add 5 and 7", "what can you do with 5 and 7?",
        "what is this file about?", "how do I use the saw?", "how many letters are in hello",
        "reverse hello", "", "examples of primes below 10", "5 + 7",
    ],
)  # fmt: skip
def test_other_requests_do_not(request_text: str) -> None:
    assert not asks_for_help(request_text)


def test_the_page_says_what_there_is_and_how_to_get_more() -> None:
    page = help_page(situation())
    assert "documents (5)" in page
    assert "none yet; agent.py docs add FILE" in page
    assert "what do my documents say" not in page
    assert "GEMINI_API_KEY" in page
    page = help_page(situation("gemini:flash", 3))
    assert "gemini:flash" in page
    assert "GEMINI_API_KEY" not in page
    assert "3 files" in page
    assert "what do my documents say" in page


def test_the_page_names_servers_that_are_down_or_not_started() -> None:
    down = ServerStatus("tickets", "failed", problem="tickets exited\x1b[2J " + "x" * 500 + "; log")
    page = help_page(situation("offline", 0, down, ServerStatus("clock", "down")))
    assert "Down: tickets exited" in page
    assert "agent.py mcp test tickets" in page
    assert "not started yet: clock" in page
    assert "\x1b" not in page
    assert max(len(line) for line in page.splitlines()) < 250


def test_who_has_no_commands_is_told_of_none() -> None:
    down = ServerStatus("tickets", "failed", problem="tickets exited; see its log")
    here = replace(situation("offline", 3, down), has_commands=False)
    page = help_page(here)
    assert "agent.py" not in page
    assert "/help" not in page
    assert "KEY" not in page
    assert "Down: tickets exited." in page
    assert "    what do my documents say about …?" in page.splitlines()


def test_files_are_counted_in_folders_up_to_a_limit_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("a.md", "b/c.md", ".git/x", "b/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert count_files([tmp_path, tmp_path / "missing"]) == 2
    assert count_files([tmp_path], limit=1) == 1


async def test_no_planner_is_asked_and_nothing_is_kept(tmp_path: Path) -> None:
    async with conversation(tmp_path, ScriptedModel({})) as talk:
        outcome = await talk.ask("what can you do?")
    assert outcome.status == "done"
    assert "agent.py --help" in (outcome.answer or "")
    assert talk.model.usage.model_calls == 0
    assert talk.session.kept_id is None
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize("text", ["hello", "Hi there!", "good morning"])
def test_a_model_that_reads_texts_may_greet(text: str) -> None:
    assert asks_for_help(text)
    assert not asks_for_help(text, reads_text=True)
    assert asks_for_help("what can you do?", reads_text=True)
