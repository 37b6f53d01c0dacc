"""Every endpoint in one table: the routes and the OpenAPI document are made of it."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Final, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from core.base.frozen import frozen
from modules.service.http.endpoints.chat import ChatEndpoints
from modules.service.http.endpoints.chats import CHATS_MAX, CHATS_SHOWN, TIME_MAX, ChatsEndpoints
from modules.service.http.endpoints.documents import DocumentsEndpoints
from modules.service.http.endpoints.looking import LookingEndpoints
from modules.service.http.endpoints.shapes import (
    JSON_TYPE,
    AnswerRequest,
    BudgetList,
    ChatList,
    ChatRequest,
    Document,
    DocumentList,
    Health,
    History,
    ProblemKind,
    ProfileList,
    RunList,
    RunState,
    ServerList,
    ToolList,
)
from modules.service.http.endpoints.streams import EVENT_ID_MAX, EVENTS_TYPE
from modules.service.http.metrics import METRICS_TYPE
from modules.trace.spans import TraceDocument

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

BINARY_TYPE: Final = "application/octet-stream"


@frozen
class Parameter:
    """One of the query or a header, with its JSON Schema type and what it is for.

    Numbers begin at 0; `most` is the highest.
    """

    name: str
    kind: Literal["string", "integer", "number", "boolean"]
    told: str
    place: Literal["query", "header"] = "query"
    most: float | None = None


@frozen
class Endpoint:
    """What a method does with a path.

    Attributes:
        method: of HTTP.
        path: as starlette has it; `{id:path}` is a parameter that may hold slashes.
        handler: answers.
        told: what it does, a sentence or more.
        body: the type of what is sent; bytes for a file, None for nothing.
        answer: the type of the answer; None where it is no JSON.
        status: of the answer where all goes well.
        answer_type: the answer's media type.
        parameters: of the query and the headers.
        problems: the kinds that it may refuse with beside those that all share.
        is_open: whether it needs no token.
    """

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    handler: Handler
    told: str
    body: type | None = None
    answer: object = None
    status: int = 200
    answer_type: str = JSON_TYPE
    parameters: tuple[Parameter, ...] = ()
    problems: tuple[str, ...] = ()
    is_open: bool = field(default=False)

    @property
    def shown_path(self) -> str:
        """The path as OpenAPI has it."""
        return self.path.replace(":path}", "}")


PROFILE: Final = Parameter(
    "profile", "string", "a profile by name; `default` without it, else your first one"
)
ANY_PROFILE: Final = Parameter("profile", "string", "look in this profile only")
LAST_SEEN: Final = (
    Parameter("Last-Event-ID", "integer", "the event that was seen last", "header", EVENT_ID_MAX),
    Parameter("after", "integer", "the same, for who can't send headers", most=EVENT_ID_MAX),
)
REPLACE: Final = Parameter("replace", "boolean", "replace a document of that name")


def endpoints_of(
    chat: ChatEndpoints,
    chats: ChatsEndpoints,
    looking: LookingEndpoints,
    documents: DocumentsEndpoints,
) -> tuple[Endpoint, ...]:
    """All endpoints of our own form."""
    return (
        *_of_runs(chat),
        *_of_chats(chats),
        *_of_parts(looking),
        *_of_documents(documents),
        *_of_service(looking),
    )


def _of_runs(chat: ChatEndpoints) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "POST",
            "/chat",
            chat.chat,
            "Answers a message. The answer is the stream of the run's events; `X-Run-Id` names "
            "the run.",
            body=ChatRequest,
            answer_type=EVENTS_TYPE,
            problems=("budget-spent", "conversation-busy", "too-many-requests", "unavailable"),
        ),
        Endpoint("GET", "/runs", chat.runs, "Your runs that go on.", answer=RunList),
        Endpoint(
            "GET",
            "/runs/{id}",
            chat.run,
            "How a run is, or ended.",
            answer=RunState,
            problems=("not-found",),
        ),
        Endpoint(
            "GET",
            "/runs/{id}/events",
            chat.events,
            "The events of a run behind the last one that was seen, and those to come; 204 where "
            "none will. A run that a killed service left ends as `interrupted`.",
            answer_type=EVENTS_TYPE,
            parameters=LAST_SEEN,
            problems=("not-found",),
        ),
        Endpoint(
            "POST",
            "/runs/{id}/answer",
            chat.answer,
            "Answers a question of a run (`clarify.request`).",
            body=AnswerRequest,
            status=204,
            problems=("not-found",),
        ),
        Endpoint(
            "DELETE",
            "/runs/{id}",
            chat.cancel,
            "Cancels a run; nothing, if it has ended.",
            status=204,
            problems=("not-found",),
        ),
    )


def _of_chats(chats: ChatsEndpoints) -> tuple[Endpoint, ...]:
    limit = f"how many; {CHATS_SHOWN} without it, at most {CHATS_MAX}"
    return (
        Endpoint(
            "GET",
            "/chats",
            chats.chats,
            "Your conversations, those that were used last first.",
            answer=ChatList,
            parameters=(
                Parameter("limit", "integer", limit, most=CHATS_MAX),
                Parameter(
                    "before",
                    "number",
                    "used before this Unix time: `before` of the answer",
                    most=TIME_MAX,
                ),
            ),
        ),
        Endpoint(
            "GET",
            "/chat/{id:path}/history",
            chats.history,
            "What was said in a conversation, and the run that goes on in it.",
            answer=History,
            parameters=(ANY_PROFILE,),
            problems=("not-found",),
        ),
        Endpoint(
            "GET",
            "/chat/{id:path}/trace",
            chats.trace,
            "What was done in a conversation: the document of `agent.py trace --json`.",
            answer=TraceDocument,
            parameters=(ANY_PROFILE,),
            problems=("not-found",),
        ),
        Endpoint(
            "DELETE",
            "/chat/{id:path}",
            chats.delete,
            "Deletes a conversation for good.",
            status=204,
            parameters=(ANY_PROFILE,),
            problems=("not-found", "conversation-busy"),
        ),
    )


def _of_parts(looking: LookingEndpoints) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "GET",
            "/tools",
            looking.tools,
            "The tools that are known; no server is started to ask it.",
            answer=ToolList,
            parameters=(PROFILE,),
        ),
        Endpoint(
            "GET",
            "/servers",
            looking.servers,
            "The servers of tools, and how they are.",
            answer=ServerList,
            parameters=(PROFILE,),
        ),
        Endpoint(
            "GET",
            "/profiles",
            looking.profiles,
            "The profiles that you may name.",
            answer=ProfileList,
        ),
        Endpoint(
            "GET",
            "/budgets",
            looking.budgets,
            "What is spent of your budgets, and what is left.",
            answer=BudgetList,
            parameters=(PROFILE, Parameter("conversation_id", "string", "count this one, too")),
        ),
    )


def _of_documents(documents: DocumentsEndpoints) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "GET",
            "/documents",
            documents.documents,
            "The files that the agent may read.",
            answer=DocumentList,
            parameters=(PROFILE,),
        ),
        Endpoint(
            "PUT",
            "/documents/{name}",
            documents.put,
            "Keeps the body as a document of that name; the documents server indexes it. 200 "
            "where it replaced one.",
            body=bytes,
            answer=Document,
            status=201,
            parameters=(PROFILE, REPLACE),
            problems=("conflict", "forbidden"),
        ),
    )


def _of_service(looking: LookingEndpoints) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "GET",
            "/health",
            looking.health,
            "Whether runs are taken: 503 while the service ends.",
            answer=Health,
            is_open=True,
        ),
        Endpoint(
            "GET",
            "/metrics",
            looking.metrics,
            "Figures in Prometheus' text format.",
            answer_type=METRICS_TYPE,
        ),
        Endpoint(
            "GET",
            "/problems",
            looking.problems,
            "What the kinds of problems mean, by the end of their `type`.",
            answer=dict[str, ProblemKind],
            is_open=True,
        ),
    )
