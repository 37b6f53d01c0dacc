"""What the engine and the parts that it is given hand each other, and what it asks of them.

`modules/` implements them; `modules/app.py` puts them together.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from core.base.frozen import frozen
from core.dispatch.hooks import ServerStatus
from core.events import Emit, Event
from core.mcp.hooks import OnProgress
from core.provenance.borders import Borders
from core.run.working_memory import WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.record import ToolRecord
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    Attempt,
    Declined,
    Exchange,
    ExplorationMode,
    MemoryItem,
    ModelPurpose,
    NoPlan,
    PerceptionResult,
    Plan,
    PlanningMode,
    PlanStyle,
    TextInput,
    Usage,
)
from core.values import JsonObject


@frozen
class PerceptionInputs:
    """The values that fill the perception prompt; `servers` maps id to description."""

    user_input: str
    servers: dict[str, str]
    tools: ToolCatalog


@frozen
class DecisionInputs:
    """The values that fill a decision prompt.

    `user_input` is the request, or in later steps the request with the last observation
    (`observation`, None in the first). `history` holds earlier exchanges of the session,
    oldest first; `failed` the attempts of this step that failed, oldest first.
    `max_tool_calls` is what the sandbox allows one plan. `images` and `texts` came with the
    request.
    `last_try` is set when no lifeline is left after this plan, and there were some; `shortlist`
    then names the tools that fit the request best. `failing` are tools that failed in plans of
    this step and mostly fail. `may_ask` while the plan may ask back.
    `borders` go around what tools gave, once there is text of theirs that nobody vouches for.
    `down` are servers that were tried in vain and whose tools nobody knows: by id, why.
    `memory` tells what is in the run's working memory; empty where nothing is.
    """

    user_input: str
    tools: ToolCatalog
    perception: PerceptionResult
    history: tuple[Exchange, ...] = ()
    failed: tuple[Attempt, ...] = ()
    observation: str | None = None
    plan_style: PlanStyle = "tools"
    planning_mode: PlanningMode = "conservative"
    exploration_mode: ExplorationMode = "parallel"
    max_tool_calls: int = 5
    step: int = 1
    max_steps: int = 3
    images: tuple["ImageInput", ...] = ()
    texts: tuple[TextInput, ...] = ()
    last_try: bool = False
    shortlist: tuple[str, ...] = ()
    failing: tuple[ToolRecord, ...] = ()
    may_ask: bool = False
    borders: Borders | None = None
    down: Mapping[str, str] = field(default_factory=dict[str, str])
    memory: str = ""


ImageType: TypeAlias = Literal["image/png", "image/jpeg", "image/webp", "image/gif"]


@frozen
class ImageInput:
    """An image that goes with a request; `name` is the path as the user wrote it."""

    name: str
    media_type: ImageType
    data: bytes = field(repr=False)


@frozen
class ModelRequest:
    """What every model backend is asked: a prompt, what it is for, and what filled it.

    Language models read `prompt`; the offline planner reads `inputs`. The first
    `prefix_characters` of the prompt are the same from request to request, so that providers'
    caches hold; they are sent as the system message. `schema` is a JSON Schema of the object that
    the reply should be: backends that can hold a model to it do, the others ignore it.
    `prefer_strongest` asks for the strongest model of a fallback chain. `seed` is what models draw
    with that take one.

    `max_output_tokens` bounds the reply, and a backend may give a model that thinks more on top
    of that; no more than `hard_output_tokens` may be written, thinking included. `listener` hears
    the reply as it is written.
    """

    purpose: ModelPurpose
    prompt: str
    inputs: PerceptionInputs | DecisionInputs | None = None
    prefix_characters: int = 0
    images: tuple[ImageInput, ...] = ()
    schema: JsonObject | None = None
    temperature: float = 0.0
    max_output_tokens: int | None = None
    prefer_strongest: bool = False
    seed: int | None = None
    hard_output_tokens: int | None = None
    listener: "TextListener | None" = field(default=None, repr=False, compare=False)

    @property
    def system(self) -> str:
        """The stable part of the prompt; may be empty."""
        return self.prompt[: self.prefix_characters]

    @property
    def user(self) -> str:
        """The rest of the prompt."""
        return self.prompt[self.prefix_characters :]

    @property
    def is_heard(self) -> bool:
        """Whether a listener has heard of its reply, so that no other can take its place."""
        return self.listener is not None and self.listener.has_heard


@frozen
class TextDelta:
    """A further piece of the reply's text."""

    text: str


@frozen
class ThinkingDelta:
    """A further piece of what a reasoning model thinks; no part of the reply."""

    text: str


@frozen
class NativeToolCall:
    """A tool call in the provider's own form, which models write though nobody offered it."""

    name: str
    arguments: JsonObject


ONE_CALL = Usage(model_calls=1)
"""What a reply takes at least."""

FinishReason: TypeAlias = Literal["stop", "length", "refused"]
"""Why a reply ended: by itself, at the limit of output tokens, or because the model declines."""


@frozen
class ReplyEnd:
    """The last delta of every stream: what the reply took, and why it ended."""

    usage: Usage = ONE_CALL
    finish: FinishReason = "stop"


ReplyDelta: TypeAlias = TextDelta | ThinkingDelta | NativeToolCall | ReplyEnd


class TextListener:
    """Hears the text of one request's reply piece by piece.

    Attributes:
        has_heard: whether a piece has come. What was heard stands, so that the request is not
            sent again then, to this model or another.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """`tell` gets each piece, and doesn't wait."""
        self.has_heard = False
        self._tell = tell

    def hear(self, delta: ReplyDelta) -> None:
        """Tell what there is of text in a delta."""
        if isinstance(delta, TextDelta) and delta.text:
            self.has_heard = True
            self._tell(delta.text)


@frozen
class ModelReply:
    """A model's whole reply.

    `declined` marks a text that says why there is no plan (`finish` "refused"); `truncated` one
    that was cut off at the limit of output tokens, and `limit` says to a person which limit that
    was. `model` is the name of the one that answered.
    """

    text: str
    usage: Usage = ONE_CALL
    declined: bool = False
    thinking: str = ""
    tool_calls: tuple[NativeToolCall, ...] = ()
    truncated: bool = False
    model: str = ""
    limit: str = ""


@frozen
class ModelTraits:
    """What a model can do, as far as its backend knows.

    `images`: it sees them; `context_tokens`: prompt and reply together, None where nobody says.
    `strength` orders models of one chain.
    `deterministic`: asked the same again, it says the same, so that it has mostly nothing else to
    say after a failure. `reads_text`: it reads prompts; else only what would fill them, and none
    is written for it. `takes_seed`: a request may say what it draws with.
    `characters_per_token`: of the prompts that it has read so far, as its own tokenizer counted
    them; None before the first.
    """

    images: bool = False
    context_tokens: int | None = None
    strength: float = 0.0
    deterministic: bool = False
    reads_text: bool = True
    takes_seed: bool = False
    characters_per_token: float | None = None


class TextModel(Protocol):
    """A model backend: streams one reply, and leaves retries, limits and sums to its manager."""

    @property
    def name(self) -> str:
        """How the user knows it, such as `gemini:gemini-2.5-flash` or `offline`."""
        ...

    @property
    def traits(self) -> ModelTraits:
        """What it can do."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written, `ReplyEnd` last; closing the generator stops the model.

        Raises:
            ModelUnavailable: the backend can't be reached, has no key, or refused; `transient`
                where another try may help.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; safe to call twice."""
        ...


class CountingModel(Protocol):
    """The model that the engine is given: one or a chain of them, watched and added up."""

    @property
    def name(self) -> str:
        """The name of the model that answers at present."""
        ...

    @property
    def traits(self) -> ModelTraits:
        """What that model can do."""
        ...

    @property
    def usage(self) -> Usage:
        """Sum over all requests so far."""
        ...

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """The same by the names of the models that answered."""
        ...

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer one request.

        Raises:
            ModelUnavailable: no model of the chain could.
            BudgetSpent: the run may use no more.
        """
        ...

    def telling(self, emit: Emit) -> AbstractContextManager[None]:
        """Within the `with`, one run: tell its model events, and hold it to its budget."""
        ...


class RequestRun(Protocol):
    """One run of one request: `core.loop.AgentLoop`, or one that may go in parts."""

    def run(self) -> AsyncGenerator[Event, None]:
        """Its events; the last one is always `RunFinished`."""
        ...

    def interrupt(self) -> None:
        """Stop it; its outcome is "interrupted"."""
        ...


class SessionMemory(Protocol):
    """What a session has kept, as the engine reads and extends it."""

    def add(self, item: MemoryItem) -> None:
        """Keep one more item.

        Raises:
            StorageError: it could not be written; it is kept in this process all the same.
        """
        ...

    def get_session_items(self) -> list[MemoryItem]:
        """All items of the session, oldest first."""
        ...


CallTool: TypeAlias = Callable[[ToolSpec, JsonObject], Awaitable[ToolResult]]
"""Sends one call of an offered tool, arguments in the server's own form."""


OnRepaired: TypeAlias = Callable[[tuple[str, ...]], Awaitable[None]]
"""Hears, before a plan runs, which mistakes in it were repaired: a phrase each."""


class Condense(Protocol):
    """Shortens a step's text for the next step's prompt."""

    async def __call__(self, request: str, text: str, room_characters: int) -> str:
        """What of `text` helps to answer `request`, in at most `room_characters`.

        Raises:
            ModelUnavailable: a model that was to summarise can't be reached.
            BudgetSpent: the run may use no more.
        """
        ...


class AskUser(Protocol):
    """Puts a question of a plan to the user."""

    async def __call__(self, question: str) -> str | None:
        """The user's answer; None if nobody is there, or wants to answer."""
        ...


class RunPlan(Protocol):
    """The action step: run a plan with the offered tools, reached through `call`."""

    async def __call__(
        self,
        plan: Plan,
        tools: ToolCatalog,
        call: CallTool,
        on_repaired: OnRepaired | None = None,
        memory: WorkingMemory | None = None,
    ) -> ActionResult:
        """Run it; what goes wrong in the plan is a `PlanFailed` value.

        The plan finds what is in `memory`, which holds afterwards what the plan has left there.
        """
        ...


PlannedCall: TypeAlias = tuple[ToolSpec, JsonObject]
"""A call that stands in a plan's text with all its arguments, in the server's own form."""


ReadCalls: TypeAlias = Callable[[str, ToolCatalog], Sequence[PlannedCall]]
"""The calls that can be read from a plan's text; takes a moment."""


RecallTools: TypeAlias = Callable[[], Awaitable[Mapping[str, ToolRecord]]]
"""How the newest calls of tools went, over sessions, by qualified names; takes a moment."""


SpendCall: TypeAlias = Callable[[], Awaitable[None]]
"""Counts a tool call that is about to be sent; raises `BudgetSpent` if none may be sent."""


PlanReply: TypeAlias = Plan | Declined | NoPlan
"""A plan, the model's reason for having none, or a reply that held no plan."""


class GeneratePlan(Protocol):
    """The decision step: ask the model for a plan."""

    async def __call__(self, inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        """Write one plan from `inputs` with the template at `prompt_path`.

        Raises:
            ModelUnavailable: the model can't be reached or refused.
        """
        ...


class ToolCaller(Protocol):
    """Sends one tool call: the dispatcher, seen from the sandbox."""

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call `server.tool` (or an unambiguous bare name) with the server's own arguments.

        `on_progress` hears what the server reports meanwhile.

        Raises:
            CallRefused: no such tool, or several.
            ServerError: the server is down, died, or did not answer in time.
        """
        ...

    @property
    def catalog(self) -> ToolCatalog:
        """Every tool that is known; the same catalogue while none has changed."""
        ...


class Dispatcher(ToolCaller, Protocol):
    """The dispatcher, seen from the loop."""

    def status(self) -> list[ServerStatus]:
        """How each server is; starts nothing."""
        ...

    async def prepare(self, tool: ToolSpec) -> None:
        """Have the tool's server running, so that a call after this takes only its own time.

        Raises:
            ServerError: the server did not start.
        """
        ...

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call a tool whose server was prepared, with the server's own arguments.

        Raises:
            CallRefused: the tool is not on offer any more.
            ServerError: the server is down, died, or did not answer in time.
        """
        ...

    async def learn_more(self) -> bool:
        """Learn the tools of servers that were not waited for; whether there are more tools now."""
        ...
