"""The Gemini backend against a server on loopback that speaks streamGenerateContent's events."""

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
from core.values import Json, JsonObject
from modules.model_manager import ModelManager
from modules.models.hosted.gemini import EVENT_VALUES_MAX
from modules.models.hosted.google.errors import error_details
from modules.models.serving.watched import ChosenModel
from tests.modules.models.hosted.fake_service import fake_service
from tests.modules.models.hosted.gemini_service import (
    KEY,
    SERVICE,
    USAGE,
    answer,
    event,
    failure,
    gemini,
    part,
    quota,
    refusal,
    retry_in,
)
from tests.modules.models.hosted.sdk_checks import REQUEST, SdkChecks, ask


class TestGemini(SdkChecks):
    """What it has in common with its like."""

    service = SERVICE


async def test_a_prompt_is_answered_with_text_and_tokens_over_one_connection() -> None:
    async with fake_service() as fake:
        fake.streams(event(answer("async def ", reason=None)), event(answer("solve(): ...")))
        async with gemini(fake.url) as model:
            replies = [await ask(model) for _ in range(2)]
    assert replies[0].text == "async def solve(): ..."
    assert replies[0].usage == Usage(model_calls=1, input_tokens=11, output_tokens=7)
    assert replies[0].model == "gemini:gemini-test"
    assert fake.heads[0].startswith("POST /v1/models/gemini-test:streamGenerateContent?alt=sse ")
    assert fake.bodies[0]["contents"] == [{"role": "user", "parts": [{"text": REQUEST.prompt}]}]
    assert fake.connections == 1


async def test_thoughts_text_and_native_calls_come_as_they_are_written() -> None:
    call: JsonObject = {"functionCall": {"name": "add", "args": {"a": 1, "b": [2.5, "ü"]}}}
    pieces = (
        event(part({"text": "Let me see", "thought": True}, reason=None)),
        event(part({"text": "Grüße\u2028 and\n"}, reason=None)),
        event(part(call, reason="STOP", usageMetadata=USAGE | {"cachedContentTokenCount": 8})),
    )
    # Cut anywhere, also within a character.
    stream = [bytes([byte]) for byte in b"".join(pieces)]
    async with fake_service() as fake:
        fake.streams(*stream)
        deltas: list[ReplyDelta] = []
        async with gemini(fake.url) as model:
            async for delta in model.stream(REQUEST):
                deltas.append(delta)
    assert deltas == [
        ThinkingDelta("Let me see"),
        TextDelta("Grüße\u2028 and\n"),
        NativeToolCall("add", {"a": 1, "b": [2.5, "ü"]}),
        ReplyEnd(Usage(model_calls=1, input_tokens=11, output_tokens=7, cached_tokens=8)),
    ]


async def test_nothing_in_the_environment_reroutes_or_rekeys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "GOOGLE_API_KEY": "AIzaOther9876543210",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_CLOUD_PROJECT": "theirs",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
        "GOOGLE_GENAI_API_VERSION": "v9",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "HTTP_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    async with fake_service() as fake:
        fake.streams(event(answer("x")))
        async with gemini(fake.url) as model:
            assert (await ask(model)).text == "x"
    assert fake.heads[0].startswith("POST /v1/models/gemini-test:")
    assert f"x-goog-api-key: {KEY}" in fake.heads[0]
    assert "Other" not in fake.heads[0]


async def test_a_reply_without_token_counts_is_a_reply() -> None:
    async with fake_service() as fake:
        fake.streams(event(answer("x", usageMetadata=None)))
        async with gemini(fake.url) as model:
            assert (await ask(model)).usage == Usage(model_calls=1)


@pytest.mark.parametrize(
    ("status", "body", "advice", "transient"),
    [
        (
            400,
            refusal(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID"),
            "check GEMINI_API_KEY",
            False,
        ),
        (403, refusal(403, "PERMISSION_DENIED", "Blocked."), "check GEMINI_API_KEY", False),
        (401, b"", "check GEMINI_API_KEY", False),
        (404, refusal(404, "NOT_FOUND", "models/gemini-test is not found"), "models.json", False),
        (413, b"", "smaller images", False),
        (429, refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded."), "wait a minute", True),
        (500, b"oops", "HTTP 500", True),
        (503, refusal(503, "UNAVAILABLE", "Overloaded."), "try again", True),
        (400, refusal(400, "INVALID_ARGUMENT", "Too long."), "Too long.", False),
        (400, b"[]", "HTTP 400", False),
        (400, b'{"error": {"details": ["x", 5]}}', "HTTP 400", False),
        (400, b'{"error": "text"}', "HTTP 400", False),
        (400, b"x" * 100_000, "HTTP 400", False),
        (302, b"", "HTTP 302", False),
        (200, b"<html>Log in here</html>", "proxy", False),
        (200, b'{"candidates": 5}', "proxy", False),
    ],
)
async def test_an_error_says_what_to_do(
    status: int, body: JsonObject | bytes, advice: str, transient: bool
) -> None:
    async with fake_service() as fake:
        fake.answers(status, body)
        error = await failure(fake)
    assert advice in str(error)
    assert "gemini:gemini-test" in str(error)
    assert len(str(error)) < 1000
    assert error.transient is transient
    assert fake.connections == 1
    assert len(fake.bodies) == 1  # the SDK does not try again


@pytest.mark.parametrize(
    ("details", "headers", "transient", "pause_seconds"),
    [
        ((retry_in("46s"),), "", True, 46.0),
        ((quota("GenerateRequestsPerMinutePerProjectPerModel"), retry_in("3.5s")), "", True, 3.5),
        ((quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),), "", False, None),
        ((retry_in("37025.723541104s"),), "", False, 37025.723541104),
        ((retry_in("soon"),), "Retry-After: 7\r\n", True, 7.0),
    ],
)
async def test_a_rate_limit_passes_and_a_spent_day_does_not(
    details: tuple[JsonObject, ...], headers: str, transient: bool, pause_seconds: float | None
) -> None:
    async with fake_service() as fake:
        fake.answers(429, refusal(429, "RESOURCE_EXHAUSTED", "Used up.", "X", *details), headers)
        error = await failure(fake)
    assert "has no quota left: Used up." in str(error)
    assert error.transient is transient
    assert error.retry_after_seconds == pause_seconds


def test_details_of_another_form_are_left_out() -> None:
    documents: list[Json] = [
        None,
        [],
        {"error": []},
        {"error": {"details": [5, {"violations": [1]}]}},
    ]
    assert not any(error_details(document).is_spent for document in documents)


async def test_a_server_that_echoes_the_key_does_not_make_us_repeat_it() -> None:
    async with fake_service() as fake:
        fake.answers(403, refusal(403, "PERMISSION_DENIED", f"\x1b[2Jbad\nkey {KEY}"))
        message = str(await failure(fake))
    assert "bad key [redacted API_KEY]" in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "refused the prompt (SAFETY)"),
        ({"candidates": []}, "(empty)"),
        ({}, "(empty)"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "(MAX_TOKENS); give it more room"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "(SAFETY)"),
        (part({"text": "hm", "thought": True}, reason="MAX_TOKENS"), "(MAX_TOKENS)"),
        (answer("a beginning", reason="RECITATION"), "stopped in its reply (RECITATION)"),
        (answer(""), "(STOP)"),
        (answer("a beginning", reason=None), "broke off"),
    ],
)
async def test_a_reply_that_is_none_says_why(document: JsonObject, words: str) -> None:
    async with fake_service() as fake:
        fake.streams(event(document))
        error = await failure(fake)
    assert words in str(error)
    assert error.transient is ("broke off" in words)


@pytest.mark.parametrize(
    "documents",
    [
        (part({"text": "hm", "thought": True}, reason="MAX_TOKENS"),),
        (answer("a beginning", reason="RECITATION"),),
        (answer("a beginning", reason=None),),
        (answer("a beginning", reason=None), refusal(503, "UNAVAILABLE", "Busy.")),
    ],
)
async def test_what_a_reply_of_no_use_took_is_counted(documents: tuple[JsonObject, ...]) -> None:
    async with fake_service() as fake, gemini(fake.url) as model:
        fake.streams(*map(event, documents))
        manager = ModelManager([ChosenModel(model, Price(input=1, output=10))], retries=0)
        with pytest.raises(ModelUnavailable):
            await manager.generate(REQUEST)
    assert (manager.usage.input_tokens, manager.usage.output_tokens) == (11, 7)
    assert manager.usage.cost > 0


async def test_text_that_was_cut_off_is_text() -> None:
    async with fake_service() as fake:
        fake.streams(event(answer("async def", reason="MAX_TOKENS")))
        async with gemini(fake.url) as model:
            reply = await ask(model)
    assert reply.text == "async def"
    assert reply.truncated


async def test_a_tool_call_that_google_can_not_read_may_be_tried_again() -> None:
    async with fake_service() as fake:
        fake.streams(event({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}))
        error = await failure(fake)
    assert "(MALFORMED_FUNCTION_CALL)" in str(error)
    assert error.transient


async def test_a_word_that_the_sdk_does_not_know_is_no_warning_on_the_terminal() -> None:
    """The SDK warns with the service's own text, which stderr would get raw; here it would fail."""
    async with fake_service() as fake:
        fake.streams(event({"candidates": [{"finishReason": "\x1b[31mBRAND_NEW"}]}))
        assert "gemini:" in str(await failure(fake))


async def test_an_error_in_mid_stream_is_the_error_that_it_says() -> None:
    async with fake_service() as fake:
        fake.streams(event(answer("x", reason=None)), event(refusal(503, "UNAVAILABLE", "Busy.")))
        error = await failure(fake)
    assert "is in trouble (HTTP 503): Busy." in str(error)
    assert error.transient


async def test_a_connection_cut_in_mid_stream_may_be_tried_again() -> None:
    async with fake_service() as fake:
        fake.streams(event(answer("x", reason=None)), ending="cut")
        error = await failure(fake)
    assert "broke off its reply" in str(error)
    assert error.transient


async def test_an_event_that_would_take_the_sdk_seconds_is_refused() -> None:
    many: list[Json] = [{} for _ in range(EVENT_VALUES_MAX)]
    for stream in (event({"candidates": many}), b"data: [" + b"{}," * EVENT_VALUES_MAX + b"\n\n"):
        async with fake_service() as fake:
            fake.streams(stream)
            assert f"more than {EVENT_VALUES_MAX} values" in str(await failure(fake))


async def test_an_event_without_end_is_refused() -> None:
    async with fake_service() as fake:
        fake.streams(b"data: " + b"x" * 300_000, ending="hang")
        assert "an event of more than 262,144 bytes" in str(await failure(fake))


async def test_code_with_many_commas_and_braces_is_no_large_event() -> None:
    code = "f({},[])," * EVENT_VALUES_MAX
    async with fake_service() as fake:
        fake.streams(event(answer(code)))
        async with gemini(fake.url) as model:
            assert (await ask(model)).text == code


async def test_a_reply_that_is_compressed_unasked_is_not_blown_up() -> None:
    async with fake_service() as fake:
        fake.answers(200, b"\x1f\x8b\x08" + b"\0" * 50, "Content-Encoding: gzip\r\n")
        assert "can't be read" in str(await failure(fake))
    assert "accept-encoding: identity" in fake.heads[0].lower()
