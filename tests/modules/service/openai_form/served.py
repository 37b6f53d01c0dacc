"""The routes of OpenAI's form on a socket of loopback, over agents whose state lies in a folder."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import openai
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request

from config.schema import load_profile
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from modules.service.agents import AgentSetting
from modules.service.openai_form.errors import OpenAIErrors
from modules.service.openai_form.routes import openai_routes
from modules.service.pool import AgentPool, User
from modules.service.runs import Runs
from tests.command_line import NO_MODEL_SERVER

WAIT_SECONDS = 10.0
"""So long a condition may take to come true."""


@dataclass
class Served:
    """Where the service is, its agents and their runs."""

    url: str
    pool: AgentPool
    runs: Runs

    def client(self) -> openai.AsyncOpenAI:
        """OpenAI's own client, which tries nothing twice."""
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)

    def sync_client(self) -> openai.OpenAI:
        """The same for programs that are not async."""
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_so():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def setting(
    home: Path,
    model: str,
    profile: Path | None = None,
    environ: Mapping[str, str] | None = None,
    approve: Sequence[str] = (),
) -> AgentSetting:
    """What an agent is made of; the usual profile lies under `home` where none is given."""
    places = Places(ROOT, home)
    file = profile or places.config_file("profiles.yaml")
    known = {"PATH": os.environ["PATH"], **NO_MODEL_SERVER, **(environ or {})}
    redactor = Redactor(known)
    made_of = AgentSetting(places, places, load_profile(file), file, known, redactor, model)
    return replace(made_of, approve=approve)


@asynccontextmanager
async def served(
    made_of: AgentSetting, user: User | None = None, runs_max: int = 8
) -> AsyncGenerator[Served]:
    """The service, which knows one user; more than `runs_max` runs are refused."""

    def user_of(request: Request) -> User:
        return user or User()

    async with AgentPool(made_of, time.monotonic) as pool:
        runs = Runs(pool, runs_max=runs_max, queue_max=0)
        app = OpenAIErrors(Starlette(routes=openai_routes(runs, user_of)))
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        running = asyncio.create_task(server.serve([listening]))
        try:
            yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", pool, runs)
        finally:
            server.should_exit = True
            async with asyncio.timeout(WAIT_SECONDS):
                await running
