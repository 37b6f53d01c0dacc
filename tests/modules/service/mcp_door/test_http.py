"""The door over Streamable HTTP, in both eras: asked, told, kept apart by users, cancelled."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult
from starlette.types import Message

from modules.service.mcp_door.http import BODY_BYTES_MAX, McpHttp
from modules.service.mcp_door.work import Caller
from modules.service.pool import user_named
from modules.service.served.runs import Draining
from tests.modules.service.mcp_door.opening import (
    ADDS,
    ASKS,
    WAIT_SECONDS,
    Era,
    both_eras,
    open_door,
    says,
    serving,
    structured,
    text_of,
)

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@both_eras
async def test_it_is_asked_over_http_with_progress_and_questions(tmp_path: Path, era: Era) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "blue"})

    async with (
        open_door(tmp_path, [ASKS, ADDS]) as door,
        serving(door) as url,
        Client(f"{url}/0/mcp", mode=era, elicitation_callback=answer) as client,
    ):
        result = await client.call_tool("ask", {"request": "paint it"}, progress_callback=hear)
    assert text_of(result) == "12"
    assert structured(result)["status"] == "done"
    assert any("math.add" in text for text in told)


@both_eras
async def test_a_call_that_its_client_gives_up_ends(tmp_path: Path, era: Era) -> None:
    replies = [{"text": says("never"), "after": 600}, says("at last")]
    asked = {"request": "paint it", "session_id": "paint"}
    begun = asyncio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        if message and not message.startswith("begins"):
            begun.set()

    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, replies) as door,
        serving(door) as url,
        Client(f"{url}/0/mcp", mode=era) as client,
    ):
        calling = asyncio.create_task(client.call_tool("ask", asked, progress_callback=hear))
        await begun.wait()
        calling.cancel()
        await asyncio.wait({calling})
        while text_of(again := await client.call_tool("ask", asked)) != "at last":
            assert "answers another request" in text_of(again)


@both_eras
async def test_users_have_sessions_of_their_own(tmp_path: Path, era: Era) -> None:
    ann, bob = Caller(user_named("ann")), Caller(user_named("bob"))
    replies = [says("a secret of Ann's")]
    async with open_door(tmp_path, replies) as door, serving(door, ann, bob) as url:
        async with Client(f"{url}/0/mcp", mode=era) as client:
            await client.call_tool("ask", {"request": "tell", "session_id": "mine"})
            own = await client.call_tool("list_sessions", {})
        async with Client(f"{url}/1/mcp", mode=era) as client:
            others = await client.call_tool("list_sessions", {})
            read = await client.call_tool("read_session", {"session_id": "mine"})
    assert "mine" in text_of(own)
    assert structured(others) == {"sessions": []}
    assert read.is_error
    assert (tmp_path / "users" / "ann" / "memory").is_dir()


async def test_one_users_connection_is_none_for_another(tmp_path: Path) -> None:
    ann, bob = Caller(user_named("ann")), Caller(user_named("bob"))
    async with (
        open_door(tmp_path) as door,
        serving(door, ann, bob) as url,
        httpx2.AsyncClient(headers=HEADERS) as http,
    ):
        opened = await http.post(f"{url}/0/mcp", json=INITIALIZE)
        named = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        own = await http.post(f"{url}/0/mcp", json=ping, headers=named)
        other = await http.post(f"{url}/1/mcp", json=ping, headers=named)
    assert own.status_code == 200
    assert other.status_code == 404


async def test_a_request_that_comes_too_late_is_told_that_the_service_ends(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("nothing is to be received")

    async def send(message: Message) -> None:
        sent.append(message)

    async with open_door(tmp_path) as door:
        http = McpHttp(door, lambda _: Caller())
        async with http.running():
            pass
        with pytest.raises(Draining):
            await http({"type": "http", "method": "POST"}, receive, send)
    assert sent == []


async def test_a_trace_in_the_headers_is_taken_over_too(tmp_path: Path) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    call = {"name": "ask", "arguments": {"request": "add 5 and 7"}}
    async with (
        open_door(tmp_path, [ADDS]) as door,
        serving(door) as url,
        httpx2.AsyncClient(headers=HEADERS, timeout=WAIT_SECONDS) as http,
    ):
        opened = await http.post(f"{url}/0/mcp", json=INITIALIZE)
        named = {
            "mcp-session-id": opened.headers["mcp-session-id"],
            "traceparent": f"00-{trace}-b7ad6b7169203331-01",
        }
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        answered = await http.post(f"{url}/0/mcp", json=asked, headers=named)
    *_, last = [line for line in answered.text.splitlines() if line.startswith("data: {")]
    result = json.loads(last.removeprefix("data: "))["result"]
    assert result["structuredContent"]["answer"] == "12"
    assert result["structuredContent"]["trace_id"] == trace


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no json", 400),
        (b"[" * 100_000, 400),
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode(), 400),
        (b"x" * (BODY_BYTES_MAX + 1), 413),
    ],
)
async def test_what_is_no_request_is_refused(tmp_path: Path, body: bytes, status: int) -> None:
    async with (
        open_door(tmp_path) as door,
        serving(door) as url,
        httpx2.AsyncClient(headers=HEADERS) as http,
    ):
        refused = await http.post(f"{url}/0/mcp", content=body)
    assert refused.status_code == status
