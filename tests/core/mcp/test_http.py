"""The Streamable HTTP transport as the protocol has it, against a real server on loopback."""

import asyncio
import itertools
import json
from pathlib import Path

import pytest

from core.mcp.http_link import open_client
from core.mcp.peer import TransportDown
from tests.core.mcp.http_server import SESSION, Exchange, McpHttpServer, http_server
from tests.core.mcp.http_session import (
    BEARER,
    answer,
    in_session,
    notification,
    opened,
    progress,
    replying,
    request,
    served,
    silent,
    silent_stream,
    slowly,
    spec,
    streaming,
    text_of,
)


async def test_session_and_version_go_with_every_request_once_they_are_known() -> None:
    async with http_server() as server, in_session(server, BEARER) as (session, inbox):
        await session.send(request())
        assert await inbox.get() == answer()
        await server.saw("GET")
    first, *rest = server.seen
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert {seen.headers["mcp-session-id"] for seen in rest} == {SESSION}
    assert {seen.headers["mcp-protocol-version"] for seen in rest} == {"2025-11-25"}
    assert {seen.headers["authorization"] for seen in server.seen} == {BEARER}
    posts = [seen for seen in server.seen if seen.verb == "POST"]
    assert {seen.headers["accept"] for seen in posts} == {"application/json, text/event-stream"}
    assert {seen.headers["content-type"] for seen in posts} == {"application/json"}
    assert server.names[-1] == "DELETE"


async def test_a_server_without_sessions_gets_no_session_id_and_no_farewell() -> None:
    async with http_server(session="") as server:
        async with in_session(server) as (session, inbox):
            await session.send(request())
            assert await inbox.get() == answer()
        assert not any("mcp-session-id" in seen.headers for seen in server.seen)
        assert "DELETE" not in server.names


async def test_nothing_is_sent_before_the_first_message() -> None:
    async with http_server() as server:
        async with opened(server):
            pass
        assert server.connections == 0


async def test_the_end_of_the_handshake_is_taken_before_anything_else_is_sent() -> None:
    released = asyncio.Event()
    end = slowly(released, 202)
    async with served(notifications__initialized=end) as server, opened(server) as (session, _):
        sending = asyncio.create_task(session.send(notification("notifications/initialized")))
        await server.saw("notifications/initialized")
        assert not sending.done()
        released.set()
        await sending


async def test_an_answer_comes_over_a_stream_with_what_is_said_before_it() -> None:
    stream = streaming(progress(1), lines=": hello\nevent: ping\ndata: \n\n")
    async with served(tools__call=stream) as server, in_session(server) as (session, inbox):
        for number in range(1, 20):
            await session.send(request(number=number))
            assert await inbox.get() == progress(1)
            assert await inbox.get() == answer(number)
        assert server.connections <= 3  # the server's own stream, and what calls share


async def test_an_answer_is_not_kept_waiting_by_the_end_of_its_stream() -> None:
    async def never_ending(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event(answer(exchange.id))
        await exchange.text(": still here\n")
        await exchange.gone.wait()

    async with served(tools__call=never_ending) as server, in_session(server) as (session, inbox):
        await session.send(request())
        assert await inbox.get() == answer()


async def test_calls_share_connections_and_slow_ones_hold_up_nobody() -> None:
    released = asyncio.Event()
    async with served(slow=slowly(released)) as server, in_session(server) as (session, inbox):
        await session.send(request("slow", 1))
        for number in range(2, 30):
            await session.send(request(number=number))
            assert await inbox.get() == answer(number)
        released.set()
        assert await inbox.get() == answer(1)
        assert server.connections <= 4


async def test_a_question_of_the_server_is_delivered_and_our_answer_posted() -> None:
    async def asking(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create"})
        replied = await exchange.server.saw("(answer)")
        await exchange.event(answer(exchange.id, str(replied.message["id"])))
        await exchange.end()

    async with served(tools__call=asking) as server, in_session(server) as (session, inbox):
        await session.send(request())
        assert (await inbox.get())["id"] == "q"
        await session.send({"jsonrpc": "2.0", "id": "q", "result": {}})
        assert await inbox.get() == answer(said="q")


async def test_an_old_server_may_answer_in_batches() -> None:
    batch = json.dumps([progress(1), 5, answer()]).encode()
    handler = replying(200, batch, "application/json")
    async with served(tools__call=handler) as server, in_session(server) as (session, inbox):
        await session.send(request())
        assert [await inbox.get(), await inbox.get()] == [progress(1), answer()]


async def test_the_servers_own_stream_is_heard_and_taken_up_again() -> None:
    async def short(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event(progress(1), lines="id: e1\nretry: 1\n")
        await exchange.end()

    async with served(GET=short) as server, in_session(server) as (_, inbox):
        assert await inbox.get() == progress(1)
        assert "last-event-id" not in (await server.saw("GET")).headers
        assert (await server.saw("GET", 2)).headers["last-event-id"] == "e1"
        assert await inbox.get() == progress(1)


@pytest.mark.parametrize("status", [200, 400, 404, 405])
async def test_a_server_without_a_stream_of_its_own_is_asked_for_it_once(status: int) -> None:
    async with served(GET=replying(status)) as server:
        async with in_session(server) as (session, inbox):
            await server.saw("GET")
            await session.send(request())
            assert await inbox.get() == answer()
            assert not session.lost.is_set()
        assert server.names.count("GET") == 1


async def test_the_servers_own_stream_is_given_up_until_the_next_answer_when_it_never_holds() -> (
    None
):
    async def nothing(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.text("retry: 1\n: nothing\n")
        exchange.cut()

    async def unwell(exchange: Exchange) -> None:
        await (nothing if exchange.server.names.count("GET") == 1 else replying(503))(exchange)

    async with served(GET=unwell) as server, in_session(server) as (session, inbox):
        await server.saw("GET", 4)
        del server.on["GET"]
        for number in itertools.count(1):
            await session.send(request(number=number))
            await inbox.get()
            if server.names.count("GET") > 4:
                break


async def test_the_servers_own_stream_is_opened_once() -> None:
    async with http_server() as server, in_session(server) as (session, inbox):
        await server.saw("GET")
        for number in range(5):
            await session.send(request(number=number))
            await inbox.get()
        assert server.names.count("GET") == 1


async def test_a_cancellation_is_posted_and_the_stream_of_its_request_closed() -> None:
    async def waiting(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event(progress(1))
        await exchange.gone.wait()
        closed.set()

    closed = asyncio.Event()
    async with served(tools__call=waiting) as server, in_session(server) as (session, inbox):
        await session.send(request())
        assert await inbox.get() == progress(1)
        await session.send(notification("notifications/cancelled", requestId=1))
        await server.saw("notifications/cancelled")
        await closed.wait()
        await session.send(request("ping", 2))
        assert await inbox.get() == answer(2)  # and nothing for the first


async def test_a_session_that_the_server_forgot_is_lost_and_nothing_follows() -> None:
    async with served(tools__call=silent, ping=replying(404)) as server:
        async with in_session(server) as (session, inbox):
            await session.send(request())
            await server.saw("tools/call")
            assert not session.is_down
            await session.send(request("ping", 2))
            await session.lost.wait()
            assert session.is_down
            assert session.loss == "no longer knows the session (HTTP 404)"
            with pytest.raises(TransportDown, match="no longer knows"):
                await session.send(request())
        refused = inbox.get_nowait()
        assert refused["id"] == 2
        assert text_of(refused) == "no longer knows the session (HTTP 404)"
        assert inbox.empty()
        assert "DELETE" not in server.names


async def test_a_notification_may_be_what_finds_the_session_gone() -> None:
    async with served(note=replying(404)) as server, in_session(server) as (session, _):
        await session.send(notification("note"))
        await session.lost.wait()


@pytest.mark.parametrize("ping", [200, 400, 404, 500])
async def test_a_bad_request_ends_the_session_only_if_a_ping_fails_alike(ping: int) -> None:
    no = replying(400, b"what session?")
    async with (
        served(tools__call=no, ping=replying(ping)) as server,
        in_session(server) as (session, inbox),
    ):
        await session.send(request())
        if ping in (400, 404):
            await session.lost.wait()
            assert session.loss == (
                "does not answer in this session any more: it answered HTTP 400 (Bad Request): "
                "it says 'what session?'"
            )
        else:
            assert "what session?" in text_of(await inbox.get())
            assert not session.lost.is_set()


async def test_a_session_id_that_no_header_can_hold_is_refused() -> None:
    async with http_server(session="a b") as server, opened(server) as (session, inbox):
        await session.send(request("initialize"))
        assert text_of(await inbox.get()) == (
            "gave the session an id that is no visible ASCII (Mcp-Session-Id)"
        )


async def test_closing_ends_every_stream_and_the_session_and_can_be_repeated() -> None:
    async def noted(exchange: Exchange) -> None:
        await silent_stream(exchange)
        closed.append(exchange.seen.name)

    closed: list[str] = []
    async with served(tools__call=noted, GET=noted) as server:
        async with in_session(server) as (session, inbox):
            await session.send(request())
            await server.saw("tools/call")
            await server.saw("GET")
            await session.send(notification("notifications/cancelled", requestId=7))
            await session.aclose()
            await session.aclose()
            assert session.is_down
            with pytest.raises(TransportDown, match="was closed"):
                await session.send(request())
        assert {"DELETE", "notifications/cancelled"} <= set(server.names)
        assert inbox.empty()
    assert sorted(closed) == ["GET", "tools/call"]


async def test_a_server_that_does_not_take_its_farewell_holds_us_up_for_a_second_at_most() -> None:
    async with served(DELETE=silent) as server, in_session(server) as (session, _):
        async with asyncio.timeout(2):
            await session.aclose()
        assert "DELETE" in server.names


async def test_a_session_that_is_being_closed_is_not_lost_as_well() -> None:
    async def late(exchange: Exchange) -> None:
        await exchange.server.saw("DELETE")
        await exchange.reply(404)

    async with served(note=late) as server, in_session(server) as (session, _):
        await session.send(notification("note"))
        await server.saw("note")
        await session.aclose()
        assert not session.lost.is_set()


async def test_rounds_of_sessions_leave_no_file_open() -> None:
    async with http_server() as server:
        counts: list[int] = []
        for _ in range(20):
            async with in_session(server) as (session, inbox):
                await session.send(request())
                await inbox.get()
                await server.saw("GET", len(counts) + 1)
            await all_closed(server)
            counts.append(open_files())
    assert counts[-1] <= counts[1]


async def all_closed(server: McpHttpServer) -> None:
    """Its end of each connection is in this process too."""
    if server.tasks:
        await asyncio.wait(set(server.tasks))


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_client_has_no_read_timeout_because_calls_have_deadlines_of_their_own() -> None:
    client = open_client(spec("http://127.0.0.1:1/mcp"))
    assert client.timeout.read is None
    assert client.timeout.connect == 10
