"""The wire of model backends: what comes over it, in bounds, and what its failures say."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ModelUnavailable
from modules.models.http.client import ServiceClient
from modules.models.http.errors import ServiceErrors
from modules.models.http.reply import EVENT_BYTES_MAX, JSON_BODY_BYTES_MAX, ServiceReply
from tests.modules.models.http.chat_server import (
    ADVICE,
    documents,
    events,
    fault,
    heard,
    model_server,
    posted,
    wire,
)
from tests.modules.models.service import Exchange, Handler, sends


def chunked(*pieces: bytes, end: bool = True, kind: str = "text/event-stream") -> Handler:
    """A stream in pieces, each with a turn of its own."""

    async def play(exchange: Exchange) -> None:
        await exchange.begin(kind)
        for piece in pieces:
            await exchange.write(piece)
        if end:
            await exchange.end()
        else:
            exchange.cut()

    return play


async def test_a_query_in_the_address_stays_and_half_a_surrogate_pair_can_be_sent() -> None:
    async with model_server(sends("{}", "application/json")) as server:
        address = f"{server.url}?version=7"
        async with wire(address, None) as opened, opened.exchange("/x", {"q": "\ud800!"}) as reply:
            assert await reply.json() == {}
        assert [seen.path for seen in server.seen] == ["/v1/x?version=7"]
        assert server.bodies == [{"q": "?!"}]
        assert "authorization" not in server.seen[-1].headers


async def test_events_are_read_up_to_done_and_the_connection_is_kept() -> None:
    stream = b": hi\r\ndata: 1\r\n\r\nevent: x\ndata: 2\ndata: 3\n\ndata\n\ndata: [DONE]\n\ndata: 4"
    async with model_server(chunked(stream)) as server, wire(server.url) as opened:
        for _ in range(2):
            async with opened.exchange("/x", {}) as reply:
                assert await events(reply) == [b"1", b"2\n3"]
                assert reply.is_done
        assert server.connections == 1


async def test_a_last_event_without_its_empty_line_counts_and_half_a_line_does_not() -> None:
    assert await heard(sends("data: 1\n\ndata: 2\n")) == [b"1", b"2"]
    assert await heard(sends('data: 1\n\ndata: {"half"')) == [b"1"]


KINDS = ("application/json", "text/event-stream", "application/x-ndjson", "text/plain", "", "a/b")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1}\n{"b": 2}\n',
        b'\r\n \n{"a": 1}\r\n\n{"b": 2}',
        b'[{"a": 1},\n {"b":\n 2}]',
        b'\xef\xbb\xbfdata: {"a": 1}\n\n: still here\ndata: {"b": 2}\n\ndata: [DONE]\n\n',
    ],
    ids=["lines", "blanks", "list", "events"],
)
async def test_a_reply_is_read_by_what_it_is_whatever_its_type_says(kind: str, body: bytes) -> None:
    async with posted(chunked(*(bytes([byte]) for byte in body), kind=kind)) as reply:
        assert await documents(reply) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_text_that_is_no_reply_is_quoted_whatever_its_type_says(kind: str) -> None:
    for body in (b"upstream is down", b'{"half": ', b"[1]"):
        async with posted(chunked(body, kind=kind)) as reply:
            with pytest.raises(ModelUnavailable, match="can't be read") as caught:
                await documents(reply)
        assert body.decode().strip(" []") in str(caught.value)


async def test_a_stream_that_stalls_is_given_up_after_the_time_for_that() -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.begin("text/event-stream")
        await exchange.write(b'data: {"a": 1}\n\n')
        await exchange.gone.wait()

    async with model_server(play) as server:
        client = ServiceClient(ServiceErrors("model x", server.url, ADVICE, None, 10, 0.1))
        async with client.exchange("/x", {}) as reply, aclosing(reply.documents()) as found:
            await anext(found)
            reply.has_begun = True  # as a reader says when the model has written something
            with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.1 s.*idle_seconds"):
                await anext(found)
        await client.aclose()


def untrusted() -> ssl.SSLCertVerificationError:
    """What OpenSSL raises for a certificate of nobody's."""
    error = ssl.SSLCertVerificationError(1, "geheim")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("cause", "says", "transient"),
    [
        (socket.gaierror(-2, "geheim"), "no address is known for host 'x.example'; start it", True),
        (untrusted(), "of x.example:8443 is refused (self-signed certificate); check", False),
        (OSError("geheim"), "can't be reached at x.example:8443; start it", True),
    ],
)
def test_why_no_connection_came_about_is_read_from_the_causes(
    cause: Exception, says: str, transient: bool
) -> None:
    error = httpx2.ConnectError("geheim")
    error.__cause__ = ExceptionGroup("geheim", [cause])
    faults = ServiceErrors("model x", "https://x.example:8443/v1?geheim", ADVICE, None, 1)
    failed = faults.unconnected(error)
    assert says in str(failed)
    assert "geheim" not in str(failed)
    assert failed.transient is transient


async def test_plain_http_where_tls_is_expected_is_told_as_such() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with wire(f"https://127.0.0.1:{port}/v1") as opened:
            with pytest.raises(ModelUnavailable, match="does not speak TLS") as caught:
                async with opened.exchange("/x", {}):
                    pass
    assert caught.value.transient


@pytest.mark.parametrize("is_alive", [False, True])
async def test_the_rest_of_a_stream_is_waited_for_no_longer_than_said(is_alive: bool) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.begin("text/event-stream")
        await exchange.write(b"data: 1\n\n")
        while is_alive and not exchange.gone.is_set():
            await exchange.write(b": still here\n\n")
            with suppress(TimeoutError):
                await asyncio.wait_for(exchange.gone.wait(), 0.01)
        await exchange.gone.wait()

    async with posted(play) as reply, aclosing(reply.events()) as found, asyncio.timeout(5):
        await anext(found)
        reply.expect_end(0.05)
        reply.expect_end(60)
        with pytest.raises(ModelUnavailable, match="fell silent"):
            await anext(found)


@pytest.mark.parametrize("body", [b"", b"nothing", b"[]", b"\xff\xfe", b'"text"', b"[" * 5000])
async def test_a_body_that_is_no_object_is_no_reply(body: bytes) -> None:
    async with posted(sends(body, "application/json")) as reply:
        with pytest.raises(ModelUnavailable, match="can't be read"):
            await reply.json()


async def test_what_never_ends_is_cut_off_at_a_bound() -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.begin("text/event-stream")
        while not exchange.gone.is_set():
            await exchange.write(b"x" * 60_000)

    assert f"an event of more than {EVENT_BYTES_MAX:,} bytes" in str(await fault(play))
    async with posted(play) as reply:
        with pytest.raises(ModelUnavailable, match=f"more than {JSON_BODY_BYTES_MAX:,} bytes"):
            await reply.json()


@pytest.mark.parametrize("piece", [b"{" + b"x" * 60_000, b'{"a":\n' + b"x\n" * 30_000])
async def test_json_that_never_ends_is_cut_off_at_a_bound(piece: bytes) -> None:
    async def play(exchange: Exchange) -> None:
        await exchange.begin("text/event-stream")
        while not exchange.gone.is_set():
            await exchange.write(piece)

    async with posted(play) as reply:
        with pytest.raises(ModelUnavailable, match=f"{JSON_BODY_BYTES_MAX:,} bytes"):
            await documents(reply)


ENDS = (b"\r\n", b"\n", b"\r", b"\n\n", b"\r\n\r\n")
FIELDS = (b"data: 1", b"data:x", b"data", b": note", b"event: e", b"\xff", "data: é".encode())


async def cut_events(pieces: list[bytes]) -> list[bytes]:
    """The events of a body that comes in these pieces."""

    async def body() -> AsyncGenerator[bytes, None]:
        for piece in pieces:
            yield piece

    errors = ServiceErrors("model x", "http://x", ADVICE, None, 1)
    try:
        return await events(ServiceReply(httpx2.Response(200, content=body()), errors))
    except ModelUnavailable as error:  # there was no line of an event stream
        return [str(error).encode()]


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([*ENDS, *FIELDS]), max_size=30).map(b"".join),
    st.lists(st.integers(0, 9), max_size=60),
)
def test_events_do_not_depend_on_how_the_bytes_are_cut(stream: bytes, cuts: list[int]) -> None:
    pieces, rest = list[bytes](), stream
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert asyncio.run(cut_events([*pieces, rest])) == asyncio.run(cut_events([stream]))


async def test_a_flood_of_events_leaves_the_others_their_turn() -> None:
    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turns = 0
    ticking = asyncio.create_task(tick())
    try:
        # In one piece, with nothing to wait for.
        found = await cut_events([b"data: 1\n\n" * 12_000 + b"\n" * 60_000])
    finally:
        ticking.cancel()
    assert len(found) == 12_000
    assert turns > 1
