"""Runs of which a part is taken over: a plan that is given, or one that is only written."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

from config.schema import AgentProfile
from core.context import AgentContext, Parts
from core.ports import CallTool, DecisionInputs, OnRepaired, PlanReply
from core.run.working_memory import WorkingMemory
from core.team.graph import TaskGraph
from core.tools.catalog import ToolCatalog
from core.turn import (
    ActionResult,
    AskedBack,
    Declined,
    FinalAnswer,
    FurtherProcessing,
    PerceptionResult,
    Plan,
)

NOT_RUN = "the plan was written, and not run"


WriteGraph: TypeAlias = Callable[[DecisionInputs], Awaitable[TaskGraph | None]]
"""Writes a graph for a request; None where one plan answers it."""


class ByHand:
    """What a run does otherwise than by itself: as it stands, nothing.

    Attributes:
        is_plain: it is a run as any other.
        is_kept: the session keeps the run, and learns from its request.
        is_told: others hear of what goes on in it.
        said: what counts as the user's words beside the request.
    """

    is_plain = is_kept = is_told = True
    said = ""

    def profile(self, profile: AgentProfile) -> AgentProfile:
        """The profile of the run."""
        return profile

    def parts(self, parts: Parts) -> Parts:
        """The parts of the run, those that are taken over among them."""
        return parts


NOTHING_BY_HAND: Final = ByHand()


class Unkept(ByHand):
    """A run as any other, of which the session keeps nothing."""

    is_kept = False


class WrittenPlan(ByHand):
    """Keeps what a run would run: a `plan`, or a `graph` in its place; None until there is one."""

    is_plain = is_kept = False

    def __init__(self, write_graph: WriteGraph | None = None) -> None:
        """`write_graph` is asked first; a plan is written where it gives none."""
        self._write_graph = write_graph
        self.plan: Plan | None = None
        self.graph: TaskGraph | None = None

    def parts(self, parts: Parts) -> Parts:
        """Those that plan, and nothing that runs."""
        kept = replace(parts, run_plan=self._keep)
        write_graph = self._write_graph
        if write_graph is None:
            return kept

        async def write(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
            self.graph = self.graph or await write_graph(inputs)
            if self.graph is not None:
                return Declined(NOT_RUN)
            return await parts.generate_plan(inputs, prompt_path)

        return replace(kept, generate_plan=write)

    async def _keep(
        self,
        plan: Plan,
        tools: ToolCatalog,
        call: CallTool,
        on_repaired: OnRepaired | None = None,
        memory: WorkingMemory | None = None,
    ) -> ActionResult:
        self.plan = plan
        return FinalAnswer(NOT_RUN)


class GivenPlan(ByHand):
    """Runs a plan that is there, once, repaired and checked; another is not asked for.

    Text that it wants read goes on to the planner, if the plan `answers` a request; else, as with
    `run-plan`, it is the answer. `said` is the plan of a user: what it names counts as said.
    """

    is_plain = False

    def __init__(self, source: str, *, answers: bool, said: str = "") -> None:
        self._plan = Plan(source)
        self._answers = answers
        self.said = said

    def profile(self, profile: AgentProfile) -> AgentProfile:
        """Without a lifeline: a plan that fails is to be changed by who gave it."""
        steps = profile.strategy.max_steps if self._answers else 1
        return profile.with_strategy(max_lifelines_per_step=0, max_steps=steps)

    def parts(self, parts: Parts) -> Parts:
        """Those in whose place the plan stands in the first step."""
        known = ToolCatalog(())

        async def perceive(
            context: AgentContext, user_input: str | None = None
        ) -> PerceptionResult:
            nonlocal known
            if context.step > 1:
                return await parts.perceive(context, user_input)
            known = context.dispatcher.catalog  # a prompt may have no room for all
            return PerceptionResult(intent="run a plan")

        async def write(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
            if inputs.step > 1:
                return await parts.generate_plan(inputs, prompt_path)
            return self._plan

        async def act(
            plan: Plan,
            tools: ToolCatalog,
            call: CallTool,
            on_repaired: OnRepaired | None = None,
            memory: WorkingMemory | None = None,
        ) -> ActionResult:
            is_own = plan is self._plan
            ran = await parts.run_plan(plan, known if is_own else tools, call, on_repaired, memory)
            match ran:
                case FurtherProcessing(text) | AskedBack(text) if is_own and not self._answers:
                    return FinalAnswer(text, ran.calls, ran.found)
                case _:
                    return ran

        return replace(parts, perceive=perceive, generate_plan=write, run_plan=act)
