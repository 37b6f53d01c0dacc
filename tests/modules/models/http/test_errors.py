"""What a model's service refuses, in the user's words: whose turn it is, and when to try again."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from core.base.http import PAUSE_SECONDS_MAX
from core.errors import NEW_SESSION
from core.values import JsonObject
from modules.models.http.errors import ServiceError
from tests.modules.models.http.chat_server import documents, posted, refusal
from tests.modules.models.service import Exchange, refuses, sends


async def test_a_service_that_wants_a_key_where_we_have_none_says_so() -> None:
    assert "wants a key (HTTP 401): No; set SOME_KEY" in str(await refusal(refuses(401), None))


@pytest.mark.parametrize("field", ["code", "type"])
async def test_a_quota_that_is_used_up_does_not_come_back_by_waiting(field: str) -> None:
    play = refuses(429, headers={"retry-after": "3"}, **{field: "insufficient_quota"})
    refused = await refusal(play)
    assert not refused.transient
    assert refused.retry_after_seconds is None
    assert "check the account's plan and billing" in str(refused)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "20", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "9" * 18}, PAUSE_SECONDS_MAX),
        ({"retry-after": "9" * 400}, PAUSE_SECONDS_MAX),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, PAUSE_SECONDS_MAX),
        ({}, None),
    ],
    ids=str,
)
async def test_the_pause_that_a_service_asks_for_is_known_in_bounds(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert (await refusal(refuses(503, headers=headers))).retry_after_seconds == seconds


async def test_a_pause_may_be_given_as_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    pause = (await refusal(refuses(429, headers={"retry-after": when}))).retry_after_seconds
    assert pause is not None
    assert 20 < pause <= 30


async def test_a_refusal_without_an_error_document_is_quoted_as_it_stands() -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.reply(body, 502, "text/html")

    body = b"upstream down"
    assert "(HTTP 502): upstream down; try again" in str(await refusal(play))
    body = b"<html><b>502</b></html>"
    assert "(HTTP 502); try again" in str(await refusal(play))


@pytest.mark.parametrize(
    ("document", "transient", "says"),
    [
        ({"error": {"message": "Overloaded", "code": 503}}, True, "HTTP 503"),
        ({"error": {"message": "m", "code": 400}}, False, "HTTP 400"),
        ({"error": {"message": "m", "type": "server_error"}}, True, "HTTP 500"),
        ({"error": {"message": "m", "type": "invalid_request_error"}}, False, "HTTP 400"),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, False, "no credit or quota"),
        ({"error": "llama runner died"}, True, "llama runner died; try again"),
        ({"error": 5}, True, "failed while it wrote its reply; try again"),
        ({"error": {"code": "sk-geheim-1234567890"}}, True, "failed while"),
    ],
    ids=range(8),
)
async def test_an_error_within_a_reply_is_judged_by_what_it_says_of_itself(
    document: JsonObject, transient: bool, says: str
) -> None:
    async with posted(sends(json.dumps(document), "application/json")) as reply:
        failure = reply.errors.reported(await reply.json())
    assert failure is not None
    assert failure.transient is transient
    assert says in str(failure)
    assert reply.errors.reported({"error": None}) is None


TOO_LONG = "the prompt has more tokens than the context"
EMPTY = "the account is empty"


@pytest.mark.parametrize(
    ("body", "says", "transient"),
    [
        (
            b'event: error\ndata: {"message": "%b", "type": "invalid_request_error"}\n\n',
            TOO_LONG,
            False,
        ),
        (b"event: error\ndata: %b\n\n", TOO_LONG, False),
        (b'event: error\ndata: {"code": 5, "text": "odd"}\n\n', '"text": "odd"', True),
        (b'error: {"code": 400, "message": "%b"}\n\n', TOO_LONG, False),
        (b'data: {"object": "error", "message": "%b", "code": 40303}\n\n', TOO_LONG, False),
        (b'data: {"detail": "%b"}\n\n', TOO_LONG, False),
        (b'{"detail": {"error": "%b"}}', TOO_LONG, False),
        (b'data: {"code": 1113, "msg": "%b", "success": false}\n\n', EMPTY, False),
        (
            b'data: {"code": 1113, "msg": "no such luck"}\n\n',
            "answered with an error: no such",
            False,
        ),
        (
            b'data: {"choices": null, "base_resp": {"status_code": 1008, "status_msg": "%b"}}\n\n'
            b"data: [DONE]\n\n",
            EMPTY,
            False,
        ),
        (b'{"error": "insufficient balance"}', "no credit or quota left: insufficient", False),
        (
            b'{"errors": [{"code": 7000, "message": "no route"}], "success": false}',
            "no route",
            False,
        ),
        (b'{"error_code": 110, "error_msg": "Access token invalid"}', "refused the key", False),
        (b'{"message": "Too many requests"}', "asked too often", True),
        (b'{"error": "the model is overloaded"}', "is in trouble", True),
    ],
    ids=range(15),
)
async def test_what_a_service_says_in_place_of_a_reply_is_told_in_whatever_form_it_comes(
    body: bytes, says: str, transient: bool
) -> None:
    if b"%b" in body:
        body %= says.encode()
    for kind in ("text/event-stream", "application/json"):
        async with posted(sends(body, kind)) as reply:
            with pytest.raises(ServiceError) as caught:
                await documents(reply)
        assert says in str(caught.value)
        assert str(caught.value).count(says) == 1
        assert caught.value.transient is transient
        assert (NEW_SESSION in str(caught.value)) is (says == TOO_LONG)
        assert ("plan and billing" in str(caught.value)) is ("credit" in str(caught.value))


@pytest.mark.parametrize(
    ("status", "message", "tokens"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000",
            8192,
        ),
        (400, "Your input exceeds the context window of this model.", None),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            190_000,
        ),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens (1048576).",
            1_048_576,
        ),
        (400, "the input length exceeds the context length", None),
        (
            400,
            "the request exceeds the available context size. try increasing the context size",
            None,
        ),
        (
            400,
            "The decoder prompt (length 9000) is longer than the maximum model length of 4096.",
            4096,
        ),
        (
            422,
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
            None,
        ),
        (400, "Please reduce the length of the messages or completion.", None),
        (
            400,
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            None,
        ),
        (
            400,
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            131_072,
        ),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081", None),
        (400, "Input is too long for requested model.", None),
        (400, "Invalid request: Your request exceeded model token limit: 8192", 8192),
        (400, "Range of input length should be [1, 6000]", None),
        (500, "Requested tokens (2048) exceed context window of 512", 512),
        (413, "Request too large for model", None),
    ],
    ids=range(18),
)
async def test_a_prompt_that_is_too_long_is_known_by_the_words_of_all_vendors(
    status: int, message: str, tokens: int | None
) -> None:
    refused = await refusal(refuses(status, {"error": {"message": message}}))
    assert refused.is_too_long
    assert not refused.transient
    assert NEW_SESSION in str(refused)
    if tokens is not None:
        assert refused.limit_tokens == tokens


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        ),
        (429, "Rate limit reached: the limit of tokens per minute is exceeded"),
        (400, "Invalid value for temperature"),
    ],
)
async def test_no_other_refusal_is_taken_for_a_prompt_that_is_too_long(
    status: int, message: str
) -> None:
    assert not (await refusal(refuses(status, {"error": {"message": message}}))).is_too_long


@pytest.mark.parametrize("status", [429, 503])
async def test_a_pause_of_a_day_is_told_as_what_it_is(status: int) -> None:
    text = str(await refusal(refuses(status, headers={"retry-after": "86400"})))
    assert "it asks to be left alone for 24 h, which is not waited for: try later" in text
    assert "minute" not in text
    assert "a moment" not in text


async def test_an_empty_account_under_any_status_is_told_as_such_unless_a_pause_is_named() -> None:
    said: JsonObject = {"error": {"message": "Your quota is exhausted: insufficient balance"}}
    for status in (400, 403, 429):
        refused = await refusal(refuses(status, said))
        assert "plan and billing" in str(refused)
        assert not refused.transient
    waits = await refusal(refuses(429, said, {"retry-after": "5"}))
    assert (waits.transient, waits.retry_after_seconds) == (True, 5)


async def test_a_key_that_is_refused_as_a_bad_request_is_told_as_a_key() -> None:
    refused = await refusal(refuses(400, {"error": {"message": "Incorrect API key provided"}}))
    assert "refused the key in TEST_API_KEY: Incorrect API key provided; put a valid one" in str(
        refused
    )
