"""Two users of one `agent.py serve` at the same time, at every door: neither meets the other.

Both do the same, and stand in the middle of it; then each tries every id that the other has.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import httpx2
import openai
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult, InputRequiredResult
from typing_extensions import override

from core.values import JsonObject
from tests.command_line import ROOT, plan, script, write_profile
from tests.modules.service.mcp_door.opening import ASKS, says, structured, text_of
from tests.modules.service.mcp_door.test_http import HEADERS, INITIALIZE
from tests.processes.conftest import GATED
from tests.processes.test_serve import ALICE, BOB, SECRETS, Serve, serve

__all__ = ["serve"]

WAIT_SECONDS = 50.0
REPLIES = [
    plan("await tools.remember(text=fact)\nreturn 'CLARIFICATION_NEEDED: which one?'"),
    plan("return f\"FINAL_ANSWER: {await tools.hold(name='door')}\""),
    ASKS,
    says("blue it is"),
    plan("return f'FINAL_ANSWER: {await tools.recall()}'"),
]
"""What a user asks in this order: a chat, a completion, a call; the last two end call and chat."""

BLUE = ElicitResult(action="accept", content={"answer": "blue"})
PAINT: JsonObject = {"request": "paint it", "session_id": "paint"}


class _Tapped(httpx2.AsyncByteStream):
    """Hands on what comes, and keeps it."""

    def __init__(self, stream: httpx2.AsyncByteStream, heard: bytearray) -> None:
        self._stream = stream
        self._heard = heard

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._heard += part
            yield part

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


class _Tap(httpx2.AsyncHTTPTransport):
    """Keeps the body of every answer."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = bytearray()

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Tapped(response.stream, self.heard)
        return response


class Visitor:
    """A user at every door, who stands in the middle of something at each."""

    def __init__(self, url: str, token: str, secret: str) -> None:
        self.secret = secret
        self.tap = _Tap()
        bearer = {"Authorization": f"Bearer {token}"}
        self.http = httpx2.AsyncClient(
            base_url=url, headers=bearer, transport=self.tap, timeout=WAIT_SECONDS
        )
        self._url = url
        self._token = token
        self._stack = AsyncExitStack()
        self.run = self.question = self.session = self.state = self.asked = ""
        self.runs: set[str] = set()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.http)
        over = streamable_http_client(f"{self._url}/mcp", http_client=self.http)
        client = Client(over, mode="2026-07-28", elicitation_callback=_answer)
        self.mcp = await self._stack.enter_async_context(client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def begin(self) -> None:
        """Come to stand at a question of a chat, in a completion and at a question of a call."""
        put = await self.http.put("/documents/own.md", content=f"# {self.secret}".encode())
        assert put.status_code == 201
        fact = {"name": "fact", "text": f"the code is {self.secret}"}
        body = {"message": f"mind {self.secret}", "conversation_id": "notes", "texts": [fact]}
        self.chatting = asyncio.create_task(self._chat(body))
        await self._standing("clarify.request")
        self.completing = asyncio.create_task(self._completion())
        await self._standing("tool.start")
        stopped = await self.mcp.session.call_tool("ask", PAINT, allow_input_required=True)
        assert isinstance(stopped, InputRequiredResult)
        self.state, self.asked = (
            str(stopped.request_state),
            next(iter(stopped.input_requests or {})),
        )
        await self._standing("clarify.request")
        opened = await self.http.post("/mcp", json=INITIALIZE, headers=HEADERS)
        self.session = opened.headers["mcp-session-id"]

    async def _standing(self, kind: str) -> None:
        """Wait until the newest run stands at such an event."""
        known = self.runs
        while self.runs == known:
            listed = (await self.http.get("/runs")).json()["runs"]
            self.runs = {each["id"] for each in listed}
        (run,) = self.runs - known
        async for data in self._events(run):
            if data["type"] == kind:
                question = data.get("question")
                if isinstance(question, dict) and not self.run:
                    self.run, self.question = run, str(question["id"])
                return
        raise AssertionError(f"no {kind}")

    async def _events(self, run: str) -> AsyncIterator[JsonObject]:
        async with self.http.stream("GET", f"/runs/{run}/events") as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    async def _chat(self, body: Mapping[str, object]) -> str:
        async with self.http.stream("POST", "/chat", json=body) as response:
            await response.aread()
        return response.text

    async def _completion(self) -> str:
        async with openai.AsyncOpenAI(base_url=f"{self._url}/v1", api_key=self._token) as client:
            told = await client.chat.completions.create(
                model="cortex-r", messages=[{"role": "user", "content": f"mind {self.secret}"}]
            )
        return str(told.choices[0].message.content)

    async def try_all(self, other: "Visitor") -> None:
        """Ask for everything that is the other's, by its id."""
        answer = {"question_id": other.question, "text": "mine"}
        for run in other.runs:
            for seen in ("0", "2"):
                events = await self._get(f"/runs/{run}/events", {"Last-Event-ID": seen})
                assert events == 404
            assert await self._get(f"/runs/{run}") == 404
            assert (await self.http.delete(f"/runs/{run}")).status_code == 404
            given = await self.http.post(f"/runs/{run}/answer", json=answer)
            assert given.status_code == 404
        given = await self.http.post(f"/runs/{self.run}/answer", json=answer)
        assert given.status_code == 404, "a question of the other's, put to one's own run"
        listed = (await self.http.get("/runs")).json()["runs"]
        assert {each["id"] for each in listed} == self.runs
        await self._try_sessions(other)
        await self._try_calls(other)

    async def _get(self, path: str, headers: dict[str, str] | None = None) -> int:
        return (await self.http.get(path, headers=headers)).status_code

    async def _try_sessions(self, other: "Visitor") -> None:
        listed = await self.mcp.call_tool("list_sessions", {"query": other.secret})
        assert structured(listed) == {"sessions": []}
        for path in ("/chats", "/chat/notes/history", "/chat/notes/trace", "/documents", "/tools"):
            assert await self._get(path) == 200
        found = await self.mcp.call_tool("search_documents", {"query": other.secret})
        assert other.secret not in text_of(found)

    async def _try_calls(self, other: "Visitor") -> None:
        """The other's connection, in all three ways of using it, and the other's open call."""
        named = {**HEADERS, "mcp-session-id": other.session, "Last-Event-ID": "1"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for method, body in (("POST", ping), ("GET", None), ("DELETE", None)):
            sent = await self.http.request(method, "/mcp", json=body, headers=named)
            assert sent.status_code == 404, method
        ours = await self.mcp.call_tool(
            "ask", PAINT, input_responses={other.asked: BLUE}, request_state=other.state
        )
        assert "nothing waits" in text_of(ours)

    async def end(self) -> None:
        """Answer what was asked, in step with the model's replies."""
        assert await self.completing == "door is open"
        blue = await self.mcp.call_tool(
            "ask", PAINT, input_responses={self.asked: BLUE}, request_state=self.state
        )
        assert text_of(blue).startswith("blue it is")
        answer = {"question_id": self.question, "text": "mine"}
        given = await self.http.post(f"/runs/{self.run}/answer", json=answer)
        assert given.status_code == 204
        assert f"the code is {self.secret}" in await self.chatting
        sessions = structured(await self.mcp.call_tool("list_sessions", {}))["sessions"]
        assert isinstance(sessions, list)
        assert len(sessions) == 2, "a completion is kept by its client"


async def _answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    raise AssertionError("a call of this era ends with its question")


def check_files(home: Path, secrets: dict[str, str]) -> None:
    """What a user has said lies in the home of that user, and nowhere else."""
    found: dict[str, set[str]] = {name: set() for name in secrets}
    for path in filter(Path.is_file, home.rglob("*")):
        owner = "/".join(path.relative_to(home).parts[:2])
        for name, secret in secrets.items():
            if secret.encode() in path.read_bytes():
                found[name].add(owner)
    assert found == {name: {f"users/{name}"} for name in secrets}


async def test_what_one_user_does_at_any_door_is_not_there_for_another(
    serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "gates").mkdir()
    profile = write_profile(
        tmp_path,
        f"id: memory\nscript: {ROOT / 'servers' / 'memory_server.py'}\ndescription: facts",
        f"id: gate\nscript: {GATED}\nargs: [{tmp_path / 'gates'}]\ndescription: gates",
        f"id: documents\nscript: {ROOT / 'servers' / 'documents_server.py'}\ndescription: texts",
    )
    with profile.open("a") as file:
        file.write("documents: {embedder: none}\n")
    options = ["--profile", str(profile), "--model", script(tmp_path, REPLIES)]
    tokens = ["--token-env", "ALICE=alice", "--token-env", "BOB=bob"]
    approved = ["--approve", "memory.remember", "--approve", "gate.hold"]
    service = serve(*options, *tokens, *approved, **SECRETS)
    alice = Visitor(service.url, ALICE, "heron-4711")
    bob = Visitor(service.url, BOB, "otter-0815")
    async with asyncio.timeout(WAIT_SECONDS), alice, bob:
        await asyncio.gather(alice.begin(), bob.begin())
        await asyncio.gather(alice.try_all(bob), bob.try_all(alice))
        (tmp_path / "gates" / "door").touch()
        await asyncio.gather(alice.end(), bob.end())
    for own, other in ((alice, bob), (bob, alice)):
        assert own.secret.encode() in own.tap.heard
        assert other.secret.encode() not in own.tap.heard
    assert await asyncio.to_thread(service.end) == 0
    assert "Traceback" not in service.stderr
    check_files(tmp_path, {"alice": alice.secret, "bob": bob.secret})
