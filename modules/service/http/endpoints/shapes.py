"""The JSON of requests and answers; the types are also their schemas in the OpenAPI document."""

from typing import Annotated, Final, Literal, NotRequired, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from typing_extensions import TypedDict

from core.asking import Answer
from core.values import Json, JsonObject
from modules.service.http.problems import Refused

Asked = TypeVar("Asked", bound="Query")
Body = TypeVar("Body", bound=BaseModel)

JSON_TYPE: Final = "application/json"

CHATS_SHOWN: Final = 50
CHATS_MAX: Final = 500

TIME_MAX: Final = 1e11

EVENT_ID_MAX: Final = 10**9 - 1
"""The highest number of an event that is taken."""

IN_HEADER: Final = "Last-Event-ID"
"""The one value that stands in a header: browsers send it when they come back for events."""

Time: TypeAlias = Annotated[float, Field(description="Unix time in seconds")]


class Query(BaseModel):
    """What may stand in a query; numbers begin at 0, and other keys are passed over."""

    model_config = ConfigDict(frozen=True)


class OfProfile(Query):
    """Asks for what belongs to a profile (`guard.profile_of`)."""

    profile: str = Field(
        "", description="a profile by name; `default` without it, else your first one"
    )


class OfAnyProfile(Query):
    """Asks for what may belong to any profile."""

    profile: str = Field("", description="look in this profile only")


class EventsQuery(Query):
    """Says which event was seen last."""

    last_event_id: int = Field(
        0, alias=IN_HEADER, ge=0, le=EVENT_ID_MAX, description="the event that was seen last"
    )
    after: int = Field(0, ge=0, le=EVENT_ID_MAX, description="the same, for who can't send headers")


class ChatsQuery(Query):
    """Says which conversations are listed."""

    limit: int = Field(
        CHATS_SHOWN,
        ge=0,
        le=CHATS_MAX,
        description=f"how many; {CHATS_SHOWN} without it, at most {CHATS_MAX}",
    )
    before: float = Field(
        TIME_MAX,
        ge=0,
        le=TIME_MAX,
        description="used before this Unix time: `before` of an answer",
    )


class BudgetsQuery(OfProfile):
    """Says which budgets are told."""

    conversation_id: str = Field("", description="count this one, too")


class PutQuery(OfProfile):
    """Says how a document is kept."""

    replace: bool = Field(False, description="replace a document of that name")


class Sent(BaseModel):
    """What a client sends; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SentText(Sent):
    """A text that goes with a message; plans have it as a variable."""

    name: str = Field(min_length=1, max_length=200, description="what it is called: a file's name")
    text: str


class ChatRequest(Sent):
    """A message, and how it is to be answered."""

    message: str = Field(min_length=1, description="what is asked; at most 100,000 characters")
    conversation_id: str | None = Field(
        None, max_length=200, description="goes on with it, or begins one of a plain name"
    )
    profile: str | None = Field(
        None, max_length=100, description="its name; `default` without it, else your first one"
    )
    max_cost: float | None = Field(None, gt=0, le=1_000_000, description="in US dollars")
    on_disconnect: Literal["cancel", "continue"] = Field(
        "cancel", description="what becomes of the run when the connection ends before it"
    )
    texts: list[SentText] = Field(
        default_factory=list[SentText],
        max_length=20,
        description="texts that go along, each with a `name`; plans have them as variables",
    )


class AnswerRequest(Sent):
    """The answer to a question of a run: a text or the value of an option, or a form's values."""

    question_id: str = Field(max_length=100, description="`question.id` of the event")
    text: str = Field("", max_length=100_000, description="in words, or the value of an option")
    content: JsonObject = Field(
        default_factory=dict[str, Json], description="the values of a form, by name"
    )
    declined: bool = Field(False, description="there will be no answer")
    rule: str = Field(
        "",
        max_length=100_000,
        description="with the options `session` and `always`: is kept in place of `rules`",
    )
    only: list[int] | None = Field(
        None, description="with a yes: the numbers of the `calls` that are allowed, from 0"
    )

    @property
    def answer(self) -> Answer:
        """What the person said."""
        only = None if self.only is None else tuple(self.only)
        return Answer(self.text, self.content, self.declined, self.rule, only)


class RenameRequest(Sent):
    """What a conversation is to be called."""

    name: str = Field(max_length=1_000, description="its title in lists; 200 characters are kept")


class Problem(TypedDict):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    trace_id: NotRequired[str]
    retry_after: NotRequired[float]
    budget: NotRequired[JsonObject]


class RunState(TypedDict):
    """A run; `last_event` is the id of its newest event."""

    id: str
    conversation_id: str | None
    profile: str
    status: Literal["queued", "running", "done", "no_answer", "failed", "interrupted"]
    last_event: int


class RunList(TypedDict):
    """Runs that go on, the oldest first."""

    runs: list[RunState]


class Chat(TypedDict):
    """A conversation; `title` is its first request where it has none."""

    id: str
    title: str
    last_used: Time
    requests: int
    profile: str


class ChatList(TypedDict):
    """Conversations, those that were used last first; `before` asks for the rest."""

    chats: list[Chat]
    before: float | None


class Message(TypedDict):
    """What somebody said in a conversation; `undone` counts no more.

    `grounded` is false of an answer that is from the model's own knowledge.
    """

    role: Literal["user", "assistant"]
    content: str
    at: Time
    undone: bool
    grounded: bool


class History(TypedDict):
    """A conversation, message by message; `run` is the one that goes on in it.

    `title` is its first request where it has none, as in lists.
    """

    id: str
    title: str
    profile: str
    messages: list[Message]
    run: str | None


class Tool(TypedDict):
    """A tool that plans may call."""

    name: str
    server: str
    description: str
    input_schema: JsonObject
    read_only: bool


class ToolList(TypedDict):
    """The tools that are known; `unknown` are servers that have not listed theirs yet."""

    tools: list[Tool]
    unknown: list[str]


class ServerDocument(TypedDict):
    """A server of tools, and how it is."""

    id: str
    state: str
    description: str
    title: str
    version: str
    tools: int | None
    problem: str | None


class ServerList(TypedDict):
    """The servers of a profile."""

    servers: list[ServerDocument]


class Profile(TypedDict):
    """A profile that the user may name; `problem` is why it can't be used."""

    name: str
    title: str
    description: str
    problem: str | None


class ProfileList(TypedDict):
    """The profiles of the user."""

    profiles: list[Profile]


class Document(TypedDict):
    """A file that the agent may read, and what the index knows of it.

    `waiting`: it is indexed when the documents server runs. `why` says why it, or a part of it,
    can't be searched.
    """

    name: str
    size_bytes: int
    modified: Time
    state: Literal["indexed", "waiting", "unreadable"]
    why: str | None


class DocumentList(TypedDict):
    """The files of the user, by name; `is_cut` where there are more."""

    documents: list[Document]
    is_cut: bool


class BudgetState(TypedDict):
    """One budget: what is spent of it, and the most."""

    scope: str
    measure: str
    spent: float
    most: float
    left: float


class BudgetList(TypedDict):
    """The budgets that runs of the profile are held to; none is limited that is not here."""

    budgets: list[BudgetState]


class Health(TypedDict):
    """Whether the service takes runs."""

    status: Literal["ok", "draining"]
    version: str


async def sent(request: Request, kind: type[Body]) -> Body:
    """What stands in the body.

    Raises:
        Refused: it is no JSON, or says that it is something else.
        ValidationError: it is not as it has to be.
    """
    check_type(request, JSON_TYPE)
    return kind.model_validate_json(await request.body())


def check_type(request: Request, wanted: str) -> None:
    """See that the body says it is of a type.

    A browser sends JSON of another site's page only after it has asked whether it may.

    Raises:
        Refused: it is of another one, or says nothing.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        told = f"send the body as {wanted} (Content-Type)"
        raise Refused("unsupported-media-type", told, headers={"Accept": wanted})


def queried(request: Request, kind: type[Asked]) -> Asked:
    """What stands in the query, and in the one header; an empty value is none.

    Raises:
        ValidationError: it is not as it has to be.
    """
    given = {**request.query_params, IN_HEADER: request.headers.get(IN_HEADER)}
    return kind.model_validate({name: value for name, value in given.items() if value})
