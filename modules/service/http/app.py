"""The application: the endpoints of our own form, what else is plugged in, and the guard around."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import field, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router

from core.base.frozen import frozen
from modules.service.http.endpoints import chat, chats, documents, looking
from modules.service.http.endpoints.table import Endpoint, Service
from modules.service.http.guard import Guard, GuardSetting
from modules.service.http.openapi import OPENAPI_PATH, openapi_document
from modules.service.served.problems import Problem


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


ENDPOINTS: Final = (
    *chat.ENDPOINTS,
    *chats.ENDPOINTS,
    *looking.ENDPOINTS,
    *documents.ENDPOINTS,
)
"""Every endpoint of our own form."""


def http_app(service: Service, setting: GuardSetting, extras: Extras | None = None) -> Guard:
    """The service as an ASGI application; runs begin and end with whoever made them."""
    extras = extras or Extras()
    setting = replace(setting, refusals=extras.refusals, bodies=extras.bodies)
    document = openapi_document(ENDPOINTS)

    async def openapi(request: Request) -> Response:
        return JSONResponse(document)

    async def index(request: Request) -> Response:
        if extras.page is None:
            return JSONResponse({"openapi": OPENAPI_PATH, "health": "/health"})
        html, policy = extras.page
        return HTMLResponse(html, headers={"Content-Security-Policy": policy})

    routes: list[BaseRoute] = [
        Route("/", index, methods=["GET"]),
        Route(OPENAPI_PATH, openapi, methods=["GET"]),
        *_routes(service),
        *extras.routes,
    ]
    return Guard(Router(routes, redirect_slashes=False), setting, service.metrics.answered)


def _routes(service: Service) -> Iterator[Route]:
    """One a path, so that a method that there is not is told those that there are."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for each in ENDPOINTS:
        by_path.setdefault(each.path, {})[each.method] = each
    for path, by_method in by_path.items():

        async def handle(
            request: Request, by_method: Mapping[str, Endpoint] = by_method
        ) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await by_method[method].answered(service, request)

        yield Route(path, handle, methods=[*by_method])
