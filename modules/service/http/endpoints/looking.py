"""What users look at: tools, servers, profiles, budgets, health and figures; nothing is started."""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse

from config.settings import SettingsError
from core.base.text import one_line
from core.dispatch.known_tools import ToolCache
from core.tools.spec import ToolSpec
from core.version import __version__
from modules.models.serving.account import Budgets, limits_of
from modules.service.agents import Agent
from modules.service.http.endpoints.shapes import (
    BudgetList,
    BudgetsQuery,
    BudgetState,
    Health,
    OfProfile,
    Profile,
    ProfileList,
    ServerDocument,
    ServerList,
    Tool,
    ToolList,
    queried,
)
from modules.service.http.endpoints.table import Answered, Endpoint, Service
from modules.service.http.guard import profile_of, user_of
from modules.service.http.metrics import METRICS_TYPE
from modules.service.pool import AgentPool, User
from modules.service.served.problems import PROBLEMS, RETRY_SECONDS, ProblemKind
from modules.terminal.answer import plain_json

DESCRIPTION_CHARACTERS: Final = 2_000


@Endpoint("GET", "/tools", query=OfProfile, answer=ToolList)
async def _tools(service: Service, request: Request) -> Answered:
    """The tools that are known; no server is started to ask it."""
    agent = await service.pool.shown(user_of(request), profile_of(request))
    return await asyncio.to_thread(_tools_of, agent)


@Endpoint("GET", "/servers", query=OfProfile, answer=ServerList)
async def _servers(service: Service, request: Request) -> Answered:
    """The servers of tools, and how they are."""
    agent = await service.pool.shown(user_of(request), profile_of(request))
    return await asyncio.to_thread(_servers_of, agent)


@Endpoint("GET", "/profiles", answer=ProfileList)
async def _profiles(service: Service, request: Request) -> Answered:
    """The profiles that you may name."""
    return await asyncio.to_thread(_profiles_of, service.pool, user_of(request))


@Endpoint("GET", "/budgets", query=BudgetsQuery, answer=BudgetList)
async def _budgets(service: Service, request: Request) -> Answered:
    """What is spent of your budgets, and what is left."""
    session = queried(request, BudgetsQuery).conversation_id or None
    setting = await asyncio.to_thread(
        service.pool.setting_of, user_of(request), profile_of(request)
    )
    sums = await asyncio.to_thread(Budgets(setting.places.home).sums, setting.profile, session)
    told = [
        BudgetState(
            scope=limit.scope,
            measure=limit.measure,
            spent=limit.spent(sums),
            most=limit.most,
            left=max(0.0, limit.left(sums)),
        )
        for limit in limits_of(setting.profile.budgets)
    ]
    return {"budgets": told}


@Endpoint("GET", "/health", answer=Health, is_open=True)
async def _health(service: Service, request: Request) -> Answered:
    """Whether runs are taken: 503 while the service ends."""
    if service.runs.is_draining:
        told: Health = {"status": "draining", "version": __version__}
        return JSONResponse(told, 503, {"Retry-After": str(RETRY_SECONDS)})
    return Health(status="ok", version=__version__)


@Endpoint("GET", "/metrics", answer_type=METRICS_TYPE)
async def _metrics(service: Service, request: Request) -> Answered:
    """Figures in Prometheus' text format."""
    text = service.metrics.text(service.runs, service.connections())
    return PlainTextResponse(text, media_type=METRICS_TYPE)


@Endpoint("GET", "/problems", answer=dict[str, ProblemKind], is_open=True)
async def _problems(service: Service, request: Request) -> Answered:
    """What the kinds of problems mean, by the end of their `type`."""
    return {kind: plain_json(told) for kind, told in PROBLEMS.items()}


ENDPOINTS = (_tools, _servers, _profiles, _budgets, _health, _metrics, _problems)


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
    for name in pool.profiles_of(user):
        try:
            agent = pool.profile(user, name).agent
        except SettingsError as error:
            problem = pool.setting.redactor.text(one_line(str(error), 500))
            found.append(Profile(name=name, title="", description="", problem=problem))
            continue
        told = one_line(agent.description or "", DESCRIPTION_CHARACTERS)
        found.append(Profile(name=name, title=agent.name, description=told, problem=None))
    return {"profiles": found}
