"""The values that flow through one run, in the order in which they come to be.

`PerceptionResult` → `Plan` → `ActionResult` → `Step` → `RunOutcome`. Frozen dataclasses, except
`PerceptionResult`, which is parsed from model output and so is Pydantic.
"""

import ast
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from core.base.frozen import frozen
from core.errors import ExitCode, SpentBudget
from core.team.graph import GraphOutcome
from core.values import Json, JsonObject

NO_PLAN_ANSWER = "Could not generate valid solve()"
"""What a run says when the model never wrote a plan, in the mission's own words."""

FINAL_ANSWER = "FINAL_ANSWER:"
"""Prefix of a plan's return value that ends the run."""

FURTHER_PROCESSING = "FURTHER_PROCESSING_REQUIRED:"
"""Prefix of a plan's return value that carries its text into the next step."""

CLARIFICATION = "CLARIFICATION_NEEDED:"
"""Prefix of a plan's return value that asks the user back."""

NO_ANSWER = "NO_ANSWER:"
"""Prefix of a plan's return value that says why the request can't be answered."""

VERDICTS = (FINAL_ANSWER, FURTHER_PROCESSING, CLARIFICATION, NO_ANSWER)
"""All of them."""

COMPARED_CHARACTERS = 12 * 1024
"""Longer plans are compared letter by letter; the sandbox takes none that is longer."""

PlanningMode: TypeAlias = Literal["conservative", "exploratory"]
ExplorationMode: TypeAlias = Literal["parallel", "sequential"]
PlanStyle: TypeAlias = Literal["tools", "mcp"]

ModelPurpose: TypeAlias = Literal["perception", "decision", "summary", "text"]
"""What a model is asked for."""

FailureKind: TypeAlias = Literal[
    "syntax",  # not Python, or no solve()
    "unsupported",  # Python that the sandbox's interpreter lacks
    "limit",  # time, memory, recursion, output or number of calls
    "tool",  # a tool call failed and the plan did not handle it
    "error",  # the plan raised
    "crash",  # the sandbox worker died
    "no_plan",  # the model's reply held no solve()
    "cut",  # the model's reply was cut off at the limit of its length, and nothing of it was run
    "repeated",  # the same plan failed before and was not run again
    "answer",  # the answer is not in the form that the request demands
    "no_verdict",  # solve() returned neither FINAL_ANSWER nor FURTHER_PROCESSING_REQUIRED
]


DOCUMENTS_FIT = "documents_fit"
"""The intent of a request for which the documents have passages; the hint is what reads them."""


class PerceptionResult(BaseModel):
    """What the perception step made of a request.

    `selected_servers` is a hint that ranks tools; unknown ids have been dropped.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    intent: str = "unknown"
    entities: list[str] = Field(default_factory=list[str])
    tool_hint: str | None = None
    tags: list[str] = Field(default_factory=list[str])
    selected_servers: list[str] = Field(default_factory=list[str])


@frozen
class TextInput:
    """A text that goes with a request; a plan has it as a variable of that name.

    `source` is what the user calls it, where that is no name for a variable: a path. `grounded` is
    false of a result of another part that rests on nothing (see `RunOutcome`).
    """

    name: str
    text: str = field(repr=False)
    source: str = ""
    grounded: bool = True

    @property
    def lines(self) -> int:
        """How many lines it has; the last need not end in a line break."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def described(self) -> str:
        """`stdin (3 lines, 42 characters)`."""
        lines = "1 line" if self.lines == 1 else f"{self.lines:,} lines"
        return f"{self.source or self.name} ({lines}, {len(self.text):,} characters)"


@frozen
class Exchange:
    """One earlier request of the session and its answer; None if it got none.

    `calls` are those of its calls that succeeded, as a plan would write them: `factorial(a=6)`.
    `grounded` is false where the answer rests on nothing (see `RunOutcome`).
    """

    request: str
    answer: str | None
    calls: tuple[str, ...] = ()
    grounded: bool = True


@frozen
class Plan:
    """A `solve()` plan as the model wrote it, fences removed."""

    source: str

    def is_same_as(self, other: "Plan") -> bool:
        """Whether it does the same, as far as that shows without comments, spaces and quotes.

        A model that is asked again often changes no more than a comment.
        """
        first, second = self.source, other.source
        if first.strip() == second.strip():
            return True
        if max(len(first), len(second)) > COMPARED_CHARACTERS:
            return False
        try:
            return ast.dump(_tree(first)) == ast.dump(_tree(second))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False


def _tree(source: str) -> ast.Module:
    """A plan without docstrings, which say what it does and do nothing."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return tree


@frozen
class Declined:
    """The model says that it can't plan this request, and why; ends the run without an answer."""

    explanation: str


@frozen
class ToolCall:
    """One finished tool call of a plan.

    `tool` is the qualified `server.tool` name; `result` the value that the plan received, or
    the error text when `ok` is false; `seconds` is wall time. With `kept` nothing was sent: a
    plan that failed before made the same call, and `result` and `seconds` are what that took.
    With `refused` nothing was sent either: nobody who is trusted has asked for it, or a budget is
    used up.
    """

    tool: str
    arguments: JsonObject
    ok: bool
    result: Json
    seconds: float
    kept: bool = False
    refused: bool = False

    @property
    def error_text(self) -> str:
        """The error of a call that failed, without the tool's own name at its beginning."""
        text, name = str(self.result), self.tool.rpartition(".")[2]
        return text.removeprefix(f"{name}: ")


@frozen
class PlanFailure:
    """Why a plan gave no result: for the retry prompt and for the user.

    `line` is 1-based in the plan's source, with `line_text` that line's text. `advice` is for the
    person alone: what to set, where no other plan would help. `said` is what a person reads where
    the message also tells the model what to write.
    """

    kind: FailureKind
    message: str
    line: int | None = None
    line_text: str | None = None
    advice: str = ""
    said: str = ""

    @property
    def for_person(self) -> str:
        """One line, without what the model alone is told."""
        return self.said or str(self)

    def __str__(self) -> str:
        """One line: the message, and the offending line where it is known."""
        where = f" (line {self.line}: {self.line_text})" if self.line is not None else ""
        return f"{self.message}{where}"


@frozen
class NoPlan:
    """A model reply that held no `solve()`; `text` is the reply.

    `answer` is what a reply in words alone says, which counts if the model says no plan a second
    time; `declines` marks one that only says that the model won't.
    """

    text: str
    failure: PlanFailure
    answer: str | None = None
    declines: bool = False


@frozen
class FinalAnswer:
    """The plan answered the request; `text` without the `FINAL_ANSWER:` prefix.

    Here and below, `found` are the qualified names of the tools that the plan searched for.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    found: tuple[str, ...] = ()


@frozen
class FurtherProcessing:
    """The plan produced text that the next step must work on."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    found: tuple[str, ...] = ()


@frozen
class PlanFailed:
    """The plan failed; a mistake of the model, carried as a value into the retry."""

    failure: PlanFailure
    calls: tuple[ToolCall, ...] = ()
    found: tuple[str, ...] = ()


@frozen
class AskedBack:
    """The plan asks the user what is meant."""

    question: str
    calls: tuple[ToolCall, ...] = ()
    found: tuple[str, ...] = ()


@frozen
class Unanswered:
    """The plan says that what is asked can't be had, and why."""

    why: str
    calls: tuple[ToolCall, ...] = ()
    found: tuple[str, ...] = ()


ActionResult: TypeAlias = FinalAnswer | FurtherProcessing | AskedBack | Unanswered | PlanFailed


@frozen
class Attempt:
    """One plan that failed in this step, with what its retry needs to know.

    `kept` are the calls, of this plan and of those before it, that the retry may repeat at no
    cost: it gets the result that is kept.
    """

    plan: Plan
    failure: PlanFailure
    calls: tuple[ToolCall, ...]
    kept: tuple[ToolCall, ...] = ()


@frozen
class Step:
    """One finished pass through perception, decision and action, retries included.

    `seconds` is wall time from the start of the plan's request to the end of the action;
    `repairs` says which mistakes in the plan were repaired before it ran, a phrase each.
    """

    number: int
    attempt: int
    perception: PerceptionResult
    plan: Plan
    result: ActionResult
    seconds: float
    repairs: tuple[str, ...] = ()


@frozen
class Usage:
    """Model use: calls made, and tokens where the backend reports them (else 0).

    `input_tokens` counts all that was read, `cached_tokens` those of them that the provider had
    in a cache; `output_tokens` counts all that was written, thinking included, as it is billed.
    `cost` is in US dollars, of the calls whose price is known; `unpriced_calls` are the others.
    `estimated_calls` are those whose service told no tokens: what they took is estimated.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    unpriced_calls: int = 0
    estimated_calls: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Sum of two uses."""
        return Usage(
            self.model_calls + other.model_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost,
            self.unpriced_calls + other.unpriced_calls,
            self.estimated_calls + other.estimated_calls,
        )

    def __sub__(self, earlier: "Usage") -> "Usage":
        """What was used since `earlier`."""
        return Usage(
            self.model_calls - earlier.model_calls,
            self.input_tokens - earlier.input_tokens,
            self.output_tokens - earlier.output_tokens,
            self.cached_tokens - earlier.cached_tokens,
            self.cost - earlier.cost,
            self.unpriced_calls - earlier.unpriced_calls,
            self.estimated_calls - earlier.estimated_calls,
        )


def used_since(earlier: Mapping[str, Usage], now: Mapping[str, Usage]) -> dict[str, Usage]:
    """What each model has used since `earlier`; models that were not asked are left out."""
    used = {name: usage - earlier.get(name, Usage()) for name, usage in now.items()}
    return {name: usage for name, usage in used.items() if usage.model_calls}


Verdict: TypeAlias = Literal["satisfied", "need_more", "blocked"]
"""What a result is worth: enough, more is to be planned, or nothing further can be done."""

RunStatus: TypeAlias = Literal["done", "no_answer", "failed", "interrupted"]

_EXIT_CODES: dict[RunStatus, ExitCode] = {
    "done": ExitCode.ANSWERED,
    "no_answer": ExitCode.NO_ANSWER,
    "failed": ExitCode.WORLD_FAILED,
    "interrupted": ExitCode.INTERRUPTED,
}


@frozen
class RunOutcome:
    """How a run ended.

    `answer` is the bare answer when `status` is "done", else None; `message` then says plainly
    why there is none, with the best partial result. `usage_by_model` splits `usage` by the names
    of the models that answered. `durations` are wall seconds by phase
    (`perception`, `decision`, `action`, `total`). `rejected_answer` is one that was not in the
    form that the request demands, the last of them, or that was judged to be incomplete. `verdict`
    is the last judgement, None where nobody judged: "done" is only what is judged as "satisfied" or
    not at all. `graph` is how its subtasks ended, where it
    was answered in parts. `budget` is the one that ended the run, if it was that. `trace_id` is
    that of its execution context; empty where it had none. `grounded` is false of an answer that
    is from the model's own knowledge: no call succeeded, nothing came with the request, nothing was
    computed or found before (`core.run.grounding`). It is None where there is no answer.
    `rules_wanted` would allow the calls for which nobody was there to say yes, as far as is known.
    `unfinished` is what the model had written of an answer when the run was interrupted, with which
    `message` ends then.
    """

    status: RunStatus
    answer: str | None
    message: str
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    usage_by_model: dict[str, Usage] = field(default_factory=dict[str, Usage])
    durations: dict[str, float] = field(default_factory=dict[str, float])
    rejected_answer: str | None = None
    graph: GraphOutcome | None = None
    budget: SpentBudget | None = None
    trace_id: str = field(default="", compare=False)
    verdict: Verdict | None = None
    grounded: bool | None = None
    rules_wanted: tuple[str, ...] = ()
    unfinished: str = ""

    @property
    def result(self) -> str:
        """The outcome in the mission's form: `FINAL_ANSWER: …`; a person reads `message`."""
        if self.answer is not None:
            return f"{FINAL_ANSWER} {self.answer}"
        never_planned = self.message.startswith(NO_PLAN_ANSWER)
        return f"{FINAL_ANSWER} [{NO_PLAN_ANSWER if never_planned else self.message}]"

    @property
    def exit_code(self) -> ExitCode:
        """The process exit code that stands for this status."""
        return _EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, str]:
        """The mission's outcome: `{"status": …, "result": "FINAL_ANSWER: …"}`."""
        return {"status": self.status, "result": self.result}


# One item of session memory: the record that is kept on disk, as a list of JSON objects.

MemoryItemType: TypeAlias = Literal["run_metadata", "tool_call", "tool_output", "final_answer"]

SANDBOX_STEP = "solve_sandbox"
"""Under this name a whole plan is recorded as if it were a tool; it is none."""

OWN_KNOWLEDGE = "from the model's own knowledge, nothing was looked up"
"""What is told of an answer that is not grounded."""

USAGE = "usage"
"""Key of a run's last item under which its use of models stands, by their names."""


class MemoryItem(BaseModel):
    """What happened at one moment of a session; `timestamp` is Unix time in seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=True)

    timestamp: float
    type: MemoryItemType
    text: str
    tool_name: str | None = None
    tool_args: JsonObject | None = None
    tool_result: JsonObject | None = None
    final_answer: str | None = None
    tags: list[str] = Field(default_factory=list[str])
    success: bool | None = None
    metadata: JsonObject = Field(default_factory=dict[str, Json])
    session_id: str | None = None
    user_query: str | None = None
