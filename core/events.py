"""What the loop tells the world: the one stream that terminal, JSON, memory and trace read.

An event is emitted before the loop goes on, and the loop goes on only when every listener has
dealt with it; so what memory has written is always ahead of what happens next.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import field
from typing import Literal, TypeAlias

from core.base.frozen import frozen
from core.team.board import BoardEntry
from core.team.graph import Subtask, SubtaskState, TaskGraph
from core.team.messages import Message
from core.tools.content import ImageBlock
from core.turn import (
    ModelPurpose,
    PerceptionResult,
    Plan,
    PlanFailure,
    RunOutcome,
    Step,
    ToolCall,
    Usage,
    Verdict,
)
from core.values import JsonObject

Action: TypeAlias = Literal["plan", "graph", "workflow", "ask", "answer"]
"""One plan with tools, a graph of subtasks, a kept workflow, a question back, an answer at once."""


@frozen
class RunStarted:
    """A request enters the loop.

    `trace_id` and `span_id` are those of its execution context, under which OpenTelemetry shows the
    run; empty where it has none.
    """

    session_id: str
    request: str
    model: str
    trace_id: str = field(default="", compare=False)
    span_id: str = field(default="", compare=False)


@frozen
class Notice:
    """Something the user should know that does not end the run; `source` is a log stage."""

    source: str
    text: str


@frozen
class ModelAsked:
    """A request is about to be sent to a model; `purpose` is that of the request.

    All that is told of one request has the same `span_id`, also where it is sent again.
    """

    model: str
    purpose: ModelPurpose
    span_id: str = field(default="", compare=False)


@frozen
class ModelWriting:
    """A model is writing: how many characters of its reply, and of its thinking, have come.

    `text` is the end of the reply as far as it has come.
    """

    model: str
    characters: int
    thinking_characters: int
    text: str = ""


@frozen
class ModelAnswered:
    """A model's reply is complete; times are seconds from the request on.

    `first_token_seconds` is None where the reply came in one piece. `reply` is its text; `prompt`
    is what the model was asked, empty for a planner that reads none, and in what is printed where
    the profile has no trace.prompts.
    """

    model: str
    purpose: ModelPurpose
    usage: Usage
    seconds: float
    first_token_seconds: float | None
    reply: str = field(default="", repr=False, compare=False)
    prompt: str = field(default="", repr=False, compare=False)
    span_id: str = field(default="", compare=False)


@frozen
class ModelRetried:
    """A request failed for a reason that may pass; it is sent again after a pause."""

    model: str
    reason: str
    attempt: int
    pause_seconds: float
    span_id: str = field(default="", compare=False)


@frozen
class ModelFailed:
    """A request is not sent to this model again; another may be asked in its place.

    `is_cut`: it was ended while the model was at work. Then `seconds` is how long that took,
    `reply` what had been written, and `answer` what of it can be read as an answer.
    """

    model: str
    purpose: ModelPurpose
    reason: str
    span_id: str = field(default="", compare=False)
    is_cut: bool = False
    seconds: float = 0.0
    reply: str = field(default="", repr=False, compare=False)
    answer: str = field(default="", repr=False, compare=False)


@frozen
class ModelReplaced:
    """A model can't answer, and the next one of the chain is asked; for good, in this run."""

    model: str
    successor: str
    reason: str


@frozen
class Clarified:
    """The plan asked back; `answer` is None where nobody was there to ask."""

    step: int
    question: str
    answer: str | None


@frozen
class Perceived:
    """Perception of one step is done."""

    step: int
    perception: PerceptionResult


@frozen
class PlanWritten:
    """The model wrote a plan; `prompt_path` is the template that asked for it."""

    step: int
    attempt: int
    plan: Plan
    prompt_path: str


@frozen
class PlanRepaired:
    """Mistakes in the plan were repaired before it ran; `repairs` says which, a phrase each."""

    step: int
    attempt: int
    repairs: tuple[str, ...]


@frozen
class ToolCallStarted:
    """A plan's tool call is about to be sent; `call_id` is unique within the run.

    `span_id` is what the server is told of it (`_meta.traceparent`).
    """

    call_id: int
    tool: str
    arguments: JsonObject
    span_id: str = field(default="", compare=False)


@frozen
class ToolCallProgress:
    """A server reports progress on a call; `total` where it knows one."""

    call_id: int
    tool: str
    progress: float
    total: float | None
    message: str | None


@frozen
class ServerLogged:
    """A server wrote a log message (MCP `notifications/message`).

    `level` is one of syslog's (RFC 5424), as the protocol has them: debug, info, notice, warning,
    error, critical, alert, emergency. May come between runs too.
    """

    server: str
    level: str
    text: str


@frozen
class ToolCallFinished:
    """A tool call ended, well or not; `images` are what it gave beside its result."""

    call_id: int
    call: ToolCall
    images: tuple[ImageBlock, ...] = field(default=(), repr=False)


@frozen
class ToolCallKept:
    """A retry repeats a harmless call that succeeded before: it got that result, nothing was sent.

    `call.seconds` is what the call took when it was sent.
    """

    call: ToolCall


@frozen
class ToolCallRefused:
    """A call was not sent: nobody who is trusted asked for it or a value in it, or nobody pays.

    `reason` is what the plan was told; see `core.provenance`, and `budgets` in the profile.
    """

    tool: str
    arguments: JsonObject
    reason: str


@frozen
class StepFinished:
    """An attempt ended in an answer, an observation or a failure (see `Step.result`)."""

    step: Step


@frozen
class Observed:
    """A step ended in text that the next step works on."""

    step: int
    text: str


@frozen
class Retrying:
    """A plan failed and a lifeline is spent on another."""

    step: int
    attempt: int
    failure: PlanFailure
    lifelines_left: int


@frozen
class ActionChosen:
    """How a request will be answered, and why so; `reason` is for people."""

    action: Action
    reason: str


@frozen
class GraphPlanned:
    """A request will be answered in parts; `notes` say what was changed in the graph, and why."""

    graph: TaskGraph
    notes: tuple[str, ...] = ()


@frozen
class RoleChosen:
    """Who of the team does a subtask, and why; `reason` is for people."""

    subtask: str
    role: str
    reason: str


@frozen
class SubtaskChanged:
    """A subtask is in another state; `text` is its result, or why it has none."""

    subtask: Subtask
    state: SubtaskState
    attempt: int = 1
    text: str = ""
    seconds: float = 0.0


@frozen
class SubtaskEvent:
    """An event of a subtask's own run, which `role` makes; ids of calls are unique within the run.

    `attempt` counts its runs, from 1. Those of a committee's members are one attempt, and go on at
    the same time: `span_id` tells them apart.
    """

    subtask: str
    attempt: int
    event: "Event"
    span_id: str = field(default="", compare=False)
    role: str = field(default="", compare=False)


@frozen
class Replanned:
    """A part of the graph was planned anew; `graph` is the whole of it as it is from now on."""

    failed: str
    reason: str
    graph: TaskGraph


@frozen
class MessageSent:
    """Somebody of the team said something to another, or to all."""

    message: Message


@frozen
class BoardChanged:
    """The coordinator wrote on the whiteboard, or took something off: then the value is empty."""

    entry: BoardEntry


@frozen
class Judged:
    """A result was held against the request; `verdict` decides whether more is planned."""

    verdict: Verdict
    reason: str


@frozen
class Answered:
    """The final answer, without its prefix."""

    text: str


@frozen
class RunFinished:
    """The last event of every run."""

    outcome: RunOutcome


TeamEvent: TypeAlias = (
    GraphPlanned
    | RoleChosen
    | SubtaskChanged
    | SubtaskEvent
    | Replanned
    | MessageSent
    | BoardChanged
    | Judged
)
"""What is told where a request is answered in parts."""

ModelEvent: TypeAlias = (
    ModelAsked | ModelWriting | ModelAnswered | ModelRetried | ModelFailed | ModelReplaced
)
"""What a model tells about its work."""

Event: TypeAlias = (
    RunStarted
    | Notice
    | ModelEvent
    | Perceived
    | PlanWritten
    | PlanRepaired
    | ToolCallStarted
    | ToolCallProgress
    | ServerLogged
    | ToolCallFinished
    | ToolCallKept
    | ToolCallRefused
    | StepFinished
    | Observed
    | Clarified
    | Retrying
    | ActionChosen
    | TeamEvent
    | Answered
    | RunFinished
)

Emit: TypeAlias = Callable[[Event], Awaitable[None]]
"""How a part of the engine tells an event; returns when every listener has dealt with it."""


# The rendezvous between a running task and whoever reads its events.


class EventChannel:
    """Turns a coroutine that emits events into an async iterator of them.

    `emit` returns only after the reader has asked for the next event, so a reader that writes
    to disk is always ahead of the work that follows.
    """

    def __init__(self) -> None:
        """Hold nothing yet; queue and task belong to one `stream` call."""
        self._queue: asyncio.Queue[tuple[Event, asyncio.Future[None]] | None] = asyncio.Queue()
        self._unread = set[asyncio.Future[None]]()
        self._is_closed = False

    async def emit(self, event: Event) -> None:
        """Hand over one event and wait until the reader is done with it; nothing if it has left."""
        if self._is_closed:
            return
        read = asyncio.get_running_loop().create_future()
        self._unread.add(read)
        self._queue.put_nowait((event, read))
        try:
            await read
        finally:
            self._unread.discard(read)

    async def stream(self, work: Callable[[Emit], Awaitable[None]]) -> AsyncGenerator[Event, None]:
        """Run `work(emit)` and yield its events; what it raises comes out at the end.

        Closing the iterator early cancels the work and waits for it.
        """
        task = asyncio.create_task(self._produce(work))
        try:
            while (item := await self._queue.get()) is not None:
                event, read = item
                yield event
                if not read.done():
                    read.set_result(None)
            await task
        finally:
            # Work that was interrupted takes the second cancellation for the first, and ends by
            # telling so: it must not wait for a reader that waits for its end.
            self._is_closed = True
            for read in self._unread:
                if not read.done():
                    read.set_result(None)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _produce(self, work: Callable[[Emit], Awaitable[None]]) -> None:
        try:
            await work(self.emit)
        finally:
            self._queue.put_nowait(None)


class InterruptibleRun:
    """A run that is read as an iterator of its events, and that `interrupt` ends.

    `_run` sets `_task` while it can be interrupted, and looks at `_interrupted` before it begins.
    """

    def __init__(self) -> None:
        """Begin with nothing to interrupt."""
        self._task: asyncio.Task[None] | None = None
        self._interrupted = False

    async def run(self) -> AsyncGenerator[Event, None]:
        """Yield the run's events; the last one is always `RunFinished`."""
        async with aclosing(EventChannel().stream(self._run)) as events:
            async for event in events:
                yield event

    def interrupt(self) -> None:
        """Stop the run at its next wait, or before it begins; its outcome is "interrupted"."""
        if not self._interrupted:
            self._interrupted = True
            if self._task is not None:
                self._task.cancel()

    async def _run(self, emit: Emit) -> None:
        raise NotImplementedError


async def collect(events: AsyncGenerator[Event, None], *listeners: Emit) -> RunOutcome:
    """Read a run to its end, hand every event to the listeners in turn, and give the outcome."""
    outcome: RunOutcome | None = None
    async with aclosing(events):
        async for event in events:
            for listener in listeners:
                await listener(event)
            if isinstance(event, RunFinished):
                outcome = event.outcome
    if outcome is None:
        raise RuntimeError("the run ended without a RunFinished event")
    return outcome
