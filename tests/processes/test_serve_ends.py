"""`agent.py serve` is ended, its servers are killed, its streams closed: what is left of each."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
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
from tests.modules.service.mcp_door.test_http import HEADERS, INITIALIZE
from tests.processes.test_serve import Serve, chat, gate_pid, gated, held, serve
from tests.screens import WAIT_SECONDS, wait_until

__all__ = ["serve"]

ASKS = plan('return "CLARIFICATION_NEEDED: which?"')
HOLDS = plan("return f\"FINAL_ANSWER: {await tools.hold(name='door')}\"")
STANDS = ("clarify.request", "tool.start", "tool.start", "run.queued")
INTERRUPTED = ("response.done", "interrupted")
PUT = (
    b"PUT /documents/a.md HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Content-Length: 8\r\n\r\nhalf"
)


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
        self.hears = asyncio.Event()

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
        """What a client of MCP is given."""
        async with Client(f"{self._url}/mcp", mode=self._era) as client:
            await client.list_tools()
            return text_of(await client.call_tool("ask", {"request": "go"}))

    async def listen(self) -> None:
        """Hear what an MCP server says by itself, up to its end; a cut raises."""
        opened = await self.http.post("/mcp", json=INITIALIZE, headers=HEADERS)
        named = {**HEADERS, "mcp-session-id": opened.headers["mcp-session-id"]}
        async with self.http.stream("GET", "/mcp", headers=named) as response:
            assert response.status_code == 200
            self.hears.set()
            await response.aread()

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
        group.create_task(clients.listen())
        await clients.hears.wait()
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


def test_a_server_that_is_killed_fails_its_call_and_no_other(serve: Serve, tmp_path: Path) -> None:
    handled = plan(
        "try:\n    return f\"FINAL_ANSWER: {await tools.hold(name='door')}\"\n"
        'except Exception as error:\n    return f"FINAL_ANSWER: told {error}"'
    )
    service = serve(*gated(tmp_path, answers=[handled, HOLDS, says("went on"), HOLDS]))
    client, pid = service.client(), tmp_path / "gates" / "pid"
    for answer in ("told ", "went on"):
        with client.stream("POST", "/chat", json={"message": "go"}) as response:
            rest = held(response)
            wait_until(pid.exists)  # it is started by the call
            os.kill(gate_pid(tmp_path), signal.SIGKILL)
            pid.unlink()
            told = [*rest]
        assert [data for name, data in told if name == "tool.error"]
        assert str(told[-1][1]["answer"]).startswith(answer)
    (tmp_path / "gates" / "door").touch()
    assert chat(client)[-1][1]["answer"] == "door is open"
    processes = processes_of(service.process.pid)
    assert service.end() == 0
    check_left(tmp_path, processes)


def test_who_reads_one_line_gets_the_address_and_a_service_that_ends_well(tmp_path: Path) -> None:
    line = [sys.executable, str(ROOT / "agent.py"), "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        [*line, *without_servers(tmp_path)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        process.stdout.close()
        process.stdout = None
        with httpx2.Client(base_url=url, timeout=WAIT_SECONDS) as client:
            assert chat(client)[-1][1]["answer"] == "12"
        process.terminate()
        _, told = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0
    assert f"[serve] listening on {url}; Ctrl-C ends it\n" in told.decode()
    assert "Traceback" not in told.decode()


@pytest.mark.parametrize(
    "streams",
    [">out 2>&-", ">out 2>/dev/full", "2>&1 >out | head -c 1 >begun; exit ${PIPESTATUS[0]}"],
)
def test_a_service_to_whose_stderr_nobody_listens_answers_and_ends_well(
    tmp_path: Path, streams: str
) -> None:
    words = [sys.executable, str(ROOT / "agent.py"), "serve", "--port", "0", "--json"]
    line = f"{shlex.join([*words, *without_servers(tmp_path)])} {streams}"
    shell = ["bash", "-c", line]
    with subprocess.Popen(
        shell, cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.PIPE
    ) as process:
        out = tmp_path / "out"
        wait_until(lambda: out.exists() and out.read_text().endswith("\n"))
        told = json.loads(out.read_text())
        with httpx2.Client(base_url=told["url"], timeout=WAIT_SECONDS) as client:
            assert chat(client)[-1][1]["answer"] == "12"
        os.kill(told["pid"], signal.SIGTERM)
        _, complaints = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, complaints) == (0, b"")
    assert len(out.read_text().splitlines()) == 1
