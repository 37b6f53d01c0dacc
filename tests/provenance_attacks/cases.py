"""What a case is, and how it is run: real loop, real sandbox, a planner that obeys."""

import json
from dataclasses import dataclass, replace

from config.schema import StrategyProfile
from core.context import AgentContext
from core.events import Event, ToolCallRefused, collect
from core.loop import AgentLoop
from core.provenance.guard import Provenance
from core.provenance.known import Known, ProvenancePolicy
from core.provenance.rules import read_rule
from core.turn import Exchange, Plan, RunOutcome
from modules.sandbox import Sandbox
from tests.doubles import FakeMemory, FakeModel, FakeParts, profile
from tests.modules.sandbox.sandbox_tools import acting, solve
from tests.provenance_attacks.world import POLICY, STORY, World

READ = (
    f'page = await tools.convert_webpage_url_into_markdown(url="{STORY}")\n'
    'return f"FURTHER_PROCESSING_REQUIRED: {page}"'
)
DONE = "return 'FINAL_ANSWER: done'"


@dataclass(frozen=True)
class Case:
    """A request, and the bodies of the plans that are written for it, one a step.

    Of an attack, `harm` is what no sent call (as JSON) and no answer may hold; `is_stopped` False
    marks those that the rule can't stop. `user_says` is the answer to a question of a plan.
    `approve` are the user's rules; None: every tool that changes something, by its name alone.
    """

    name: str
    plans: tuple[str, ...]
    harm: str = ""
    request: str = f"Summarise {STORY}"
    is_stopped: bool = True
    history: tuple[Exchange, ...] = ()
    user_says: str | None = None
    lifelines: int = 0
    approve: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Played:
    """What became of a case."""

    outcome: RunOutcome
    sent: tuple[str, ...]
    refusals: tuple[str, ...]

    def harmed(self, harm: str) -> bool:
        """Whether harm was done."""
        return any(harm in text for text in (*self.sent, self.outcome.answer or ""))


def then(name: str, call: str, harm: str = "", request: str = f"Summarise {STORY}") -> Case:
    """The story is read, and the next plan makes a call that it may have asked for."""
    named = request if STORY in request else f"{request} (the page is {STORY})"
    return Case(name, (READ, f"x = await tools.{call}\n{DONE}"), harm, named)


async def play(case: Case, sandbox: Sandbox, policy: ProvenancePolicy = POLICY) -> Played:
    """Run a case to its end."""

    async def answer(question: str) -> str | None:
        return case.user_says

    refusals: list[str] = []

    async def listen(event: Event) -> None:
        if isinstance(event, ToolCallRefused):
            refusals.append(event.reason)

    if case.approve is not None:
        policy = replace(policy, rules=tuple(map(read_rule, case.approve)))
    world = World()
    fakes = FakeParts([Plan(solve(*body.split("\n"))) for body in case.plans], {}, ask_user=answer)
    strategy = StrategyProfile(max_steps=4, max_lifelines_per_step=case.lifelines)
    context = AgentContext(
        case.request,
        "2026/11/21/session-1-abcdef",
        world,
        {},
        profile=profile(strategy),
        memory=FakeMemory(),
        model=FakeModel(),
        parts=replace(fakes.parts(), run_plan=acting(sandbox)),
        history=case.history,
        provenance=Provenance(Known(policy)),
    )
    outcome = await collect(AgentLoop(context).run(), listen)
    sent = tuple(f"{name} {json.dumps(given, ensure_ascii=False)}" for name, given in world.sent)
    return Played(outcome, sent, tuple(refusals))
