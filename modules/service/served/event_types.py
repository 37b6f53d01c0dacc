"""The events that a run tells over HTTP, by name: their fields, which are their schemas too."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, NotRequired

from typing_extensions import TypedDict

from core.turn import RunStatus, Verdict
from core.values import Json, JsonObject


class EventBase(TypedDict):
    """What every event has; `step` and `attempt` where it belongs to a part of a graph."""

    type: str
    run: str
    at: Annotated[float, "Unix time in seconds"]
    step: NotRequired[str]
    attempt: NotRequired[int]


class RunQueued(EventBase):
    """The run waits for its turn."""

    place: int


class RunBegun(EventBase):
    """The request is being answered."""

    conversation_id: str
    request: str
    model: str
    trace_id: str


class Thinking(EventBase):
    """A model is asked."""

    message: str
    stage: str
    model: str


class Decided(EventBase):
    """How the request will be answered."""

    action: str
    reason: str


class PlanWrittenEvent(EventBase):
    """A plan was written: Python."""

    number: int
    attempt_number: int
    source: str


class PlanRepairedEvent(EventBase):
    """Mistakes in the plan were repaired before it ran."""

    number: int
    attempt_number: int
    repairs: list[str]


class PlanFailedEvent(EventBase):
    """The plan failed, and another will be asked for."""

    number: int
    attempt_number: int
    failure: str
    lifelines_left: int


class PlanObserved(EventBase):
    """The plan ended in a text that the next one works on."""

    number: int
    text: str


class ModelAnsweredEvent(EventBase):
    """A model's reply is complete; `cost` in US dollars."""

    model: str
    purpose: str
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float


class ModelTrouble(EventBase):
    """A model could not answer; it is asked again after the pause, or its successor is."""

    model: str
    message: str
    pause_seconds: NotRequired[float]
    successor: NotRequired[str]


class ToolStart(EventBase):
    """A tool (`server.tool`) is called; `call` is unique within the run or the part."""

    call: int
    tool: str
    arguments: JsonObject


class ToolProgress(EventBase):
    """A server reports progress on a call."""

    call: int
    tool: str
    progress: float
    total: float | None
    message: str | None


class ToolContent(EventBase):
    """What a call gave beside its result, an image say."""

    call: int
    tool: str
    content_type: str
    encoding: NotRequired[Literal["base64"]]
    data: str
    metadata: JsonObject


class ToolComplete(EventBase):
    """A call ended well; with `kept` nothing was sent, an earlier result was given again."""

    call: int | None
    tool: str
    result: Json
    seconds: float
    content_count: int
    kept: bool


class ToolError(EventBase):
    """A call ended in an error, or was refused and never sent."""

    call: int | None
    tool: str
    message: str
    seconds: float
    refused: bool
    arguments: NotRequired[JsonObject]


class WorkflowStep(TypedDict):
    """One part of a graph."""

    id: str
    description: str
    role: str | None
    after: list[str]


class WorkflowCreated(EventBase):
    """The request is answered in parts; `replanned` is why the graph was made anew."""

    steps: list[WorkflowStep]
    notes: list[str]
    replanned: str | None


class WorkflowStepStart(EventBase):
    """A part begins, or somebody was chosen for it."""

    role: str | None


class WorkflowStepComplete(EventBase):
    """A part ended."""

    state: str
    text: str
    seconds: float


class WorkflowMessage(EventBase):
    """Somebody of the team said something; `to` is None for all."""

    sender: str
    to: str | None
    kind: str
    text: str


class WorkflowJudged(EventBase):
    """A result was held against the request."""

    verdict: str
    reason: str


class WorkflowBoard(EventBase):
    """The coordinator wrote on the whiteboard, or took something off: then the text is empty."""

    topic: str
    key: str
    text: str
    who: str


class WorkflowComplete(EventBase):
    """All parts have ended: their states by id."""

    states: dict[str, str]


ShownValueDocument = TypedDict("ShownValueDocument", {"name": str, "value": Json, "from": str})
"""An argument of a call, and in words where its value comes from."""


class AskedCallDocument(TypedDict):
    """A call that waits for leave."""

    tool: str
    values: list[ShownValueDocument]


class QuestionDocument(TypedDict):
    """A question to the person; see `core.asking.Question`."""

    id: str
    kind: str
    text: str
    detail: str
    options: dict[str, str]
    form: JsonObject
    url: str | None
    default: str | None
    tool: str
    step: str
    calls: list[AskedCallDocument]
    why: list[str]
    rules: list[str]


class ClarifyRequest(EventBase):
    """The person is asked; `POST /runs/{id}/answer` answers."""

    question: QuestionDocument


class ClarifyAnswered(EventBase):
    """A question is open no more."""

    question_id: str
    answered: bool


class NoticeEvent(EventBase):
    """Something worth knowing that ends nothing."""

    source: str
    text: str


class ServerLog(EventBase):
    """A server wrote a log message."""

    server: str
    level: str
    text: str


class ResponseChunk(EventBase):
    """The answer, or a further piece of it: put the pieces together.

    With `more` the answer is still being written. With `restart` nothing of the earlier pieces
    counts, and this one begins the answer anew; `response.done` has it whole.
    """

    content: str
    more: NotRequired[bool]
    restart: NotRequired[bool]


class ErrorEvent(EventBase):
    """Why there is no answer, as a problem document (RFC 9457)."""

    problem: JsonObject


class ResponseDone(EventBase):
    """The last event of every run.

    `grounded` is false of an answer that is from the model's own knowledge.
    """

    status: RunStatus
    verdict: Verdict | None
    grounded: bool | None
    answer: str | None
    message: str
    conversation_id: str | None
    trace_id: str
    usage: JsonObject
    seconds: float


EVENT_TYPES: Final[Mapping[str, type]] = {
    "run.queued": RunQueued,
    "run.started": RunBegun,
    "supervisor.thinking": Thinking,
    "supervisor.decided": Decided,
    "plan.written": PlanWrittenEvent,
    "plan.repaired": PlanRepairedEvent,
    "plan.failed": PlanFailedEvent,
    "plan.observed": PlanObserved,
    "model.answered": ModelAnsweredEvent,
    "model.trouble": ModelTrouble,
    "tool.start": ToolStart,
    "tool.progress": ToolProgress,
    "tool.content": ToolContent,
    "tool.complete": ToolComplete,
    "tool.error": ToolError,
    "workflow.created": WorkflowCreated,
    "workflow.step.start": WorkflowStepStart,
    "workflow.step.complete": WorkflowStepComplete,
    "workflow.message": WorkflowMessage,
    "workflow.judged": WorkflowJudged,
    "workflow.board": WorkflowBoard,
    "workflow.complete": WorkflowComplete,
    "clarify.request": ClarifyRequest,
    "clarify.answered": ClarifyAnswered,
    "notice": NoticeEvent,
    "server.log": ServerLog,
    "response.chunk": ResponseChunk,
    "error": ErrorEvent,
    "response.done": ResponseDone,
}
"""Every event by its name."""
