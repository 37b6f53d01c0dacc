"""HTTP servers that refuse, redirect or babble: what is said of each."""

import pytest

from core.base.json_text import MESSAGE_PARTS_MAX
from core.mcp.peer import NOT_SENT, TRANSPORT_ERROR
from tests.core.mcp.http_server import Exchange, Handler, http_server
from tests.core.mcp.http_session import (
    BEARER,
    WHERE,
    answer,
    fault,
    opened,
    replying,
    request,
    served,
)


@pytest.mark.parametrize(
    ("handler", "token", "text"),
    [
        (replying(401), "", f"answered HTTP 401 (Unauthorized): set a token in 'headers' {WHERE}"),
        (
            replying(401, b'{"error": "s3cret-token is wrong"}'),
            BEARER,
            "answered HTTP 401 (Unauthorized): it does not accept the token in 'headers' "
            f"{WHERE}; it says '[redacted SECRET] is wrong'",
        ),
        (
            replying(403),
            BEARER,
            f"answered HTTP 403 (Forbidden): what 'headers' {WHERE} say does not permit this",
        ),
        (
            replying(404),
            "",
            "answered HTTP 404 (Not Found): there is no MCP endpoint at this address, check "
            f"'url' {WHERE}",
        ),
        (
            replying(405),
            "",
            "answered HTTP 405 (Method Not Allowed): nothing takes MCP messages at this address, "
            f"check 'url' {WHERE}",
        ),
        (
            replying(500, b"<!DOCTYPE html><html>oh no", "text/html"),
            "",
            "answered HTTP 500 (Internal Server Error): it says (an HTML page)",
        ),
        (
            replying(500, b"\x1b[31mred\r\n\xe2\x80\xaeline " + b"x" * 100_000),
            "",
            "answered HTTP 500 (Internal Server Error): it says '�[31mred �line "
            + "x" * 184
            + "…'",
        ),
        (
            replying(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"odd"}}'),
            "",
            "answered HTTP 400 (Bad Request): it says 'odd'",
        ),
        (
            replying(429, retry_after="600"),
            "",
            "answered HTTP 429 (Too Many Requests): it asks to be left alone for 600 s",
        ),
        (replying(599), "", "answered HTTP 599"),
        (
            replying(502, b'{"detail": "no upstream"}'),
            "",
            "answered HTTP 502 (Bad Gateway): it says 'no upstream'",
        ),
        (
            replying(200, b"<html>", "text/html; charset=utf-8"),
            "",
            "answered with text/html where JSON or an event stream belongs: (an HTML page); "
            f"check 'url' {WHERE}",
        ),
        (replying(202), "", "took note of a request and left it without an answer"),
        (
            replying(200, b'{"a": 1}', "application/json"),
            "",
            "answered with what is no answer to the request: '{\"a\": 1}'",
        ),
        (
            replying(200, b"oops", "application/json"),
            "",
            "answered with what is no answer to the request: 'oops'",
        ),
        (
            replying(200, b"", "application/json"),
            "",
            "answered with what is no answer to the request: nothing",
        ),
        (
            replying(200, b"x", "application/json", content_encoding="gzip"),
            "",
            "compressed its answer (gzip), though asked not to",
        ),
        (
            replying(200, b"[" * (MESSAGE_PARTS_MAX + 1), "application/json"),
            "",
            "sent a message that holds more than 200,000 values and keys",
        ),
    ],
)
async def test_a_refusal_says_what_happened_and_what_to_do(
    handler: Handler, token: str, text: str
) -> None:
    async with served(tools__call=handler) as server, opened(server, token) as (session, inbox):
        assert await fault(session, inbox) == text
        assert not session.lost.is_set()
        await session.send(request("ping", 2))
        assert await inbox.get() == answer(2)


@pytest.mark.parametrize(
    "date", ["0", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37"]
)
async def test_a_server_that_asks_for_a_short_pause_is_asked_again_once(date: str) -> None:
    async def busy(exchange: Exchange) -> None:
        calls = exchange.server.names.count("tools/call")
        await (replying(503, retry_after=date) if calls != 2 else fine)(exchange)

    async def fine(exchange: Exchange) -> None:
        await exchange.json(answer(exchange.id))

    async with served(tools__call=busy) as server, opened(server) as (session, inbox):
        await session.send(request())
        assert await inbox.get() == answer()
        assert await fault(session, inbox) == (
            "answered HTTP 503 (Service Unavailable): it asks to be left alone for 0 s"
        )
        assert server.names.count("tools/call") == 4


async def test_a_key_in_the_address_is_not_quoted() -> None:
    handler = replying(400, b"s3cret-key is no key")
    async with (
        served(tools__call=handler) as server,
        opened(f"{server.url}?key=s3cret-key") as (session, inbox),
    ):
        text = await fault(session, inbox)
    assert text == "answered HTTP 400 (Bad Request): it says '[redacted SECRET] is no key'"


async def test_a_pause_that_is_no_date_is_none() -> None:
    handler = replying(503, retry_after="soon")
    async with served(tools__call=handler) as server, opened(server) as (session, inbox):
        assert await fault(session, inbox) == "answered HTTP 503 (Service Unavailable)"


async def test_an_error_that_the_server_gave_the_request_itself_is_passed_on() -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.json(own, 400)

    own = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "bad arguments"}}
    async with served(tools__call=refuse) as server, opened(server) as (session, inbox):
        await session.send(request())
        assert await inbox.get() == own


async def test_a_redirect_is_followed_within_the_origin_only() -> None:
    async with http_server() as other, http_server() as server:

        async def move(exchange: Exchange) -> None:
            target = {"/mcp": "/there", "/there": f"{other.url}/x?token=1"}[exchange.seen.path]
            await exchange.reply(307, headers={"location": target})

        server.on["tools/call"] = move
        async with opened(server, BEARER) as (session, inbox):
            assert await fault(session, inbox) == (
                f"answered HTTP 307 (Temporary Redirect): it points to {other.url}/x, and headers "
                "don't follow to another place; if that is the server you mean, set it as 'url' "
                f"{WHERE}"
            )
        assert [seen.path for seen in server.seen] == ["/mcp", "/there"]
        assert {seen.headers["authorization"] for seen in server.seen} == {BEARER}
        assert {len(seen.message) for seen in server.seen} == {4}
        assert other.seen == []


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_within_the_origin_that_drops_the_message_is_told_as_such(
    status: int,
) -> None:
    handler = replying(status, location="/mcp/")
    async with served(tools__call=handler) as server, opened(server) as (session, inbox):
        text = await fault(session, inbox)
        assert f"it points to {server.url}/, and a message can't follow" in text
        assert text.endswith(f"if that is the server you mean, set it as 'url' {WHERE}")
        assert "another place" not in text


@pytest.mark.parametrize(
    ("status", "target", "requests"),
    [(307, "/mcp", 4), (302, "/mcp", 1), (308, "", 1), (308, "http://x:y/", 1)],
)
async def test_redirects_that_lead_nowhere_are_told(
    status: int, target: str, requests: int
) -> None:
    handler = replying(status, location=target)
    async with served(tools__call=handler) as server, opened(server) as (session, inbox):
        text = await fault(session, inbox)
        assert f"answered HTTP {status}" in text
        assert ("redirects over and over" in text) == (requests > 1)
        assert len(server.seen) == requests


@pytest.mark.parametrize(
    "when",
    ["Thu, 01 Jan 2026 00:00:00 +99999999999999999999", "1 Jan 99999999999999999999 00:00:00"],
)
async def test_a_pause_until_no_date_at_all_is_not_kept(when: str) -> None:
    handler = replying(503, retry_after=when)
    async with served(tools__call=handler) as server, opened(server) as (session, inbox):
        assert await fault(session, inbox) == "answered HTTP 503 (Service Unavailable)"
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, NOT_SENT),
        (404, NOT_SENT),
        (429, NOT_SENT),
        (400, TRANSPORT_ERROR),
        (500, TRANSPORT_ERROR),
    ],
)
async def test_a_refusal_before_anything_was_done_is_told_from_one_after(
    status: int, code: int
) -> None:
    async with served(tools__call=replying(status)) as server, opened(server) as (session, inbox):
        await session.send(request())
        error = (await inbox.get())["error"]
        assert isinstance(error, dict)
        assert error["code"] == code
