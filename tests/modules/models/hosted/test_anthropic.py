"""The Anthropic backend against a server on loopback that speaks the Messages API's events."""

import pytest

from config.models_file import Price
from core.errors import ModelUnavailable
from core.ports import NativeToolCall
from core.turn import Usage
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.models.serving.watched import ChosenModel
from tests.modules.models.backends import ANTHROPIC, REQUEST, ask
from tests.modules.models.hosted.claude_events import begin, block, end, event, refusal, text

claude, service, failure = ANTHROPIC.open, ANTHROPIC.service, ANTHROPIC.failure


async def test_a_prompt_is_answered_with_text_and_tokens() -> None:
    async with service() as fake, claude(fake.url) as model:
        fake.streams(begin(), text("async def ", "solve(): ..."), end())
        reply = await ask(model)
    assert reply.text == "async def solve(): ..."
    assert reply.usage == Usage(model_calls=1, input_tokens=3, output_tokens=7)
    assert fake.heads[0].startswith("POST /v1/messages ")
    assert fake.bodies[0] == {
        "model": ANTHROPIC.model,
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": REQUEST.prompt}]}],
        "stream": True,
    }


async def test_arguments_that_are_no_json_object_are_text() -> None:
    call: JsonObject = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    async with service() as fake:
        fake.streams(
            begin(), block(0, call, {"type": "input_json_delta", "partial_json": "[1"}), end()
        )
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "add[1"


async def test_a_message_in_one_piece_is_read_like_a_stream() -> None:
    message: JsonObject = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "Let me see"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}},
        ],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "output_tokens": 7},
    }
    async with service() as fake, claude(fake.url) as model:
        fake.answers(200, message)
        reply = await ask(model)
    assert (reply.thinking, reply.text, reply.truncated) == ("Let me see", "Hi", True)
    assert reply.tool_calls == (NativeToolCall("add", {"a": 1}),)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 7)


async def test_a_limit_on_spending_does_not_pass() -> None:
    async with service() as fake:
        said = refusal("rate_limit_error", "No.", error_code="enforced_spend_limit_reached")
        fake.answers(429, said, "Retry-After: 12\r\n")
        error = await failure(fake)
    assert "has no credit or quota left: No;" in str(error)
    assert not error.transient


@pytest.mark.parametrize(
    ("kind", "words", "transient"),
    [
        ("overloaded_error", "HTTP 529", True),
        ("api_error", "HTTP 500", True),
        ("rate_limit_error", "asked too often", True),
        ("invalid_request_error", "HTTP 400", False),
        ("a_later_invention", "failed while it wrote", True),
    ],
)
async def test_an_error_in_mid_stream_is_judged_by_its_kind(
    kind: str, words: str, transient: bool
) -> None:
    async with service() as fake:
        error: JsonObject = {"type": kind, "message": "It happens."}
        fake.streams(begin(), text("x"), event("error", error=error), ending="hang")
        caught = await failure(fake)
    assert words in str(caught)
    assert "It happens;" in str(caught)
    assert caught.transient is transient


async def test_a_model_that_declines_says_why() -> None:
    details: JsonObject = {"type": "refusal", "category": None, "explanation": "Not this."}
    async with service() as fake, claude(fake.url) as model:
        fake.streams(begin(), end("refusal", stop_details=details))
        reply = await ask(model)
        fake.streams(begin(), end("refusal"))
        silent = await ask(model)
    assert reply.declined
    assert reply.text == "Not this."
    assert silent.declined
    assert "declines" in silent.text


async def test_a_reply_without_text_says_why() -> None:
    async with service() as fake:
        fake.streams(begin(), end("max_tokens"))
        assert "(max_tokens); give it more room" in str(await failure(fake))
        fake.streams(begin(), end("end_turn"))
        assert "(end_turn); put the request" in str(await failure(fake))


@pytest.mark.parametrize(
    "last",
    [
        (end("max_tokens", output_tokens=900),),
        (),
        (text("a"), event("error", error={"type": "overloaded_error", "message": "Busy."})),
        (text("a"), b"data: no JSON\n\n"),
    ],
)
async def test_what_a_reply_of_no_use_took_is_counted(last: tuple[bytes, ...]) -> None:
    async with service() as fake, claude(fake.url) as model:
        fake.streams(begin(), *last)
        manager = ModelManager([ChosenModel(model, Price(input=1, output=10))], retries=0)
        with pytest.raises(ModelUnavailable):
            await manager.generate(REQUEST)
    assert manager.usage.input_tokens == 3
    assert manager.usage.output_tokens in (900, 1)
    assert manager.usage.cost > 0


async def test_values_of_another_kind_are_passed_over() -> None:
    odd = [
        event("message_start", message=5),
        event("content_block_start", index="0", content_block=[]),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": 5}),
        event("content_block_stop"),
        event("message_delta", delta=None, usage={"output_tokens": -1}),
    ]
    async with service() as fake:
        fake.streams(*odd, text("x"), end())
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "x"
