"""What users look at: tools, servers, profiles, budgets, health and figures; nothing is started."""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from config.schema import load_profile
from config.settings import SettingsError
from core.base.text import one_line
from core.dispatch.known_tools import ToolCache
from core.tools.spec import ToolSpec
from core.version import __version__
from modules.models.serving.account import Budgets, limits_of
from modules.service.agents import Agent
from modules.service.http.endpoints.shapes import (
    BudgetList,
    BudgetState,
    Health,
    ProblemKind,
    Profile,
    ProfileList,
    ServerDocument,
    ServerList,
    Tool,
    ToolList,
)
from modules.service.http.guard import profile_of, user_of
from modules.service.http.metrics import METRICS_TYPE, Metrics
from modules.service.http.problems import EXPLAINED
from modules.service.pool import DEFAULT_PROFILE, AgentPool, User
from modules.service.served.problems import PROBLEMS, RETRY_SECONDS
from modules.service.served.runs import Runs

DESCRIPTION_CHARACTERS: Final = 2_000


class LookingEndpoints:
    """How the service and its parts are."""

    def __init__(
        self, runs: Runs, metrics: Metrics, connections: Callable[[], int | None] = lambda: None
    ) -> None:
        """`connections` tells how many there are; None where that is not known."""
        self._runs = runs
        self._metrics = metrics
        self._connections = connections

    async def health(self, request: Request) -> Response:
        """Whether runs are taken: 200, or 503 while the service ends."""
        if self._runs.is_draining:
            told: Health = {"status": "draining", "version": __version__}
            return JSONResponse(told, 503, {"Retry-After": str(RETRY_SECONDS)})
        return JSONResponse(Health(status="ok", version=__version__))

    async def metrics(self, request: Request) -> Response:
        """Figures for Prometheus, of all users together."""
        text = self._metrics.text(self._runs, self._connections())
        return PlainTextResponse(text, media_type=METRICS_TYPE)

    async def problems(self, request: Request) -> Response:
        """Every kind of problem, by the end of its `type`."""
        found = {
            kind: ProblemKind(status=status, title=title, explanation=EXPLAINED[kind])
            for kind, (status, title) in PROBLEMS.items()
        }
        return JSONResponse(found)

    async def tools(self, request: Request) -> Response:
        """The tools of a profile, as far as they are known without starting a server."""
        agent = await self._agent(request)
        return JSONResponse(await asyncio.to_thread(_tools_of, agent))

    async def servers(self, request: Request) -> Response:
        """The servers of a profile, and how they are."""
        agent = await self._agent(request)
        return JSONResponse(await asyncio.to_thread(_servers_of, agent))

    async def profiles(self, request: Request) -> Response:
        """The profiles that the user may name."""
        found = await asyncio.to_thread(_profiles_of, self._runs.pool, user_of(request))
        return JSONResponse(found)

    async def budgets(self, request: Request) -> Response:
        """What is spent of each budget of a profile, and what is left."""
        session = request.query_params.get("conversation_id")
        setting = await asyncio.to_thread(
            self._runs.pool.setting_of, user_of(request), profile_of(request)
        )
        limits = limits_of(setting.profile.budgets)
        sums = await asyncio.to_thread(Budgets(setting.places.home).sums, setting.profile, session)
        found: BudgetList = {
            "budgets": [
                BudgetState(
                    scope=limit.scope,
                    measure=limit.measure,
                    spent=limit.spent(sums),
                    most=limit.most,
                    left=max(0.0, limit.left(sums)),
                )
                for limit in limits
            ]
        }
        return JSONResponse(found)

    async def _agent(self, request: Request) -> Agent:
        """The agent that runs, else one of which nothing is started, and which is left so."""
        user, profile = user_of(request), profile_of(request)
        pool = self._runs.pool
        if (agent := pool.running(user, profile)) is not None:
            return agent
        setting = await asyncio.to_thread(pool.setting_of, user, profile)
        return await asyncio.to_thread(Agent, setting)


def _tools_of(agent: Agent) -> ToolList:
    known: dict[str, list[ToolSpec]] = dict(agent.dispatcher.server_tools)
    cache = ToolCache(agent.setting.places.cache)
    unknown: list[str] = []
    for spec in agent.servers.specs:
        if spec.id not in known and (listed := cache.load(spec)) is not None:
            known[spec.id] = listed
        if spec.id not in known:
            unknown.append(spec.id)
    redact = agent.setting.redactor
    tools = [
        Tool(
            name=tool.qualified_name,
            server=tool.server,
            description=redact.text(tool.description[:DESCRIPTION_CHARACTERS]),
            input_schema=redact.object(tool.input_schema),
            read_only=tool.read_only,
        )
        for spec in agent.servers.specs
        for tool in known.get(spec.id, ())
    ]
    return {"tools": tools, "unknown": unknown}


def _servers_of(agent: Agent) -> ServerList:
    states = {status.id: status for status in agent.dispatcher.status()}
    redact = agent.setting.redactor.text
    found: list[ServerDocument] = []
    for spec in agent.servers.specs:
        status = states[spec.id]
        problem = status.problem or spec.problem
        found.append(
            ServerDocument(
                id=spec.id,
                state=status.state,
                description=redact(spec.description),
                title=redact(status.title),
                version=redact(status.version),
                tools=status.tools,
                problem=None if problem is None else redact(one_line(problem, 1_000)),
            )
        )
    return {"servers": found}


def _profiles_of(pool: AgentPool, user: User) -> ProfileList:
    found: list[Profile] = []
    for name, file in pool.profiles_of(user).items():
        try:
            profile = pool.setting.profile if name == DEFAULT_PROFILE else load_profile(file)
        except SettingsError as error:
            problem = pool.setting.redactor.text(one_line(str(error), 500))
            found.append(Profile(name=name, title="", description="", problem=problem))
            continue
        agent = profile.agent
        told = one_line(agent.description or "", DESCRIPTION_CHARACTERS)
        found.append(Profile(name=name, title=agent.name, description=told, problem=None))
    return {"profiles": found}
