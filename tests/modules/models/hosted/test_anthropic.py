"""The Anthropic backend against a server on loopback that speaks the Messages API's events."""

import pytest

from config.models_file import Price
from core.errors import ModelUnavailable
from core.ports import (
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
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


async def test_thoughts_text_and_native_calls_come_as_they_are_written() -> None:
    stream = b"".join(
        [
            b": a comment\n\n",
            begin(cache_read_input_tokens=400, cache_creation_input_tokens=50),
            block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "Let me see"},
                {"type": "thinking_delta", "thinking": ""},
                {"type": "signature_delta", "signature": "c2ln"},
            ),
            text("Grüße\u2028", " and\n", index=1),
            block(
                2,
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}},
                {"type": "input_json_delta", "partial_json": ""},
                {"type": "input_json_delta", "partial_json": '{"a": 1, "b'},
                {"type": "input_json_delta", "partial_json": '": ["ü"]}'},
            ),
            event("a_later_invention", index=5),
            end("tool_use"),
        ]
    )
    async with service() as fake:
        fake.streams(*(bytes([byte]) for byte in stream))  # cut anywhere
        async with claude(fake.url) as model:
            deltas: list[ReplyDelta] = [delta async for delta in model.stream(REQUEST)]
    assert deltas == [
        ThinkingDelta("Let me see"),
        TextDelta("Grüße\u2028"),
        TextDelta(" and\n"),
        NativeToolCall("add", {"a": 1, "b": ["ü"]}),
        ReplyEnd(Usage(model_calls=1, input_tokens=453, output_tokens=7, cached_tokens=400)),
    ]


async def test_arguments_that_are_no_json_object_are_text() -> None:
    call: JsonObject = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    async with service() as fake:
        fake.streams(
            begin(), block(0, call, {"type": "input_json_delta", "partial_json": "[1"}), end()
        )
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "add[1"


async def test_nothing_in_the_environment_reroutes_or_rekeys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-ant-other",
        "ANTHROPIC_AUTH_TOKEN": "other-token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_PROFILE": "other",
        "ANTHROPIC_CUSTOM_HEADERS": "authorization: Bearer other\nX-Api-Key: other",
    }.items():
        monkeypatch.setenv(name, value)
    async with service() as fake:
        fake.streams(begin(), text("x"), end())
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "x"
    assert "other" not in fake.heads[0]
    assert fake.heads[0].lower().count("authorization:") == 1
    assert "x-api-key" not in fake.heads[0].lower()


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


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_text_that_was_cut_off_is_text(reason: str) -> None:
    async with service() as fake:
        fake.streams(begin(), text("async def"), end(reason))
        async with claude(fake.url) as model:
            reply = await ask(model)
    assert reply.text == "async def"
    assert reply.truncated


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
