"""The application: the endpoints of our own form, what else is plugged in, and the guard around."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import field, replace

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router

from core.base.frozen import frozen
from modules.service.http.endpoints.chat import ChatEndpoints
from modules.service.http.endpoints.chats import ChatsEndpoints
from modules.service.http.endpoints.documents import DocumentsEndpoints
from modules.service.http.endpoints.looking import LookingEndpoints
from modules.service.http.endpoints.table import Endpoint, Handler, endpoints_of
from modules.service.http.guard import Guard, GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.openapi import OPENAPI_PATH, openapi_document
from modules.service.served.problems import Problem
from modules.service.served.runs import Runs


@frozen
class Extras:
    """What stands behind the guard beside our own endpoints, as `/v1/…`, `/mcp` and the page.

    Attributes:
        page: the HTML at `/`, and its Content-Security-Policy.
        routes: of other forms; `guard.user_of` says whose a request is.
        refusals: how problems are told below a path, where that has a form of its own.
        bodies: how many bytes a body may have below a path, where that is not as elsewhere.
        running: is entered while requests are answered.
    """

    page: tuple[str, str] | None = None
    routes: Sequence[BaseRoute] = ()
    refusals: Mapping[str, Callable[[Problem], Response]] = field(
        default_factory=dict[str, Callable[[Problem], Response]]
    )
    bodies: Mapping[str, int] = field(default_factory=dict[str, int])
    running: AbstractAsyncContextManager[object] = field(default_factory=nullcontext[None])


def http_app(
    runs: Runs,
    setting: GuardSetting,
    metrics: Metrics,
    extras: Extras | None = None,
    connections: Callable[[], int | None] = lambda: None,
) -> Guard:
    """The service as an ASGI application; runs begin and end with whoever made `runs`.

    `connections` tells how many there are, for the figures.
    """
    extras = extras or Extras()
    setting = replace(setting, refusals=extras.refusals, bodies=extras.bodies)
    page = extras.page
    endpoints = service_endpoints(runs, metrics, connections)
    document = openapi_document(endpoints)

    async def openapi(request: Request) -> Response:
        return JSONResponse(document)

    async def index(request: Request) -> Response:
        if page is None:
            return JSONResponse({"openapi": OPENAPI_PATH, "health": "/health"})
        html, policy = page
        return HTMLResponse(html, headers={"Content-Security-Policy": policy})

    routes: list[BaseRoute] = [
        Route("/", index, methods=["GET"]),
        Route(OPENAPI_PATH, openapi, methods=["GET"]),
        *_routes(endpoints),
        *extras.routes,
    ]
    return Guard(Router(routes, redirect_slashes=False), setting, metrics.answered)


def _routes(endpoints: Iterable[Endpoint]) -> Iterator[Route]:
    """One a path, so that a method that there is not is told those that there are."""
    by_path: dict[str, dict[str, Handler]] = {}
    for each in endpoints:
        by_path.setdefault(each.path, {})[each.method] = each.handler
    for path, handlers in by_path.items():
        yield Route(path, _by_method(handlers), methods=[*handlers])


def _by_method(handlers: Mapping[str, Handler]) -> Handler:
    async def handle(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return handle


def service_endpoints(
    runs: Runs, metrics: Metrics, connections: Callable[[], int | None] = lambda: None
) -> tuple[Endpoint, ...]:
    """Every endpoint of our own form over these runs."""
    return endpoints_of(
        ChatEndpoints(runs),
        ChatsEndpoints(runs),
        LookingEndpoints(runs, metrics, connections),
        DocumentsEndpoints(runs.pool),
    )
