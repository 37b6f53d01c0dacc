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
from tests.modules.models.hosted.anthropic_service import (
    KEY,
    MODEL,
    SERVICE,
    begin,
    block,
    claude,
    end,
    event,
    failure,
    refusal,
    text,
)
from tests.modules.models.hosted.fake_service import fake_service
from tests.modules.models.hosted.sdk_checks import REQUEST, SdkChecks, ask


class TestAnthropic(SdkChecks):
    """What it has in common with its like."""

    service = SERVICE


async def test_a_prompt_is_answered_with_text_and_tokens_over_one_connection() -> None:
    async with fake_service() as fake:
        fake.streams(begin(), text("async def ", "solve(): ..."), end())
        async with claude(fake.url) as model:
            replies = [await ask(model) for _ in range(2)]
    assert replies[0].text == "async def solve(): ..."
    assert replies[0].usage == Usage(model_calls=1, input_tokens=3, output_tokens=7)
    assert replies[0].model == f"anthropic:{MODEL}"
    assert fake.heads[0].startswith("POST /v1/messages ")
    assert fake.bodies[0] == {
        "model": MODEL,
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": REQUEST.prompt}]}],
        "stream": True,
    }
    assert fake.connections == 1


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
    async with fake_service() as fake:
        fake.streams(*(bytes([byte]) for byte in stream))  # cut anywhere
        deltas: list[ReplyDelta] = []
        async with claude(fake.url) as model:
            async for delta in model.stream(REQUEST):
                deltas.append(delta)
    assert deltas == [
        ThinkingDelta("Let me see"),
        TextDelta("Grüße\u2028"),
        TextDelta(" and\n"),
        NativeToolCall("add", {"a": 1, "b": ["ü"]}),
        ReplyEnd(Usage(model_calls=1, input_tokens=453, output_tokens=7, cached_tokens=400)),
    ]


async def test_arguments_that_are_no_json_object_are_none() -> None:
    call: JsonObject = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    async with fake_service() as fake:
        fake.streams(
            begin(), block(0, call, {"type": "input_json_delta", "partial_json": "[1"}), end()
        )
        async with claude(fake.url) as model:
            assert (await ask(model)).tool_calls == (NativeToolCall("add", {}),)


async def test_nothing_in_the_environment_reroutes_or_rekeys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-ant-other",
        "ANTHROPIC_AUTH_TOKEN": "other-token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_PROFILE": "other",
        "ANTHROPIC_CUSTOM_HEADERS": "authorization: Bearer other\nX-Api-Key: other",
        "HTTP_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    async with fake_service() as fake:
        fake.streams(begin(), text("x"), end())
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "x"
    assert "other" not in fake.heads[0]
    assert fake.heads[0].lower().count("authorization:") == 1
    assert "x-api-key" not in fake.heads[0].lower()


@pytest.mark.parametrize(
    ("status", "body", "advice", "transient"),
    [
        (400, refusal("invalid_request_error", "Too long."), "Too long.", False),
        (401, refusal("authentication_error", "bad key"), "check ANTHROPIC_API_KEY", False),
        (402, refusal("billing_error", "no card"), "billing", False),
        (403, refusal("permission_error", "not yours"), "check ANTHROPIC_API_KEY", False),
        (404, refusal("not_found_error", "model: x"), "--model anthropic:MODEL", False),
        (413, refusal("request_too_large", "33 MB"), "too large: 33 MB", False),
        (429, refusal("rate_limit_error", "Slow down."), "wait a minute", True),
        (500, refusal("api_error", "Oops."), "HTTP 500", True),
        (504, b"", "HTTP 504", True),
        (529, refusal("overloaded_error", "Overloaded"), "try again in a moment", True),
        (400, b"[]", "HTTP 400", False),
        (400, b'{"error": "text"}', "HTTP 400", False),
        (400, b"x" * 100_000, "HTTP 400", False),
        (307, b"", "HTTP 307", False),
        (200, b"<html>Log in here</html>", "proxy", False),
    ],
)
async def test_an_error_says_what_to_do(
    status: int, body: JsonObject | bytes, advice: str, transient: bool
) -> None:
    async with fake_service() as fake:
        fake.answers(status, body, "Location: http://127.0.0.1:1/elsewhere\r\n")
        error = await failure(fake)
    assert advice in str(error)
    assert f"anthropic:{MODEL}" in str(error)
    assert len(str(error)) < 1000
    assert error.transient is transient
    assert len(fake.bodies) == 1  # the SDK does not try again


@pytest.mark.parametrize(
    ("details", "headers", "transient", "pause_seconds"),
    [
        ({}, "Retry-After: 12\r\n", True, 12.0),
        ({}, "retry-after: 0.5\r\n", True, 0.5),
        ({}, "Retry-After: soon\r\n", True, None),
        ({}, "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n", True, 0.0),
        ({}, "Retry-After: nan\r\n", True, None),
        ({}, "x-should-retry: false\r\n", False, None),
        ({"error_code": "enforced_spend_limit_reached"}, "", False, None),
    ],
)
async def test_a_rate_limit_passes_and_a_limit_on_spending_does_not(
    details: JsonObject, headers: str, transient: bool, pause_seconds: float | None
) -> None:
    async with fake_service() as fake:
        fake.answers(429, refusal("rate_limit_error", "Used up.", **details), headers)
        error = await failure(fake)
    assert "has no quota left: Used up." in str(error)
    assert error.transient is transient
    assert error.retry_after_seconds == pause_seconds


async def test_a_server_that_echoes_the_key_does_not_make_us_repeat_it() -> None:
    async with fake_service() as fake:
        fake.answers(401, refusal("authentication_error", f"\x1b[2Jbad\nkey {KEY}"))
        message = str(await failure(fake))
    assert "bad key [redacted API_KEY]" in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("kind", "words", "transient"),
    [
        ("overloaded_error", "HTTP 529", True),
        ("api_error", "HTTP 500", True),
        ("rate_limit_error", "no quota left", True),
        ("invalid_request_error", "HTTP 400", False),
        ("a_later_invention", "HTTP 500", True),
    ],
)
async def test_an_error_in_mid_stream_is_the_error_that_it_says(
    kind: str, words: str, transient: bool
) -> None:
    async with fake_service() as fake:
        error: JsonObject = {"type": kind, "message": "It happens."}
        fake.streams(begin(), text("x"), event("error", error=error), ending="hang")
        caught = await failure(fake)
    assert words in str(caught)
    assert "It happens." in str(caught)
    assert caught.transient is transient


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_text_that_was_cut_off_is_text(reason: str) -> None:
    async with fake_service() as fake:
        fake.streams(begin(), text("async def"), end(reason))
        async with claude(fake.url) as model:
            reply = await ask(model)
    assert reply.text == "async def"
    assert reply.truncated


async def test_a_model_that_declines_says_why() -> None:
    details: JsonObject = {"type": "refusal", "category": None, "explanation": "Not this."}
    async with fake_service() as fake, claude(fake.url) as model:
        fake.streams(begin(), end("refusal", stop_details=details))
        reply = await ask(model)
        fake.streams(begin(), end("refusal"))
        silent = await ask(model)
    assert reply.declined
    assert reply.text == "Not this."
    assert silent.declined
    assert "declines" in silent.text


async def test_a_reply_without_text_says_why() -> None:
    async with fake_service() as fake:
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
    async with fake_service() as fake, claude(fake.url) as model:
        fake.streams(begin(), *last)
        manager = ModelManager([ChosenModel(model, Price(input=1, output=10))], retries=0)
        with pytest.raises(ModelUnavailable):
            await manager.generate(REQUEST)
    assert manager.usage.input_tokens == 3
    assert manager.usage.output_tokens in (900, 1)
    assert manager.usage.cost > 0


@pytest.mark.parametrize("pieces", [(), (begin(),), (begin(), text("async def"))])
async def test_a_stream_that_just_ends_may_be_tried_again(pieces: tuple[bytes, ...]) -> None:
    async with fake_service() as fake:
        fake.streams(*pieces)
        error = await failure(fake)
        fake.streams(*pieces, ending="cut")
        cut = await failure(fake)
    assert "broke off" in str(error)
    assert error.transient
    assert cut.transient


async def test_a_whole_reply_counts_though_the_connection_is_cut_behind_it() -> None:
    async with fake_service() as fake:
        fake.streams(begin(), text("x"), end(), ending="cut")
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "x"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"data: {not json\n\n", "can't be read"),
        (b"data: []\n\n", "can't be read"),
        (b"data: " + b"[" * 5000 + b"\n\n", "can't be read"),
        (b"data: " + b"x" * 300_000, "an event of more than 262,144 bytes"),
    ],
)
async def test_events_of_another_form_are_refused(data: bytes, words: str) -> None:
    async with fake_service() as fake:
        fake.streams(begin(), data, ending="hang")
        assert words in str(await failure(fake))


async def test_values_of_another_kind_are_passed_over() -> None:
    odd = [
        event("message_start", message=5),
        event("content_block_start", index="0", content_block=[]),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": 5}),
        event("content_block_stop"),
        event("message_delta", delta=None, usage={"output_tokens": -1}),
    ]
    async with fake_service() as fake:
        fake.streams(*odd, text("x"), end())
        async with claude(fake.url) as model:
            assert (await ask(model)).text == "x"
