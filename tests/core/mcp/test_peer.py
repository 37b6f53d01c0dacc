"""The JSON-RPC conversation: requests of both sides, cancellation, progress, and its end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from core.mcp.peer import (
    ERROR_DATA_CHARACTERS_MAX,
    SERVER_REQUESTS_MAX,
    Peer,
    RpcError,
    SessionLost,
)
from core.values import Json, JsonObject
from tests.core.mcp.fake_transport import FakeTransport, Script, settled


class Heard:
    """What a peer is told, and how it answers: `ask` returns its parameters, `hang` never."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, JsonObject]] = []
        self.hanging = 0

    async def on_request(self, method: str, params: JsonObject) -> JsonObject:
        if method == "ask":
            return params
        if method == "break":
            raise OSError("the terminal is gone")
        if method == "hang":
            self.hanging += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.hanging -= 1
        raise RpcError(-32601, f"this client has no {method}")

    def on_notification(self, method: str, params: JsonObject) -> None:
        self.notifications.append((method, params))


@asynccontextmanager
async def open_peer(
    script: Script | None = None,
) -> AsyncGenerator[tuple[Peer, FakeTransport, Heard]]:
    transport, heard = FakeTransport(script), Heard()
    peer = Peer(transport, heard.on_request, heard.on_notification)
    async with asyncio.timeout(5):
        await peer.open()
        try:
            yield peer, transport, heard
        finally:
            await peer.aclose()


async def test_replies_find_their_requests_in_any_order() -> None:
    async with open_peer() as (peer, transport, _):
        calls = [asyncio.create_task(peer.request("m", {"n": n})) for n in range(3)]
        await settled()
        for message in reversed(transport.sent):
            params = message["params"]
            assert isinstance(params, dict)
            transport.say({"jsonrpc": "2.0", "id": message["id"], "result": params})
        assert [await call for call in calls] == [{"n": 0}, {"n": 1}, {"n": 2}]


async def test_an_error_reply_is_raised_with_its_code_and_text() -> None:
    error: JsonObject = {"error": {"code": -32602, "message": "no such tool"}}
    async with open_peer(lambda _: error) as (peer, _, _):
        with pytest.raises(RpcError, match="no such tool") as raised:
            await peer.request("m", {})
        assert raised.value.code == -32602


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"detail": "table is locked"}, 'failed: {"detail": "table is locked"}'),
        ("table is locked", "failed: table is locked"),
        ({"url": "https://a.example/in"}, 'failed: {"url": "https://a.example/in"}'),
        (["a", 1], 'failed: ["a", 1]'),
        (7, "failed: 7"),
        ("failed", "failed"),
        (None, "failed"),
        ({}, "failed"),
        ("x" * 10_000, "failed: " + "x" * ERROR_DATA_CHARACTERS_MAX),
    ],
)
async def test_the_data_of_an_error_is_told_behind_its_message(data: Json, told: str) -> None:
    error: JsonObject = {"error": {"code": -32603, "message": "failed", "data": data}}
    async with open_peer(lambda _: error) as (peer, _, _):
        with pytest.raises(RpcError) as raised:
            await peer.request("m", {})
        assert str(raised.value) == told


@pytest.mark.parametrize("error", [{}, {"code": "x", "message": 5}, {"message": ""}])
async def test_an_error_reply_of_odd_form_is_an_error_all_the_same(error: JsonObject) -> None:
    async with open_peer(lambda _: {"error": error}) as (peer, _, _):
        with pytest.raises(RpcError, match="no message"):
            await peer.request("m", {})


async def test_a_cancelled_request_is_cancelled_at_the_server_and_its_late_reply_ignored() -> None:
    async with open_peer() as (peer, transport, _):
        call = asyncio.create_task(peer.request("m", {}))
        await settled()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await settled()
        number = transport.sent[0]["id"]
        assert transport.sent[1]["method"] == "notifications/cancelled"
        assert transport.sent[1]["params"] == {"requestId": number, "reason": "the caller gave up"}
        transport.say({"jsonrpc": "2.0", "id": number, "result": {}})


async def test_the_handshake_is_never_cancelled_at_the_server() -> None:
    async with open_peer() as (peer, transport, _):
        call = asyncio.create_task(peer.request("initialize", {}, cancellable=False))
        await settled()
        call.cancel()
        await settled()
        assert transport.methods() == ["initialize"]


async def test_what_is_open_fails_when_the_session_is_lost_and_when_it_is_closed() -> None:
    async with open_peer() as (peer, transport, _):
        lost = asyncio.create_task(peer.request("m", {}))
        await settled()
        transport.lose("exited")
        with pytest.raises(SessionLost):
            await lost
    async with open_peer() as (peer, transport, _):
        closed = asyncio.create_task(peer.request("m", {}))
        await settled()
        await peer.aclose()
        with pytest.raises(SessionLost):
            await closed
        with pytest.raises(SessionLost, match="was closed"):
            await peer.request("m", {})


async def test_progress_reaches_the_call_that_it_is_of() -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    def on_progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with open_peer() as (peer, transport, _):
        call = asyncio.create_task(peer.request("m", {}, on_progress))
        other = asyncio.create_task(peer.request("m", {}))
        await settled()
        params = transport.sent[0]["params"]
        assert isinstance(params, dict)
        assert params["_meta"] == {"progressToken": 1}
        assert transport.sent[1]["params"] == {}
        steps: list[tuple[Json, Json]] = [(1, 1), (2, 5), (99, 5), ("1", 5), (1, "much")]
        for token, done in steps:
            progress: JsonObject = {"progressToken": token, "progress": done, "total": 4}
            transport.say(
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            )
        transport.say({"jsonrpc": "2.0", "id": 1, "result": {}})
        await call
        other.cancel()
    assert seen == [(1.0, 4.0, None)]


async def test_a_servers_requests_are_answered_also_those_that_we_do_not_know() -> None:
    async with open_peer() as (_, transport, _):
        transport.say({"jsonrpc": "2.0", "id": "a", "method": "ask", "params": {"x": 1}})
        transport.say({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage"})
        await settled()
        assert transport.sent[0] == {"jsonrpc": "2.0", "id": "a", "result": {"x": 1}}
        error = transport.sent[1]["error"]
        assert isinstance(error, dict)
        assert error["code"] == -32601


async def test_a_servers_request_can_be_withdrawn() -> None:
    async with open_peer() as (_, transport, heard):
        transport.say({"jsonrpc": "2.0", "id": 1, "method": "hang"})
        await settled()
        assert heard.hanging == 1
        withdrawn: JsonObject = {"requestId": 1}
        transport.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": withdrawn})
        await settled()
        assert heard.hanging == 0
        assert transport.sent == []


async def test_a_server_that_asks_without_end_is_refused() -> None:
    async with open_peer() as (_, transport, heard):
        for number in range(SERVER_REQUESTS_MAX + 3):
            transport.say({"jsonrpc": "2.0", "id": number, "method": "hang"})
        await settled()
        assert heard.hanging == SERVER_REQUESTS_MAX
        assert ["error" in message for message in transport.sent] == [True] * 3
    assert heard.hanging == 0


@pytest.mark.parametrize("reply_to", [None, 1.5, "1", 99, [1]])
async def test_a_reply_to_nothing_is_nothing(reply_to: Json) -> None:
    async with open_peer() as (_, transport, heard):
        transport.say({"jsonrpc": "2.0", "id": reply_to, "result": {}})
        assert heard.notifications == []


async def test_parameters_that_json_cannot_carry_leave_nothing_open() -> None:
    class Strict(FakeTransport):
        async def send(self, message: JsonObject) -> None:
            raise ValueError("surrogates")

    peer = Peer(Strict(), Heard().on_request, Heard().on_notification)
    await peer.open()
    with pytest.raises(ValueError, match="surrogates"):
        await peer.request("m", {})
    await peer.notify("said", {})
    await peer.aclose()


async def test_progress_that_no_float_can_hold_is_passed_over() -> None:
    heard: list[tuple[float, float | None]] = []

    def on_progress(done: float, total: float | None, text: str | None) -> None:
        heard.append((done, total))

    async with open_peer() as (peer, transport, _):
        call = asyncio.create_task(peer.request("m", {}, on_progress))
        await settled()
        for done, total in ((10**400, 1), (float("inf"), 1), (1, 10**400), (2, 4)):
            params: JsonObject = {"progressToken": 1, "progress": done, "total": total}
            transport.say({"method": "notifications/progress", "params": params})
        transport.say({"id": 1, "result": {}})
        await call
    assert heard == [(1.0, None), (2.0, 4.0)]


async def test_requests_that_are_withdrawn_at_once_leave_room_for_others() -> None:
    async with open_peer() as (_, transport, heard):
        for number in range(SERVER_REQUESTS_MAX + 1):
            transport.say({"id": number, "method": "hang"})
            params: JsonObject = {"requestId": number}
            transport.say({"method": "notifications/cancelled", "params": params})
        transport.say({"id": "last", "method": "ask", "params": {"a": 1}})
        await settled()
        assert heard.hanging == 0
        assert transport.sent == [{"jsonrpc": "2.0", "id": "last", "result": {"a": 1}}]


async def test_nothing_is_asked_once_the_conversation_is_being_closed() -> None:
    async with open_peer() as (peer, transport, heard):
        transport.say({"id": 1, "method": "hang"})
        await settled()
        closing = asyncio.create_task(peer.aclose())
        await asyncio.sleep(0)
        assert heard.hanging == 1
        assert not transport.is_down
        with pytest.raises(SessionLost):
            await peer.request("m", {})
        await closing
        assert transport.sent == []


async def test_a_bug_of_ours_does_not_leave_the_server_waiting() -> None:
    async with open_peer() as (_, transport, _):
        transport.say({"jsonrpc": "2.0", "id": 1, "method": "break"})
        await settled()
        error = transport.sent[0]["error"]
        assert isinstance(error, dict)
        assert error["message"] == "internal error"
