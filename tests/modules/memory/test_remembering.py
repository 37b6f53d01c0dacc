"""Conversations that outgrow the prompt: notes are asked for, kept, and read by the next one."""

from pathlib import Path

from config.schema import MemorySection
from modules.models.scripted import ScriptedModel
from tests.doubles import profile
from tests.modules.talks import conversation

NOTES = "Oslo was asked about."
SMALL = profile().model_copy(update={"memory": MemorySection(prompt_tokens=500)})


def answering(*answers: str) -> ScriptedModel:
    plans = [f"async def solve():\n    return 'FINAL_ANSWER: {answer}'" for answer in answers]
    return ScriptedModel({"decision": plans, "summary": [NOTES]})


async def test_a_session_that_outgrows_the_prompt_goes_on_with_notes(tmp_path: Path) -> None:
    first = answering("a" * 900, "b" * 900, "c" * 900, "d" * 900)
    async with conversation(tmp_path, first, by=SMALL) as talk:
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
    async with conversation(tmp_path, later, session_id=session_id, by=SMALL) as talk:
        await talk.ask("really?")
    assert NOTES in later.requests[-1].prompt


async def test_a_retry_of_the_same_run_is_told_the_same(tmp_path: Path) -> None:
    broken = "async def solve():\n    return 1 / 0"
    fine = "async def solve():\n    return 'FINAL_ANSWER: 1'"
    long = f"async def solve():\n    return 'FINAL_ANSWER: {'x' * 1500}'"
    script = ScriptedModel({"decision": [long, long, broken, fine], "summary": [NOTES]})
    async with conversation(tmp_path, script, by=SMALL) as talk:
        for request in ("one", "two", "three"):
            await talk.ask(request)
    purposes = [each.purpose for each in script.requests]
    assert purposes.count("summary") == 1
    told = [each.prompt.count(NOTES) for each in script.requests if each.purpose == "decision"]
    assert told == [0, 0, 1, 1]
