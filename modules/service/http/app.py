"""The application: the endpoints of our own form, what else is plugged in, and the guard around."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router

from modules.service.http.endpoints.chat import ChatEndpoints
from modules.service.http.endpoints.chats import ChatsEndpoints
from modules.service.http.endpoints.documents import DocumentsEndpoints
from modules.service.http.endpoints.looking import LookingEndpoints
from modules.service.http.endpoints.table import Endpoint, Handler, endpoints_of
from modules.service.http.guard import Guard, GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.openapi import OPENAPI_PATH, openapi_document
from modules.service.runs import Runs


def http_app(
    runs: Runs,
    setting: GuardSetting,
    metrics: Metrics,
    *,
    connections: Callable[[], int | None] = lambda: None,
    page: tuple[str, str] | None = None,
    more: Sequence[BaseRoute] = (),
) -> Guard:
    """The service as an ASGI application; runs begin and end with whoever made `runs`.

    `page` is the HTML at `/` and its Content-Security-Policy. `more` are routes of other forms, as
    `/v1/…` and `/mcp`, which stand behind the same guard: `guard.user_of` says whose request it is.
    """
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
        *more,
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
