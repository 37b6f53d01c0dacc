"""The scripted model: what it answers, and how loudly it fails."""

import json
import time
from pathlib import Path

import pytest

from core.errors import ModelUnavailable, UsageError
from core.ports import ModelReply, ModelRequest, ModelTraits, NativeToolCall, TextDelta, TextModel
from core.turn import ModelPurpose, Usage
from modules.models.scripted import Reply, ScriptedModel
from modules.models.serving.watched import collect_reply


async def answer(model: TextModel, request: ModelRequest) -> ModelReply:
    """The whole reply to one request."""
    return await collect_reply(model, model.stream(request))


def asked(purpose: ModelPurpose, prompt: str = "p") -> ModelRequest:
    return ModelRequest(purpose, prompt)


async def test_replies_come_in_order_and_requests_are_recorded() -> None:
    model = ScriptedModel(["one", lambda request: request.prompt.upper(), ModelReply("three")])
    replies = [await answer(model, asked("decision", p)) for p in ("a", "b", "c")]
    assert [reply.text for reply in replies] == ["one", "B", "three"]
    assert [request.prompt for request in model.requests] == ["a", "b", "c"]
    assert replies[0].usage.model_calls == 1
    assert model.leftover == 0


async def test_a_sequence_serves_plans_and_text_but_perception_is_neutral() -> None:
    model = ScriptedModel(["plan", "text"])
    assert (await answer(model, asked("perception"))).text == "{}"
    assert model.leftover == 2
    assert (await answer(model, asked("decision"))).text == "plan"
    assert (await answer(model, asked("text"))).text == "text"
    assert (await answer(model, asked("perception"))).text == "{}"
    assert model.leftover == 0


async def test_a_sequence_serves_summaries_too_and_a_whole_reply_arrives_whole() -> None:
    calls = (NativeToolCall("add", {"a": 1}), NativeToolCall("subtract", {}))
    whole = ModelReply(
        "text", Usage(1, 3, 4, 2), thinking="why", tool_calls=calls, truncated=True, model="m"
    )
    traits = ModelTraits(images=True)
    model = ScriptedModel([whole, lambda _: whole], "m", traits)
    assert await answer(model, asked("summary")) == whole
    assert await answer(model, asked("text")) == whole
    assert model.traits is traits


async def test_a_paced_reply_comes_word_by_word_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    text = "  a  plan\nof four words "
    file.write_text(json.dumps([{"text": text, "after": 0.01, "seconds": 0.05}]))
    model = ScriptedModel.from_file(file)
    began = time.monotonic()
    deltas = [delta async for delta in model.stream(asked("decision"))]
    assert time.monotonic() - began >= 0.06
    words = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert len(words) == 5
    assert "".join(words) == text


async def test_nothing_is_asked_of_a_stream_that_is_not_read() -> None:
    model = ScriptedModel(["only"])
    await model.stream(asked("decision")).aclose()
    assert not model.requests
    assert model.leftover == 1


async def test_a_mapping_has_a_queue_for_each_purpose() -> None:
    model = ScriptedModel({"perception": ["{1}"], "decision": ["plan"]})
    assert (await answer(model, asked("decision"))).text == "plan"
    assert (await answer(model, asked("perception"))).text == "{1}"
    for purpose in ("perception", "text"):
        with pytest.raises(UsageError, match=f"{purpose} request"):
            await answer(model, asked(purpose))


async def test_an_exhausted_script_names_what_was_asked() -> None:
    model = ScriptedModel(["only"])
    await answer(model, asked("decision"))
    with pytest.raises(UsageError, match="no reply left for decision request 2"):
        await answer(model, asked("decision"))


async def test_exceptions_in_the_script_are_raised() -> None:
    model = ScriptedModel([ModelUnavailable("down"), "up"])
    with pytest.raises(ModelUnavailable, match="down"):
        await answer(model, asked("decision"))
    assert (await answer(model, asked("decision"))).text == "up"


async def test_leftover_replies_are_told() -> None:
    model = ScriptedModel({"decision": ["a", "b"], "perception": ["c"]})
    await answer(model, asked("decision"))
    assert model.leftover == 2
    await model.aclose()
    await model.aclose()


async def test_a_file_can_hold_every_kind_of_reply(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(["plan ✓", {"error": "down"}, {"declined": "can't"}]))
    model: TextModel = ScriptedModel.from_file(file)
    assert model.name == f"scripted:{file}"
    assert (await answer(model, asked("decision"))).text == "plan ✓"
    with pytest.raises(ModelUnavailable, match=r"^down$"):
        await answer(model, asked("decision"))
    reply = await answer(model, asked("decision"))
    assert reply == ModelReply("can't", declined=True, model=model.name)


async def test_a_file_can_hold_thinking_tool_calls_and_what_they_took(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(
        '[{"thinking": "hm", "text": "plan"}, '
        '{"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": [2]}}], '
        '"usage": {"input_tokens": 900, "output_tokens": 40, "cost": 0.5}}]'
    )
    model = ScriptedModel.from_file(file)
    first = await answer(model, asked("decision"))
    assert (first.thinking, first.text) == ("hm", "plan")
    second = await answer(model, asked("decision"))
    assert second.tool_calls == (NativeToolCall("add", {"a": 1, "b": [2]}),)
    assert second.text == ""
    assert second.usage == Usage(1, 900, 40, cost=0.5)


async def test_a_file_can_hold_a_queue_for_each_purpose(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"perception": ["p"], "decision": ["d"], "text": []}')
    model = ScriptedModel.from_file(file)
    assert (await answer(model, asked("decision"))).text == "d"
    assert (await answer(model, asked("perception"))).text == "p"


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
        b"[{}]",
        b'[{"text": 5}]',
        b'[{"text": "x", "error": "y"}]',
        b'[{"tool_calls": {}}]',
        b'[{"text": "x", "usage": {"input_tokens": -1}}]',
        b'[{"tool_calls": ["add"]}]',
        b'[{"tool_calls": [{"name": "add"}]}]',
        b'[{"tool_calls": [{"name": "add", "arguments": []}]}]',
        b'[{"tool_calls": [{"name": "add", "arguments": {}, "id": 1}]}]',
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
