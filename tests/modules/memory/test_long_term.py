"""Facts that the user states: kept as they are said, told to later runs, corrected."""

import json
import re
from pathlib import Path

import pytest

from core.base.memory.facts import FACTS_FILE
from core.base.redaction import Redactor
from core.errors import StorageError, UsageError
from core.events import Event, Notice
from modules.memory.long_term import LongTermMemory
from modules.models.scripted import ScriptedModel
from modules.session.ids import check_session_id, kept_sessions
from tests.doubles import profile
from tests.modules.talks import conversation

ANSWER = "async def solve():\n    return 'FINAL_ANSWER: noted'"
NO_SECRETS = Redactor({})


def memory(folder: Path) -> LongTermMemory:
    return LongTermMemory(folder, NO_SECRETS)


async def test_what_is_stated_is_told_and_kept_and_a_newer_one_replaces_it(tmp_path: Path) -> None:
    assert (
        await memory(tmp_path).learn("remember that I live in Oslo.", "s")
        == "remembered: I live in Oslo"
    )
    assert await memory(tmp_path).learn("remember that I live in Oslo.", "s") == "", "known already"
    told = await memory(tmp_path).learn("Remember that I moved to Rome.", "s")
    assert told == "remembered: I moved to Rome (before: I live in Oslo)"
    (fact,) = await memory(tmp_path).facts("hello", 1_000)
    assert re.fullmatch(r"I moved to Rome \(\d{4}-\d\d-\d\d\)", fact)


async def test_what_states_nothing_makes_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    assert await memory(folder).learn("add 5 and 7", "s") == ""
    assert await memory(folder).facts("add 5 and 7", 1_000) == ()
    assert not folder.exists()


async def test_without_a_folder_nothing_is_kept() -> None:
    nowhere = LongTermMemory(None, NO_SECRETS)
    assert await nowhere.learn("remember that I'm vegetarian", "s") == ""
    assert await nowhere.facts("what can I cook?", 1_000) == ()


async def test_what_has_to_do_with_the_request_is_told_first_within_the_room(
    tmp_path: Path,
) -> None:
    for fact in ("my dog is called Rex", "I live in Oslo", "I work as a nurse"):
        await memory(tmp_path).learn(f"remember that {fact}", "s")
    facts = await memory(tmp_path).facts("what should my dog eat?", 70)
    assert [fact.partition(" (")[0] for fact in facts] == [
        "my dog is called Rex",
        "I work as a nurse",
    ]


async def test_a_fact_that_can_t_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FACTS_FILE).mkdir()
    assert await memory(tmp_path).facts("x", 1_000) == ()
    with pytest.raises(StorageError, match=f"{FACTS_FILE} can't be written: Is a directory"):
        await memory(tmp_path).learn("remember that I'm vegetarian", "s")


async def test_a_later_session_is_told_what_an_earlier_one_was(tmp_path: Path) -> None:
    heard: list[Event] = []

    async def listener(event: Event) -> None:
        heard.append(event)

    prompts: list[str] = []
    for request in ("Remember that I'm vegetarian. What can I cook?", "and for dinner?"):
        script = ScriptedModel([ANSWER])
        async with conversation(tmp_path, script, listener) as talk:
            await talk.ask(request)
        prompts.append(script.requests[-1].prompt)
    notices = [event.text for event in heard if isinstance(event, Notice)]
    assert notices == ["remembered: I'm vegetarian"]
    kept = "Of this request these facts are kept already; no plan needs to remember them:"
    assert f"{kept}\n- I'm vegetarian\n" in prompts[0]
    assert kept not in prompts[1]
    assert "The user has told before" in prompts[1]
    assert "- I'm vegetarian (" in prompts[1]
    (fact,) = json.loads((profile().memory_folder(tmp_path) / FACTS_FILE).read_text())["facts"]
    assert fact["session_id"].count("/") == 3


def test_no_session_can_have_the_name_of_the_file_of_facts(tmp_path: Path) -> None:
    (tmp_path / FACTS_FILE).touch()
    assert kept_sessions(tmp_path, "date") == []
    with pytest.raises(UsageError):
        check_session_id(FACTS_FILE.removesuffix(".json"))
