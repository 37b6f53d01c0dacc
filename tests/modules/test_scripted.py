"""The scripted model: what it answers, and how loudly it fails."""

import json
from pathlib import Path

import pytest

from core.errors import ModelUnavailable, UsageError
from core.ports import ModelPurpose, ModelReply, ModelRequest, TextModel
from modules.models.scripted import Reply, ScriptedModel


def asked(purpose: ModelPurpose, prompt: str = "p") -> ModelRequest:
    return ModelRequest(purpose, prompt)


async def test_replies_come_in_order_and_requests_are_recorded() -> None:
    model = ScriptedModel(["one", lambda request: request.prompt.upper(), ModelReply("three")])
    replies = [await model.generate(asked("decision", p)) for p in ("a", "b", "c")]
    assert [reply.text for reply in replies] == ["one", "B", "three"]
    assert [request.prompt for request in model.requests] == ["a", "b", "c"]
    assert replies[0].usage.model_calls == 1
    model.assert_finished()


async def test_a_sequence_serves_plans_and_text_but_perception_is_neutral() -> None:
    model = ScriptedModel(["plan", "text"])
    assert (await model.generate(asked("perception"))).text == "{}"
    assert model.leftover == 2
    assert (await model.generate(asked("decision"))).text == "plan"
    assert (await model.generate(asked("text"))).text == "text"
    assert (await model.generate(asked("perception"))).text == "{}"
    assert model.leftover == 0


async def test_a_mapping_has_a_queue_for_each_purpose() -> None:
    model = ScriptedModel({"perception": ["{1}"], "decision": ["plan"]})
    assert (await model.generate(asked("decision"))).text == "plan"
    assert (await model.generate(asked("perception"))).text == "{1}"
    for purpose in ("perception", "text"):
        with pytest.raises(UsageError, match=f"{purpose} request"):
            await model.generate(asked(purpose))


async def test_an_exhausted_script_names_what_was_asked() -> None:
    model = ScriptedModel(["only"])
    await model.generate(asked("decision"))
    with pytest.raises(UsageError, match="no reply left for decision request 2"):
        await model.generate(asked("decision"))


async def test_exceptions_in_the_script_are_raised() -> None:
    model = ScriptedModel([ModelUnavailable("down"), "up"])
    with pytest.raises(ModelUnavailable, match="down"):
        await model.generate(asked("decision"))
    assert (await model.generate(asked("decision"))).text == "up"


async def test_leftover_replies_are_told() -> None:
    model = ScriptedModel({"decision": ["a", "b"], "perception": ["c"]})
    await model.generate(asked("decision"))
    assert model.leftover == 2
    with pytest.raises(AssertionError, match=r"decision.*1.*perception.*1"):
        model.assert_finished()
    await model.aclose()
    await model.aclose()


async def test_a_file_can_hold_every_kind_of_reply(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(["plan ✓", {"error": "down"}, {"declined": "can't"}]))
    model: TextModel = ScriptedModel.from_file(file)
    assert model.name == f"scripted:{file}"
    assert (await model.generate(asked("decision"))).text == "plan ✓"
    with pytest.raises(ModelUnavailable, match=r"^down$"):
        await model.generate(asked("decision"))
    assert await model.generate(asked("decision")) == ModelReply("can't", declined=True)


async def test_a_file_can_hold_a_queue_for_each_purpose(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"perception": ["p"], "decision": ["d"], "text": []}')
    model = ScriptedModel.from_file(file)
    assert (await model.generate(asked("decision"))).text == "d"
    assert (await model.generate(asked("perception"))).text == "p"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"5",
        b'"plan"',
        b"[1]",
        b"[null]",
        b'[{"oops": "x"}]',
        b'[{"error": 5}]',
        b'[{"error": "x", "more": 1}]',
        b'{"plan": []}',
        b'{"decision": "x"}',
        b'{"decision": [5]}',
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:30]),
)
def test_a_file_of_another_form_is_refused_with_the_form(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"script\.json.*JSON list of replies"):
        ScriptedModel.from_file(file)


def test_a_file_that_cannot_be_read_is_refused_with_its_path(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(UsageError, match="can't be read"):
            ScriptedModel.from_file(path)
    with pytest.raises(UsageError, match="larger than"):
        ScriptedModel.from_file("/dev/zero")


def test_the_script_of_the_caller_is_not_used_up() -> None:
    replies: list[Reply] = ["a"]
    ScriptedModel(replies)
    assert replies == ["a"]
