"""The routes of OpenAI's form on a socket of loopback, over agents whose state lies in a folder."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import openai

from config.schema import load_profile
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from modules.service.agents import AgentSetting
from modules.service.http.app import http_app
from modules.service.http.endpoints.table import Service
from modules.service.http.guard import GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.tokens import Token, Tokens
from modules.service.openai_form.routes import openai_form
from modules.service.pool import AgentPool, User
from modules.service.served.runs import Runs
from tests.command_line import NO_MODEL_SERVER
from tests.modules.service.http.served import listening

TOKEN = "of-the-user-of-the-test"  # noqa: S105 - it opens nothing but this service

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
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=TOKEN, max_retries=0)

    def sync_client(self) -> openai.OpenAI:
        """The same for programs that are not async."""
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=TOKEN, max_retries=0)


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
    """The service, which knows one user by a token; more than `runs_max` runs are refused."""
    tokens = Tokens([Token(sha256(TOKEN.encode()).digest(), user or User())])
    metrics = Metrics()
    guard = GuardSetting(tokens, made_of.redactor, body_seconds=60)
    async with AgentPool(made_of, time.monotonic) as pool:
        runs = Runs(pool, runs_max=runs_max, queue_max=0, on_event=metrics.hear)
        app = http_app(Service(runs, metrics), guard, openai_form(runs))
        async with listening(app) as url:
            yield Served(url, pool, runs)
            await runs.drain(0)
