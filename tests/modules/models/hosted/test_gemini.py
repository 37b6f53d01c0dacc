"""The Gemini backend against a server on loopback that speaks streamGenerateContent's events."""

import pytest

from config.models_file import Price
from core.errors import ModelUnavailable
from core.turn import Usage
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.models.serving.watched import ChosenModel
from tests.modules.models.backends import GEMINI, REQUEST, ask
from tests.modules.models.hosted.gemini_events import (
    answer,
    event,
    part,
    quota,
    refusal,
    retry_in,
)

gemini, service, failure = GEMINI.open, GEMINI.service, GEMINI.failure


async def test_a_prompt_is_answered_with_text_and_tokens() -> None:
    async with service() as fake, gemini(fake.url) as model:
        fake.streams(event(answer("async def ", reason=None)), event(answer("solve(): ...")))
        reply = await ask(model)
    assert reply.text == "async def solve(): ..."
    assert reply.usage == Usage(model_calls=1, input_tokens=11, output_tokens=7)
    path = "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
    assert fake.heads[0].startswith(f"POST {path} ")
    assert fake.bodies[0]["contents"] == [{"role": "user", "parts": [{"text": REQUEST.prompt}]}]


async def test_a_reply_without_token_counts_is_a_reply_and_they_are_estimated() -> None:
    async with service() as fake:
        fake.streams(event(answer("x", usageMetadata=None)))
        async with gemini(fake.url) as model:
            assert (await ask(model)).usage.estimated_calls == 1


async def test_a_key_that_is_not_valid_is_told_as_such_though_the_status_says_another() -> None:
    async with service() as fake:
        said = refusal(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID")
        fake.answers(400, said)
        assert "refused the key in TEST_API_KEY: API key not valid;" in str(await failure(fake))


@pytest.mark.parametrize(
    ("details", "headers", "pause_seconds"),
    [
        ((retry_in("46s"),), "", 46.0),
        ((quota("GenerateRequestsPerMinutePerProjectPerModel"), retry_in("3.5s")), "", 3.5),
        ((quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),), "", None),
        ((retry_in("37025.723541104s"),), "", None),
        ((retry_in("soon"),), "Retry-After: 7\r\n", 7.0),
    ],
)
async def test_a_rate_limit_passes_and_a_spent_day_does_not(
    details: tuple[JsonObject, ...], headers: str, pause_seconds: float | None
) -> None:
    async with service() as fake:
        fake.answers(429, refusal(429, "RESOURCE_EXHAUSTED", "Used up.", "X", *details), headers)
        error = await failure(fake)
    assert "Used up; " in str(error)
    assert error.transient is (pause_seconds is not None)
    assert error.retry_after_seconds == pause_seconds


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "refused the prompt (SAFETY)"),
        ({"candidates": []}, "broke off"),
        ({}, "broke off"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "(MAX_TOKENS); give it more room"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "(SAFETY)"),
        (part({"text": "hm", "thought": True}, reason="MAX_TOKENS"), "(MAX_TOKENS)"),
        (answer("a beginning", reason="RECITATION"), "stopped in its reply (RECITATION)"),
        (answer(""), "(STOP)"),
        (answer("a beginning", reason=None), "broke off"),
    ],
)
async def test_a_reply_that_is_none_says_why(document: JsonObject, words: str) -> None:
    async with service() as fake:
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
    async with service() as fake, gemini(fake.url) as model:
        fake.streams(*map(event, documents))
        manager = ModelManager([ChosenModel(model, Price(input=1, output=10))], retries=0)
        with pytest.raises(ModelUnavailable):
            await manager.generate(REQUEST)
    assert (manager.usage.input_tokens, manager.usage.output_tokens) == (11, 7)
    assert manager.usage.cost > 0


async def test_a_tool_call_that_google_can_not_read_may_be_tried_again() -> None:
    async with service() as fake:
        fake.streams(event({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}))
        error = await failure(fake)
    assert "(MALFORMED_FUNCTION_CALL)" in str(error)
    assert error.transient


async def test_a_word_that_nobody_knows_is_quoted_in_plain_characters() -> None:
    async with service() as fake:
        fake.streams(event({"candidates": [{"finishReason": "\x1b[31mBRAND_NEW"}]}))
        error = await failure(fake)
    assert "[31mBRAND_NEW" in str(error)
    assert str(error).isprintable()


async def test_values_of_another_kind_are_passed_over() -> None:
    odd: list[JsonObject] = [
        {"promptFeedback": 5, "usageMetadata": [], "candidates": {}},
        {"promptFeedback": {"blockReason": 5}, "usageMetadata": {"promptTokenCount": -1}},
        {"candidates": [5]},
        {"candidates": [{"finishReason": 5, "content": []}]},
        {"candidates": [{"content": {"parts": {}}}]},
        part(5, {"text": 5}, {"functionCall": {"name": 5}}, reason=None, usageMetadata=None),
    ]
    async with service() as fake, gemini(fake.url) as model:
        fake.streams(*map(event, odd), event(answer("x")))
        reply = await ask(model)
    assert reply.text == "x"
    assert reply.usage.input_tokens == 11


async def test_code_with_many_commas_and_braces_is_no_large_event() -> None:
    code = "f({},[])," * 500
    async with service() as fake:
        fake.streams(event(answer(code)))
        async with gemini(fake.url) as model:
            assert (await ask(model)).text == code
