"""What a model's service refuses, in the user's words: whose turn it is, and when to try again."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from core.base.http import PAUSE_SECONDS_MAX
from core.values import JsonObject
from tests.modules.models.http.chat_server import posted, refusal
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
