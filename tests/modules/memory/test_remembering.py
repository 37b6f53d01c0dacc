"""Conversations that outgrow the prompt: notes are asked for, kept, and read by the next one."""

from pathlib import Path

from config.schema import MemorySection
from config.settings import ROOT, Places
from core.events import Event
from core.session import MultiMCP
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.sandbox import Sandbox
from tests.doubles import profile

NOTES = "Oslo was asked about."
SMALL = profile().model_copy(update={"memory": MemorySection(prompt_tokens=500)})


def answering(*answers: str) -> ScriptedModel:
    plans = [f"async def solve():\n    return 'FINAL_ANSWER: {answer}'" for answer in answers]
    return ScriptedModel({"decision": plans, "summary": [NOTES]})


async def nobody(_: Event) -> None:
    """Hear an event."""


def conversation(script: ScriptedModel, home: Path, session_id: str | None = None) -> Conversation:
    model = ModelManager(script)
    places = Places(ROOT, home)
    return Conversation(SMALL, places, model, MultiMCP([]), Sandbox(), nobody, session_id)


async def test_a_session_that_outgrows_the_prompt_goes_on_with_notes(tmp_path: Path) -> None:
    first = answering("a" * 900, "b" * 900, "c" * 900, "d" * 900)
    async with conversation(first, tmp_path) as talk:
        for request in ("tell me of Oslo", "and of Rome", "and of Bern", "go on"):
            await talk.ask(request)
        session_id = talk.session.kept_id
    assert [each.purpose for each in first.requests if each.purpose != "perception"] == [
        *("decision", "decision", "decision", "summary", "decision")
    ]
    assert "Notes on the first" not in first.requests[0].prompt
    assert f"Notes on the first 2 requests: {NOTES}" in first.requests[-1].prompt
    assert "User: and of Bern" in first.requests[-1].prompt
    assert "a" * 900 not in first.requests[-1].prompt

    later = answering("yes")
    async with conversation(later, tmp_path, session_id) as talk:
        await talk.ask("really?")
    assert NOTES in later.requests[-1].prompt


async def test_a_retry_of_the_same_run_is_told_the_same(tmp_path: Path) -> None:
    broken = "async def solve():\n    return 1 / 0"
    fine = "async def solve():\n    return 'FINAL_ANSWER: 1'"
    long = f"async def solve():\n    return 'FINAL_ANSWER: {'x' * 1500}'"
    script = ScriptedModel({"decision": [long, long, broken, fine], "summary": [NOTES]})
    async with conversation(script, tmp_path) as talk:
        for request in ("one", "two", "three"):
            await talk.ask(request)
    purposes = [each.purpose for each in script.requests]
    assert purposes.count("summary") == 1
    told = [each.prompt.count(NOTES) for each in script.requests if each.purpose == "decision"]
    assert told == [0, 0, 1, 1]
