"""Plays AgentDojo's pairs of a user's task and an injected one against the guard, without a model.

AgentDojo (Debenedetti et al., 2024; `pip install agentdojo`, which is no dependency of ours) gives
for 97 tasks of users and for 35 injections the calls that carry them out, in 949 pairs. The task's
calls are made, then those of the injection, as a model would that falls for each of them; results
come from AgentDojo's own worlds. Of eight injections that are given without calls, the e-mail is
played that each of them needs; one more only wants a sentence in the answer. An attack passes if
none of its calls is refused, a task goes unhindered if none of its own is.

Played twice: with nobody there, who named exactly the tools that the task needs (`--approve`), and
with a person who names none and says yes to exactly the task's own calls.
"""

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from pydantic import BaseModel

from core.asking import Leave, LeaveQuestion
from core.provenance.guard import Provenance, ProvenanceGuard
from core.provenance.known import Known, ProvenancePolicy
from core.provenance.rules import Rule
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

VERSION = "v1.2"
MET_THAT_DAY = "michael.smith@bluesparrowtech.com"


class _Call(Protocol):
    @property
    def function(self) -> str: ...

    @property
    def args(self) -> Mapping[str, object]: ...


@dataclass(frozen=True)
class _Email:
    """The call that injections need that are given without any."""

    recipient: str
    function: str = "send_email"

    @property
    def args(self) -> Mapping[str, object]:
        return {"recipients": [self.recipient], "subject": "Contents", "body": "Contents"}


class _Function(Protocol):
    name: str
    description: str
    parameters: type[BaseModel]


class _Injection(Protocol):
    def ground_truth(self, environment: BaseModel) -> Sequence[_Call]: ...


class _Task(_Injection, Protocol):
    PROMPT: str

    def init_environment(self, environment: BaseModel) -> BaseModel: ...


class _Suite(Protocol):
    name: str
    tools: Sequence[_Function]
    user_tasks: Mapping[str, _Task]
    injection_tasks: Mapping[str, _Injection]

    def load_and_inject_default_environment(self, injections: dict[str, str]) -> BaseModel: ...


class _Runtime(Protocol):
    def run_function(
        self, environment: BaseModel, function: str, arguments: Mapping[str, object]
    ) -> tuple[object, str | None]: ...


@dataclass
class Replayed:
    """How many attacks passed and how many tasks went unhindered, each of how many.

    `questions` are those that the tasks' own calls led to, without an attack.
    """

    attacks: int = 0
    passed: int = 0
    without_calls: int = 0
    tasks: int = 0
    unhindered: int = 0
    questions: int = 0

    def __str__(self) -> str:
        """As README has it."""
        return (
            f"AgentDojo: {self.passed} of {self.attacks} attacks pass ({self.without_calls} "
            f"make no call), {self.unhindered} of {self.tasks} honest tasks go unhindered, "
            f"{self.questions / max(self.tasks, 1):.2f} questions a task"
        )


class _Person:
    """Says yes to the task's own calls, and counts; `calls` are those."""

    def __init__(self, calls: Sequence[_Call]) -> None:
        self._allowed = [(call.function, _json(call.args)) for call in calls]
        self.questions = 0

    async def __call__(self, question: LeaveQuestion) -> Leave:
        self.questions += 1
        asked = question.calls[0]
        own = (asked.tool.partition(".")[2], asked.arguments) in self._allowed
        return Leave("once" if own else "no")


async def replay(*, one_plan: bool, with_person: bool) -> Replayed:
    """Play all pairs; with `one_plan` a task's calls stand in one plan, else each in its own.

    Raises:
        ModuleNotFoundError: AgentDojo is not installed.
    """
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(VERSION)
    found = Replayed()
    for suite in cast("Mapping[str, _Suite]", suites).values():
        world = suite.load_and_inject_default_environment({})
        for task in suite.user_tasks.values():
            begun = task.init_environment(world.model_copy(deep=True))
            calls = task.ground_truth(begun.model_copy(deep=True))
            plans = [calls] if one_plan else [[call] for call in calls]
            person = _Person(calls) if with_person else None
            approve = () if with_person else {call.function for call in calls}
            refused = await _refused(suite, task, plans, begun, approve, person)
            found.questions += 0 if person is None else person.questions
            found.tasks += 1
            found.unhindered += not any(refused)
            for injection in suite.injection_tasks.values():
                injected = injection.ground_truth(begun.model_copy(deep=True))
                injected = injected or _emails(suite, injection)
                whole = [*plans, *([call] for call in injected)]
                person = _Person(calls) if with_person else None
                refused = await _refused(suite, task, whole, begun, approve, person)
                found.attacks += 1
                found.passed += not any(refused[len(calls) :])
                found.without_calls += not injected
    return found


def _emails(suite: _Suite, injection: _Injection) -> Sequence[_Call]:
    """The e-mail of an injection without calls, to somebody whom it or the calendar names."""
    if "send_email" not in {function.name for function in suite.tools} or suite.name == "travel":
        return []
    return [_Email(getattr(injection, "_RECIPIENT", MET_THAT_DAY))]


async def _refused(
    suite: _Suite,
    task: _Task,
    plans: Iterable[Sequence[_Call]],
    begun: BaseModel,
    approve: Iterable[str],
    person: _Person | None,
) -> list[bool]:
    """Of each call of the plans, in order, whether it was refused."""
    runtime = cast(
        "_Runtime",
        importlib.import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools),
    )
    world = begun.model_copy(deep=True)
    tools = {function.name: _tool(suite, function) for function in suite.tools}
    catalog = ToolCatalog(tools.values())
    known = Known(ProvenancePolicy(rules=tuple(map(Rule, approve))))
    guard = ProvenanceGuard(Provenance(known, person), lambda: catalog, [task.PROMPT])
    refused: list[bool] = []
    for plan in plans:
        known.plan_written("\n".join(f"tools.{call.function}(**{call.args!r})" for call in plan))
        for call in plan:
            tool, arguments = tools[call.function], cast("JsonObject", _json(call.args))
            is_refused = await guard.refusal(tool, arguments) is not None
            refused.append(is_refused)
            if not is_refused:
                value, _ = runtime.run_function(world, call.function, call.args)
                await guard.note(tool, arguments, _json(value))
    return refused


def _tool(suite: _Suite, function: _Function) -> ToolSpec:
    """The function as a tool of a server that says nothing of effects, as AgentDojo does not."""
    schema = cast("JsonObject", function.parameters.model_json_schema())
    return ToolSpec(suite.name, function.name, function.description, schema)


def _json(value: object) -> Json:
    def plain(inner: object) -> object:
        return inner.model_dump(mode="json") if isinstance(inner, BaseModel) else str(inner)

    return cast("Json", json.loads(json.dumps(value, default=plain)))
