"""What an endpoint is: a handler, with what its routes and the OpenAPI document need to know."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from core.base.frozen import frozen
from modules.service.http.endpoints.shapes import JSON_TYPE, Query
from modules.service.http.metrics import Metrics
from modules.service.pool import AgentPool
from modules.service.served.runs import Runs

BINARY_TYPE: Final = "application/octet-stream"


@frozen
class Service:
    """What endpoints work on; `connections` tells how many there are, None where nobody knows."""

    runs: Runs
    metrics: Metrics
    connections: Callable[[], int | None] = lambda: None

    @property
    def pool(self) -> AgentPool:
        """The agents of all users."""
        return self.runs.pool


Answered: TypeAlias = Response | Mapping[str, object] | None
"""An answer of its own kind, or what becomes JSON, or nothing (204)."""

Handler: TypeAlias = Callable[[Service, Request], Awaitable[Answered]]


async def _nothing(service: Service, request: Request) -> Answered:
    return None


@frozen
class Endpoint:
    """What a method does with a path; a decorator of the handler, whose docstring tells it.

    Attributes:
        method: of HTTP.
        path: as starlette has it; `{id:path}` is a parameter that may hold slashes.
        query: what may stand in the query, and in headers of the endpoint's own.
        body: the type of what is sent; bytes for a file, None for nothing.
        answer: the type of the answer; None where it is no JSON.
        answer_type: the answer's media type.
        status: of the answer where all goes well.
        problems: the kinds that it may refuse with beside those that all share.
        is_open: whether it needs no token.
        handler: answers.
        told: what it does, a sentence or more.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    query: type[Query] = Query
    body: type | None = None
    answer: object = None
    answer_type: str = JSON_TYPE
    status: int = 200
    problems: tuple[str, ...] = ()
    is_open: bool = False
    handler: Handler = _nothing
    told: str = ""

    def __call__(self, handler: Handler) -> "Endpoint":
        """The endpoint that answers by the handler."""
        return replace(self, handler=handler, told=" ".join((handler.__doc__ or "").split()))

    async def answered(self, service: Service, request: Request) -> Response:
        """The answer to a request."""
        answer = await self.handler(service, request)
        if isinstance(answer, Response):
            return answer
        return Response(None, 204) if answer is None else JSONResponse(answer)

    @property
    def shown_path(self) -> str:
        """The path as OpenAPI has it."""
        return self.path.replace(":path}", "}")
