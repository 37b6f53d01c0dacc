"""The state and the collaborators of one run: what it knows, and all that it has come to."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from config.schema import AgentProfile, StrategyProfile
from core.base.frozen import frozen
from core.errors import SpentBudget
from core.events import Retrying
from core.ports import (
    AskUser,
    Condense,
    CountingModel,
    Dispatcher,
    GeneratePlan,
    ImageInput,
    ReadCalls,
    RecallTools,
    RunPlan,
    SessionMemory,
    SpendCall,
)
from core.provenance.guard import Provenance
from core.run.working_memory import WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.record import ToolRecord
from core.tools.spec import ToolSpec
from core.turn import Attempt, Exchange, MemoryItem, PerceptionResult, Step, TextInput

__all__ = [
    "AgentContext",
    "AgentProfile",
    "Parts",
    "Progress",
    "ProgressStatus",
    "StrategyProfile",
]

ProgressStatus: TypeAlias = Literal["pending", "success", "failure"]


@dataclass(slots=True)
class Progress:
    """Progress of one plan or tool call, for whoever inspects a run."""

    step: int
    tool: str
    status: ProgressStatus


class Perceive(Protocol):
    """The perception step; see `modules.perception.run_perception`."""

    def __call__(
        self, context: "AgentContext", user_input: str | None = None
    ) -> Awaitable[PerceptionResult]:
        """Perceive the context's request, or `user_input` in its place."""
        ...


@frozen
class Parts:
    """The replaceable parts of the loop; `modules.app` chooses them, tests give their own.

    `describe_tool` renders one tool as it stands in a prompt. `condense` shortens what is too
    long for the next step, which is cut where there is none; without `ask_user`, no plan asks.
    `recall_tools` is asked once a run, when a plan has failed. `spend_call` is asked before each
    call that is sent, where calls are bounded. `read_calls` is asked where a call of a plan was
    refused because nobody could allow it: the plan's other calls may need a yes, too.
    """

    perceive: Perceive
    generate_plan: GeneratePlan
    run_plan: RunPlan
    describe_tool: Callable[[ToolSpec, ToolCatalog], str]
    condense: Condense | None = None
    ask_user: AskUser | None = None
    recall_tools: RecallTools | None = None
    spend_call: SpendCall | None = None
    read_calls: ReadCalls | None = None


class AgentContext:
    """Everything that one run knows: the request, the session, and the parts it works with."""

    def __init__(
        self,
        user_input: str,
        session_id: str,
        dispatcher: Dispatcher,
        mcp_server_descriptions: Mapping[str, str],
        *,
        profile: AgentProfile,
        memory: SessionMemory,
        model: CountingModel,
        parts: Parts,
        history: tuple[Exchange, ...] = (),
        images: tuple[ImageInput, ...] = (),
        texts: tuple[TextInput, ...] = (),
        provenance: Provenance | None = None,
        readable: Collection[str] = (),
        said: Sequence[str] | None = None,
        remembered: Sequence[str] = (),
    ) -> None:
        """Keep what is given; starts nothing and writes nothing.

        Without `provenance`, no plan's values are checked, and no text of a tool is bordered.
        `readable` are variables of plans whose texts a step may be given to read. `said` are the
        user's words where the request is not the user's own: a part of one that somebody wrote.
        `remembered` are facts and earlier sessions that the prompt tells of.
        """
        self._said = said
        self.remembered = remembered
        self.readable = readable
        self.provenance = provenance
        self.images = images
        self.texts = texts
        self.user_input = user_input
        self.history = history
        self.session_id = session_id
        self.dispatcher = dispatcher
        self.mcp_server_descriptions = dict(mcp_server_descriptions)
        self.agent_profile = profile
        self.memory = memory
        self.model = model
        self.parts = parts
        self.step = 0
        self.task_progress: list[Progress] = []
        self.final_answer: str | None = None
        self.user_input_override: str | None = None

    @property
    def said(self) -> tuple[str, ...]:
        """The user's words: the names of images, earlier requests, and at the end this one."""
        if self._said is not None:
            return tuple(self._said)
        earlier = (exchange.request for exchange in self.history)
        return (*(image.name for image in self.images), *earlier, self.user_input)

    @property
    def current_input(self) -> str:
        """What the current step works on: the override of a later step, else the request."""
        return self.user_input_override or self.user_input

    @property
    def basic_tools(self) -> frozenset[str]:
        """Qualified names of the tools that the profile always ranks high."""
        return frozenset(
            f"{server.id}.{tool}"
            for server in self.agent_profile.mcp_servers
            for tool in server.basic_tools
        )

    def add_memory(self, item: MemoryItem) -> None:
        """Keep one item in the session.

        Raises:
            StorageError: it could not be written.
        """
        self.memory.add(item)

    def log_subtask(self, tool_name: str, status: ProgressStatus = "pending") -> None:
        """Note that work on `tool_name` began in the current step."""
        self.task_progress.append(Progress(self.step, tool_name, status))

    def update_subtask_status(self, tool_name: str, status: ProgressStatus) -> None:
        """Set the status of the newest subtask of that name in the current step."""
        for subtask in reversed(self.task_progress):
            if subtask.tool == tool_name and subtask.step == self.step:
                subtask.status = status
                return


@dataclass(slots=True)
class Run:
    """One run: what it works on, what has come of it so far, and where it stands.

    Attributes:
        request: the user's, with what the user said when a plan asked back.
        last_step: after so many steps it ends.
        lifelines_a_step: how many further plans a step may ask for after one that failed.
        number: the step that it is in, from 1.
        lifelines: those of this step that are left.
        failed: the plans of this step that failed, oldest first.
        steps: every plan that was run, or could not be.
        observation: what the last step found, for this one to read.
        read: the texts that steps were given to read, oldest first.
        done: what is told beside the next of them: calls that must not be made again.
        memory: what its plans have put there for later ones.
        found_tools: qualified names of the tools that plans have searched for.
        tool_records: how tools did over sessions; None until a plan has failed.
        questions: how often plans have asked the user back.
        is_unanswered: whether one of these questions got no answer.
        has_words: whether a reply of this step was an answer in words, without a plan.
        retrying: what is yet to be told of a further plan.
        budget: the one that ended it, if it was that.
        seconds: wall time by phase.
    """

    request: str
    last_step: int
    lifelines_a_step: int
    number: int = 0
    lifelines: int = 0
    failed: list[Attempt] = field(default_factory=list[Attempt])
    steps: list[Step] = field(default_factory=list[Step])
    observation: str | None = None
    read: list[str] = field(default_factory=list[str])
    done: str = ""
    memory: WorkingMemory = field(default_factory=WorkingMemory)
    found_tools: dict[str, None] = field(default_factory=dict[str, None])
    tool_records: Mapping[str, ToolRecord] | None = None
    questions: int = 0
    is_unanswered: bool = False
    has_words: bool = False
    retrying: Retrying | None = None
    budget: SpentBudget | None = None
    seconds: dict[str, float] = field(
        default_factory=lambda: {"perception": 0.0, "decision": 0.0, "action": 0.0}
    )

    @property
    def attempt(self) -> int:
        """Which plan of this step is the next, from 1."""
        return len(self.failed) + 1

    def begin_step(self) -> None:
        """Go on to the next step, with all its lifelines."""
        self.number += 1
        self.has_words = False
        self.lifelines = self.lifelines_a_step
        self.failed = []
