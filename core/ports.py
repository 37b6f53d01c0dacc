"""What the engine asks of the parts it is given: protocols, no code.

`modules/` implements them; `modules/app.py` puts them together.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from core.catalog import ToolCatalog
from core.content import ToolResult
from core.mcp.hooks import OnProgress
from core.memory_item import MemoryItem
from core.tool_spec import ToolSpec
from core.turn import (
    ActionResult,
    Attempt,
    Declined,
    Exchange,
    ExplorationMode,
    NoPlan,
    PerceptionResult,
    Plan,
    PlanningMode,
    PlanStyle,
    Usage,
)
from core.values import JsonObject


@dataclass(frozen=True, slots=True)
class PerceptionInputs:
    """The values that fill the perception prompt; `servers` maps id to description."""

    user_input: str
    servers: dict[str, str]
    tools: ToolCatalog


@dataclass(frozen=True, slots=True)
class DecisionInputs:
    """The values that fill a decision prompt.

    `user_input` is the request, or in later steps the request with the last observation
    (`observation`, None in the first). `history` holds earlier exchanges of the session,
    oldest first; `failed` the attempts of this step that failed, oldest first.
    `max_tool_calls` is what the sandbox allows one plan.
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


ModelPurpose: TypeAlias = Literal["perception", "decision", "text"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What every model backend is asked: a prompt, what it is for, and what filled it.

    Language models read `prompt`; the offline planner reads `inputs`.
    """

    purpose: ModelPurpose
    prompt: str
    inputs: PerceptionInputs | DecisionInputs | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's text. `declined` marks a reply that says why there is no plan."""

    text: str
    usage: Usage = field(default_factory=lambda: Usage(model_calls=1))
    declined: bool = False


class TextModel(Protocol):
    """A model backend."""

    @property
    def name(self) -> str:
        """How the user knows it, such as `gemini:gemini-2.5-flash` or `offline`."""
        ...

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer one request.

        Raises:
            ModelUnavailable: the backend can't be reached, has no key, or refused.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; safe to call twice."""
        ...


class CountingModel(TextModel, Protocol):
    """A model that adds up what it has used; what the engine is given."""

    @property
    def usage(self) -> Usage:
        """Sum over all requests so far."""
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
"""Hears, before a plan runs, which slips in it were put right: a phrase each."""


class RunPlan(Protocol):
    """The action step: run a plan with the offered tools, reached through `call`."""

    async def __call__(
        self, plan: Plan, tools: ToolCatalog, call: CallTool, on_repaired: OnRepaired | None = None
    ) -> ActionResult:
        """Run it; what goes wrong in the plan is a `PlanFailed` value."""
        ...


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

    def get_all_tools(self) -> list[ToolSpec]:
        """Every tool that is known."""
        ...


class Dispatcher(ToolCaller, Protocol):
    """The dispatcher, seen from the loop."""

    async def prepare(self, tool_name: str) -> None:
        """Have the tool's server running, so that a call after this takes only its own time.

        Raises:
            CallRefused: no such tool, or several.
            ServerError: the server did not start.
        """
        ...
