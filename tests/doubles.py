"""Stand-ins that are injected where a test needs no model, server or disk."""

import io
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeAlias

from config.schema import AgentProfile, AgentSection, SandboxSection, ServerEntry, StrategyProfile
from core.base.timing import Timing
from core.context import AgentContext, Parts
from core.dispatch.hooks import ServerStatus
from core.events import Emit
from core.mcp.hooks import OnProgress
from core.ports import (
    AskUser,
    CallTool,
    Condense,
    DecisionInputs,
    ModelReply,
    ModelRequest,
    ModelTraits,
    OnRepaired,
    PlanReply,
    SpendCall,
)
from core.run.working_memory import WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    Exchange,
    FurtherProcessing,
    MemoryItem,
    PerceptionResult,
    Plan,
    ToolCall,
    Usage,
)
from core.values import Json, JsonObject
from modules.models.credentials import KeyringBackend


class Terminal(io.StringIO):
    """A stream that says it is a terminal, of unknown width."""

    def isatty(self) -> bool:
        """So it says."""
        return True


class MemoryKeyring:
    """A keyring in a dictionary; counts how often it was opened."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.opened = 0

    def open(self) -> KeyringBackend:
        """Open it: a backend is its own."""
        self.opened += 1
        return self

    def get_password(self, service: str, username: str, /) -> str | None:
        """As of any keyring."""
        return self.secrets.get((service, username))

    def set_password(self, service: str, username: str, password: str, /) -> None:
        """Likewise."""
        self.secrets[service, username] = password

    def delete_password(self, service: str, username: str, /) -> None:
        """Likewise."""
        del self.secrets[service, username]


def tool(name: str, server: str = "math", description: str = "A tool.", **types: str) -> ToolSpec:
    """A tool with an `input` wrapper around required arguments of the given JSON types."""
    fields: JsonObject = {key: {"type": kind} for key, kind in types.items()}
    wrapped: JsonObject = {"type": "object", "properties": fields, "required": [*types]}
    return ToolSpec(
        server=server,
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {"input": {"$ref": "#/$defs/Input"}},
            "required": ["input"],
            "$defs": {"Input": wrapped},
        },
    )


def text_result(text: str, *, is_error: bool = False) -> ToolResult:
    """A result that is one text block."""
    return ToolResult((TextBlock(text),), is_error=is_error)


def value_result(value: Json) -> ToolResult:
    """A structured result, as the bundled servers answer."""
    return ToolResult((), structured={"result": value})


def reading(text: str) -> FurtherProcessing:
    """What a plan gives that wants the text of a tool to be read."""
    return FurtherProcessing(text, (ToolCall("docs.read", {}, True, text, 0.01),))


def profile(
    strategy: StrategyProfile | None = None, servers: Sequence[ServerEntry] = ()
) -> AgentProfile:
    """A profile with the given strategy and servers, defaults elsewhere."""
    return AgentProfile(
        agent=AgentSection(name="Test", id="test_1"),
        strategy=strategy or StrategyProfile(),
        sandbox=SandboxSection(),
        mcp_servers=tuple(servers),
    )


@dataclass
class FakeModel:
    """A model that is never asked: the doubles of `FakeParts` stand before it."""

    name: str = "fake"
    usage: Usage = field(default_factory=Usage)
    traits: ModelTraits = field(default_factory=ModelTraits)
    usage_by_model: dict[str, Usage] = field(default_factory=dict[str, Usage])
    told: list[Emit] = field(default_factory=list["Emit"])

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Fail: nothing in these tests should reach a model."""
        raise AssertionError(f"unexpected {request.purpose} request")

    def telling(self, emit: Emit) -> AbstractContextManager[None]:
        """Remember who was to be told."""
        self.told.append(emit)
        return nullcontext()

    async def aclose(self) -> None:
        """Nothing to release."""


@dataclass
class FakeMemory:
    """Session memory in a list."""

    items: list[MemoryItem] = field(default_factory=list[MemoryItem])

    def add(self, item: MemoryItem) -> None:
        """Keep one item."""
        self.items.append(item)

    def get_session_items(self) -> list[MemoryItem]:
        """All items."""
        return self.items


class FakeDispatcher:
    """Answers calls from a table of tool name to result or exception; counts them."""

    def __init__(
        self, tools: Sequence[ToolSpec], answers: dict[str, ToolResult | Exception]
    ) -> None:
        self.catalog = ToolCatalog(tools)
        self._answers = answers
        self.calls: list[tuple[str, JsonObject]] = []
        self.statuses: list[ServerStatus] = []

    async def prepare(self, tool: ToolSpec) -> None:
        """Nothing to start."""

    async def learn_more(self) -> bool:
        """No other server."""
        return False

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """What `send` gives for the tool of that name."""
        return await self.send(self.catalog.resolve(tool_name), arguments, on_progress)

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """The table's answer for the tool."""
        self.calls.append((tool.qualified_name, arguments))
        answer = self._answers[tool.qualified_name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def status(self) -> list[ServerStatus]:
        """What was put there."""
        return self.statuses


Runner: TypeAlias = Callable[[ToolCatalog, CallTool], Awaitable[ActionResult]]
"""What a plan does when it runs."""


@dataclass
class FakeParts:
    """A scripted engine: plan replies in order, and what each plan's run results in.

    `results` maps a plan's source to its results, one a run; a callable result gets the
    plan's tools and call door. `repairs` maps the source of a plan to what is repaired in it.
    """

    replies: list[PlanReply | Exception]
    results: dict[str, list[ActionResult | Runner]]
    perception: PerceptionResult = field(default_factory=PerceptionResult)
    inputs: list[DecisionInputs] = field(default_factory=list[DecisionInputs])
    prompt_paths: list[str] = field(default_factory=list[str])
    perceived: list[str | None] = field(default_factory=list["str | None"])
    ran: list[str] = field(default_factory=list[str])
    repairs: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    condense: Condense | None = None
    ask_user: AskUser | None = None
    spend_call: SpendCall | None = None

    def parts(self) -> Parts:
        """The parts that a context is given."""
        return Parts(
            self._perceive,
            self._generate,
            self._run,
            lambda t, _: t.description,
            self.condense,
            self.ask_user,
            spend_call=self.spend_call,
        )

    async def _perceive(
        self, context: AgentContext, user_input: str | None = None
    ) -> PerceptionResult:
        self.perceived.append(user_input)
        return self.perception

    async def _generate(self, inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        self.inputs.append(inputs)
        self.prompt_paths.append(prompt_path)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _run(
        self,
        plan: Plan,
        tools: ToolCatalog,
        call: CallTool,
        on_repaired: OnRepaired | None = None,
        memory: WorkingMemory | None = None,
    ) -> ActionResult:
        self.ran.append(plan.source)
        if on_repaired is not None and plan.source in self.repairs:
            await on_repaired(self.repairs[plan.source])
        result = self.results[plan.source].pop(0)
        return await result(tools, call) if callable(result) else result


def planned(**results: ActionResult | Runner) -> FakeParts:
    """Plans of these names, written in this order, and what each one's run results in."""
    return FakeParts([*map(Plan, results)], {name: [one] for name, one in results.items()})


def context(
    fakes: FakeParts,
    *,
    request: str = "a request",
    strategy: StrategyProfile | None = None,
    dispatcher: FakeDispatcher | None = None,
    memory: FakeMemory | None = None,
    model: FakeModel | None = None,
    history: tuple[Exchange, ...] = (),
) -> AgentContext:
    """A context whose every collaborator is a double."""
    return AgentContext(
        request,
        "2026/11/21/session-1-abcdef",
        dispatcher or FakeDispatcher([], {}),
        {"math": "arithmetic"},
        profile=profile(strategy),
        memory=memory or FakeMemory(),
        model=model or FakeModel(),
        parts=fakes.parts(),
        history=history,
    )


@dataclass
class HandClock:
    """Time that passes in pauses only, which are over at once; chance always draws `drawn`."""

    seconds: float = 0.0
    drawn: float = 1.0
    pauses: list[float] = field(default_factory=list[float])

    def __call__(self) -> float:
        """The time."""
        return self.seconds

    @property
    def timing(self) -> Timing:
        """What a manager is given."""
        return Timing(now=lambda: self.seconds, sleep=self._sleep, draw=lambda: self.drawn)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds
