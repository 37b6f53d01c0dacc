"""The faults of servers at a URL, through the dispatcher (`tests.core.dispatch.fault_checks`)."""

import asyncio
import socket
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.connections import ServerConnection
from core.dispatch.instance import ConnectionSettings
from core.errors import ServerError, ServerLost
from core.mcp.hooks import SessionHooks
from core.values import JsonObject
from tests.core.dispatch.fault_checks import assert_tells, unharmed
from tests.core.dispatch.fixture_servers import QUICK, ROOT, ask
from tests.core.mcp.http_server import Exchange, Handler, McpHttpServer, http_server
from tests.core.mcp.http_session import replying

HINTS: JsonObject = {"readOnlyHint": True}


def remote(url: str) -> ServerSpec:
    return ServerSpec("remote", (), ROOT, url=f"{url}?token=hunter2")


async def shake_hands(exchange: Exchange) -> None:
    result: JsonObject = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fixture", "version": "1"},
    }
    headers = {"mcp-session-id": exchange.server.session}
    await exchange.json({"jsonrpc": "2.0", "id": exchange.id, "result": result}, headers=headers)


async def list_tools(exchange: Exchange) -> None:
    tools: list[JsonObject] = [
        {"name": "read", "inputSchema": {"type": "object"}, "annotations": HINTS},
        {"name": "write", "inputSchema": {"type": "object"}},
    ]
    await exchange.json({"jsonrpc": "2.0", "id": exchange.id, "result": {"tools": tools}})


async def answer(exchange: Exchange) -> None:
    result: JsonObject = {"content": [{"type": "text", "text": "fine"}]}
    await exchange.json({"jsonrpc": "2.0", "id": exchange.id, "result": result})


def able(server: McpHttpServer) -> None:
    server.on["initialize"] = shake_hands
    server.on["tools/list"] = list_tools
    server.on["tools/call"] = answer


async def cut(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.text("data: {")
    exchange.cut()


def where(url: str) -> str:
    return f"address: {url}"


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_a_refused_handshake_is_told_with_the_address(status: int, tmp_path: Path) -> None:
    async with http_server() as server:
        server.on["initialize"] = replying(status)
        async with unharmed(remote(server.url), tmp_path) as multi:
            error = multi.failures["remote"]
            assert_tells(error, "remote", where(server.url), "did not start", str(status))
            assert "hunter2" not in str(error)


async def test_a_refused_connection_is_told_with_the_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    async with unharmed(remote(url), tmp_path) as multi:
        assert_tells(multi.failures["remote"], "remote", where(url), "did not start")


@pytest.mark.parametrize(
    ("fault", "effect"),
    [
        (replying(401), "'write' took no effect"),
        (replying(500), "effect is unknown"),
        (cut, "effect is unknown"),
    ],
    ids=["401", "500", "stream cut"],
)
async def test_a_call_that_is_not_answered_is_told_and_the_next_one_works(
    fault: Handler, effect: str, tmp_path: Path
) -> None:
    async with http_server() as server:
        able(server)
        async with unharmed(remote(server.url), tmp_path) as multi:
            assert await ask(multi, "remote.write") == "fine"
            server.on["tools/call"] = fault
            with pytest.raises(ServerError) as caught:
                await ask(multi, "remote.write")
            assert_tells(caught.value, "remote", where(server.url), "'write'", effect)
            assert server.names.count("tools/call") == 2
            server.on["tools/call"] = answer
            assert await ask(multi, "remote.write") == "fine"


async def test_a_session_that_the_server_forgot_is_begun_anew_for_any_call(tmp_path: Path) -> None:
    async def forget(exchange: Exchange) -> None:
        exchange.server.on["tools/call"] = answer
        await exchange.reply(404)

    async with http_server() as server:
        able(server)
        async with unharmed(remote(server.url), tmp_path) as multi:
            assert await ask(multi, "remote.write") == "fine"
            server.on["tools/call"] = forget
            async with asyncio.timeout(5):
                assert await ask(multi, "remote.write") == "fine"
            assert server.names.count("initialize") == 2


async def test_a_server_that_forgets_every_session_is_told_after_a_second_try(
    tmp_path: Path,
) -> None:
    async with http_server() as server:
        able(server)
        async with unharmed(remote(server.url), tmp_path) as multi:
            server.on["tools/call"] = replying(404)
            with pytest.raises(ServerLost, match=r"no longer knows the session .HTTP 404."):
                await ask(multi, "remote.write")
            assert server.names.count("tools/call") == 2


async def test_what_can_do_no_harm_is_asked_again_after_a_cut(tmp_path: Path) -> None:
    async def cut_once(exchange: Exchange) -> None:
        exchange.server.on["tools/call"] = answer
        await cut(exchange)

    settings = ConnectionSettings(tmp_path, QUICK, SessionHooks())
    async with http_server() as server, asyncio.timeout(20):
        able(server)
        connection = ServerConnection(remote(server.url), settings)
        read, write = await connection.start()
        server.on["tools/call"] = cut_once
        assert (await connection.call(read, {})).text == "fine"
        server.on["tools/call"] = cut_once
        with pytest.raises(ServerLost, match="gave no result of 'write': it broke off"):
            await connection.call(write, {})
        server.on["tools/call"] = cut
        with pytest.raises(ServerLost, match="repeated once"):
            await connection.call(read, {})
        await connection.aclose()
