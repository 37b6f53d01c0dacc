"""Whether the right tools stand in the prompt from which a plan is made.

It asks the strategy that the loop asks, with a stand-in for the model, once with the servers of
the evaluation and once with 500 tools of other makers among theirs. Perception is left out: where
there is none its hint is missing, and the request's words alone have to find the tools.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from config.schema import AgentProfile
from core.ports import DecisionInputs, PlanReply
from core.strategy import Situation, decide
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import PerceptionResult, Plan
from modules.planning.prompt.stubs import describe_tool
from tests.benchmarks import catalogue
from tests.benchmarks.environments import NotInstalled, prepare
from tests.evals.questions import Question

DOCUMENTS = ("discovery_cache", "documents")
"""Where google-api-python-client keeps its discovery documents, in its package."""


@dataclass(frozen=True)
class InFront:
    """A request, how many tools its prompt offers, and which right ones are not among them."""

    question: Question
    offered: int
    missing: tuple[str, ...]


async def tools_in_front(
    questions: Sequence[Question], tools: Sequence[ToolSpec], profile: AgentProfile
) -> list[InFront]:
    """What each request that has right tools is offered out of `tools`."""
    catalog = ToolCatalog(tools)
    return [await _in_front(q, catalog, profile) for q in questions if q.tools]


def many_other_tools() -> list[ToolSpec] | NotInstalled:
    """Five hundred tools of Google's APIs; see `tests.benchmarks.catalogue`."""
    place = prepare("catalogue")
    if isinstance(place, NotInstalled):
        return place
    return catalogue.tools_of(place.package("googleapiclient").joinpath(*DOCUMENTS))


async def _in_front(question: Question, catalog: ToolCatalog, profile: AgentProfile) -> InFront:
    async def no_model(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        return Plan("")

    strategy = profile.strategy
    basic = {f"{s.id}.{tool}" for s in profile.mcp_servers for tool in s.basic_tools}
    situation = Situation(
        DecisionInputs(question.ask, catalog, PerceptionResult()),
        (),
        frozenset(basic),
        describe_tool,
        request=question.ask,
        tool_prompt_tokens=strategy.tool_prompt_tokens,
    )
    offered = {tool.qualified_name for tool in (await decide(strategy, situation, no_model)).tools}
    missing = [
        " or ".join(sorted(any_of)) for any_of in question.right_tools() if not any_of & offered
    ]
    return InFront(question, len(offered), tuple(missing))
