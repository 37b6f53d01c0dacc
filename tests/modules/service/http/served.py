"""The service in this process, on a socket of loopback, with a scripted model and real servers."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from starlette.types import ASGIApp

from config.schema import load_profile
from config.settings import Places
from core.base.redaction import Redactor
from core.values import JsonObject
from modules.service.agents import AgentSetting
from modules.service.http.app import http_app
from modules.service.http.connections import BoundedProtocol
from modules.service.http.endpoints.table import Service
from modules.service.http.guard import GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.serving import http_server, listen, url_of
from modules.service.http.tokens import Tokens
from modules.service.pool import AgentPool
from modules.service.served.runs import Runs
from tests.command_line import NO_MODEL_SERVER, ROOT, plan, script, write_profile

WAIT_SECONDS = 20.0
"""Longer than anything here takes."""

GATED = ROOT / "tests" / "fixtures" / "servers" / "gated_server.py"

JSON = {"Content-Type": "application/json"}


@dataclass
class Served:
    """A service that runs."""

    url: str
    runs: Runs
    client: httpx2.AsyncClient


@dataclass(frozen=True)
class Told:
    """A message of a stream."""

    id: int
    name: str
    data: JsonObject


def answering(text: str) -> str:
    """A plan that answers at once."""
    return plan(f'return "FINAL_ANSWER: {text}"')


def holding(gate: str) -> str:
    """A plan that waits at a gate."""
    return plan(f'r = await tools.hold(name="{gate}")\nreturn f"FINAL_ANSWER: {{r}}"')


def gate_server(gates: Path) -> str:
    """The gated server as an entry of a profile."""
    gates.mkdir(exist_ok=True)
    return f"id: gate\nscript: {GATED}\nargs: [{gates}]\ndescription: waits at gates"


def agents_of(
    home: Path,
    replies: Sequence[object],
    *servers: str,
    documents: str = "",
    budgets: str = "",
    approve: Sequence[str] = ("gate.hold",),
) -> AgentSetting:
    """What agents are made of: these servers, and a model that replies so.

    `documents` are the folders of the profile as YAML, `budgets` its budgets.
    """
    home.mkdir(exist_ok=True)
    profile_file = write_profile(home, *servers)
    with profile_file.open("a") as file:
        file.write(f"documents: {{folders: {documents}}}\n" if documents else "")
        file.write(f"budgets: {budgets}\n" if budgets else "")
    places = Places(ROOT, home)
    return AgentSetting(
        places=places,
        shared=places,
        profile=load_profile(profile_file),
        profile_file=profile_file,
        environ=NO_MODEL_SERVER,
        redactor=Redactor({}),
        model=script(home, replies),
        approve=approve,
    )


@asynccontextmanager
async def listening(
    app: ASGIApp, protocol: type[BoundedProtocol] = BoundedProtocol
) -> AsyncGenerator[str]:
    """An application on a socket of loopback; its URL."""
    server = http_server(app, protocol)
    with listen("127.0.0.1", 0, has_tokens=False) as socket:
        serving = asyncio.create_task(server.serve([socket]))
        try:
            yield url_of(socket)
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def served(
    home: Path,
    replies: Sequence[object],
    *servers: str,
    tokens: Tokens | None = None,
    runs_max: int = 4,
    queue_max: int = 4,
    documents: str = "",
    budgets: str = "",
    approve: Sequence[str] = ("gate.hold",),
) -> AsyncGenerator[Served]:
    """The whole service; its client fails rather than wait for ever."""
    more = {"documents": documents, "budgets": budgets}
    agents = agents_of(home, replies, *servers, **more, approve=approve)
    metrics = Metrics()
    async with AgentPool(agents, asyncio.get_running_loop().time) as pool:
        runs = Runs(pool, runs_max=runs_max, queue_max=queue_max, on_event=metrics.hear)
        app = http_app(Service(runs, metrics), GuardSetting(tokens or Tokens(), agents.redactor))
        async with (
            listening(app) as url,
            httpx2.AsyncClient(base_url=url, timeout=WAIT_SECONDS) as client,
        ):
            try:
                yield Served(url, runs, client)
            finally:
                await runs.drain(0)


async def told(response: httpx2.Response) -> AsyncGenerator[Told]:
    """The messages of a stream; comments are left out."""
    assert response.status_code == 200, await response.aread()
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Told(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}


async def chatted(client: httpx2.AsyncClient, **body: object) -> list[Told]:
    """All messages of the answer to one message."""
    async with client.stream("POST", "/chat", json=body) as response:
        return [each async for each in told(response)]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is about to be so."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)
