"""`agent.py serve` is ended, its servers are killed, its streams closed: what is left of each."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import openai
import pytest
from mcp.client import Client

from core.values import JsonObject
from tests.command_line import ROOT, environment, plan, without_servers
from tests.core.dispatch.fixture_servers import is_gone
from tests.modules.service.mcp_door.opening import Era, both_eras, says, text_of
from tests.processes.test_serve import Serve, Service, chat, events, gate_pid, gated, held, serve
from tests.screens import WAIT_SECONDS, wait_until

__all__ = ["serve"]

ASKS = plan('return "CLARIFICATION_NEEDED: which?"')
HOLDS = plan("return f\"FINAL_ANSWER: {await tools.hold(name='door')}\"")
STANDS = ("clarify.request", "tool.start", "tool.start", "run.queued")
INTERRUPTED = ("response.done", "interrupted")
PUT = b"PUT /documents/a.md HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\nhalf"


def processes_of(pid: int) -> set[int]:
    """The process, and all that it and they have started and that live."""
    found = {pid}
    with suppress(FileNotFoundError):  # it, or a thread of it, has just ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found |= processes_of(int(child))
    return found


def check_left(home: Path, processes: set[int]) -> None:
    """No process is left, and every file under the home is whole."""
    wait_until(lambda: all(map(is_gone, processes)))
    assert [*home.rglob(".*")] == [], "what is on its way to be a file has a hidden name"
    assert [*home.rglob("*.tmp")] == []
    for path in home.rglob("*.json"):
        json.loads(path.read_bytes())
    for path in home.rglob("*.jsonl"):
        assert path.read_bytes().endswith(b"\n")
        for line in path.read_bytes().splitlines():
            json.loads(line)


class InTheMiddle:
    """Clients of one service: each asks something whose end is held up."""

    def __init__(self, url: str, era: Era) -> None:
        self._url = url
        self._era: Era = era
        self.http = httpx2.AsyncClient(base_url=url, timeout=WAIT_SECONDS)

    async def chat(self) -> JsonObject:
        """The last event of a chat."""
        data: JsonObject = {}
        async with self.http.stream("POST", "/chat", json={"message": "go"}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    data = json.loads(line.removeprefix("data: "))
        return data

    async def completion(self) -> str:
        """What a stream of OpenAI's form gives: the answer, or the code of the error."""
        url = f"{self._url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="cortex-r", messages=[{"role": "user", "content": "go"}], stream=True
            )
            try:
                return "".join([each.choices[0].delta.content or "" async for each in stream])
            except openai.APIError as error:
                return str(error.code)

    async def call(self) -> str:
        """What a client of MCP is given, by a server that hears of it when the client leaves."""
        async with Client(f"{self._url}/mcp", mode=self._era) as client:
            return text_of(await client.call_tool("ask", {"request": "go"}))

    async def upload(self, rest: asyncio.Event) -> bytes:
        """What is answered to a document, the second half of which comes then or never."""
        url = httpx2.URL(self._url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(PUT)
        sending, answer = asyncio.create_task(rest.wait()), asyncio.create_task(reader.read())
        await asyncio.wait({sending, answer}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            writer.write(b"done")
        sending.cancel()
        found = await answer
        writer.close()
        return found

    async def standing(self, count: int) -> list[JsonObject]:
        """By which event each run stands still, once there are so many."""
        while len(runs := (await self.http.get("/runs")).json()["runs"]) < count:
            pass
        return [await self._standing(run["id"]) for run in runs]

    async def _standing(self, run: str) -> JsonObject:
        async with self.http.stream("GET", f"/runs/{run}/events") as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    data: JsonObject = json.loads(line.removeprefix("data: "))
                    if data["type"] in ("clarify.request", "tool.start", "run.queued"):
                        return data
        raise AssertionError(f"{run} has ended")


@both_eras
@pytest.mark.parametrize("finishes", [True, False])
async def test_a_signal_gives_everything_under_way_an_end(
    serve: Serve, tmp_path: Path, era: Era, *, finishes: bool
) -> None:
    options = gated(tmp_path, answers=[ASKS, HOLDS, HOLDS, says("at last"), says("at last")])
    drain = ["--drain-seconds", "60" if finishes else "0.3"]
    service = serve(*options, "--runs", "3", *drain)
    rest, clients = asyncio.Event(), InTheMiddle(service.url, era)
    async with asyncio.timeout(WAIT_SECONDS), clients.http as http, asyncio.TaskGroup() as group:
        asking = group.create_task(clients.chat())
        (asks,) = await clients.standing(1)
        completing = group.create_task(clients.completion())
        calling = group.create_task(clients.call())
        await clients.standing(3)
        queued = group.create_task(clients.chat())
        uploading = group.create_task(clients.upload(rest))
        stands = await clients.standing(4)
        assert [each["type"] for each in stands] == [*STANDS]
        await asyncio.to_thread(wait_until, lambda: any(tmp_path.rglob(".upload-*")))
        processes = processes_of(service.process.pid)
        service.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(wait_until, lambda: "ending" in service.stderr)
        if finishes:
            assert (await http.get("/health")).status_code == 503
            rest.set()
            assert (await uploading).startswith(b"HTTP/1.1 201 ")
            question = asks["question"]
            assert isinstance(question, dict)
            answer = {"question_id": question["id"], "text": "this"}
            given = await http.post(f"/runs/{asks['run']}/answer", json=answer)
            assert given.status_code == 204
            (tmp_path / "gates" / "door").touch()
    assert await asyncio.to_thread(service.process.wait, WAIT_SECONDS) == 0
    if finishes:
        told = [asking.result()["answer"], queued.result()["answer"]]
        assert told == ["at last", "at last"]
        assert (completing.result(), calling.result()) == ("door is open", "door is open")
        assert (tmp_path / "documents" / "a.md").read_bytes() == b"halfdone"
    else:
        ended = [asking.result(), queued.result()]
        assert [(each["type"], each["status"]) for each in ended] == [INTERRUPTED] * 2
        assert completing.result() == "interrupted"
        assert "interrupted" in calling.result()
        head, _, body = uploading.result().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: " in head
        assert json.loads(body)["type"] == "/problems#unavailable"
        assert [*(tmp_path / "documents").iterdir()] == []
    assert "Traceback" not in service.stderr
    check_left(tmp_path, processes)
