"""What each repair of plans is worth: recorded replies, with one repair after another left out.

A reply takes its whole way: its plan is found, repaired, checked and run in the sandbox with the
same tools, in the files and the repository of its request. Replies before it in the same session
have been run by then. Compared is what becomes of that one reply: a later attempt, which the model
would have made of another failure, can't be replayed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Literal, TypeAlias, assert_never

from core.errors import CortexError
from core.session import MultiMCP
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    NoPlan,
    Plan,
    PlanFailed,
    Unanswered,
)
from core.values import JsonObject
from modules.action import run_plan
from modules.planning.preparation import (
    REPAIRS,
    FindRepairs,
    PreparedPlan,
    Stages,
    prepare_plan,
)
from modules.planning.reply.extraction import find_plan
from modules.sandbox import Sandbox
from tests.evals.checks import what_is_wrong
from tests.evals.questions import Question
from tests.evals.recorded_replies import Recorded
from tests.evals.report import columns
from tests.evals.workplace import Workplace
from tests.modules.planning.reply.model_replies import REPLIES, act, reply_in, told

Outcome: TypeAlias = Literal["right", "wrong", "goes on", "asks back", "gives up", "fails"]
"""What becomes of one reply; `wrong` is an answer that a check of its request refuses."""


@dataclass(frozen=True)
class Replay:
    """Where replies are run again."""

    dispatcher: MultiMCP
    sandbox: Sandbox
    workplace: Workplace
    questions: Mapping[str, Question]

    @property
    def tools(self) -> ToolCatalog:
        """Everything that the servers have."""
        return ToolCatalog(self.dispatcher.get_all_tools())

    async def outcome(
        self, recorded: Recorded, before: Sequence[Recorded], stages: Stages = REPAIRS
    ) -> Outcome:
        """What becomes of a reply with these repairs, after those before it with all of them."""
        self.workplace.fill()
        for earlier in before:
            await self._run(earlier, REPAIRS)
        return await self._run(recorded, stages)

    def prepared(self, recorded: Recorded, stages: Stages = REPAIRS) -> PreparedPlan | None:
        """The plan of a reply with these repairs; None if it holds none."""
        found = self._found(recorded)
        return prepare_plan(found.source, self.tools, stages) if isinstance(found, Plan) else None

    def _found(self, recorded: Recorded) -> Plan | NoPlan:
        text = self.workplace.moved(recorded.text)
        return find_plan(replace(recorded, text=text).reply, self.tools)

    async def _run(self, recorded: Recorded, stages: Stages) -> Outcome:
        found = self._found(recorded)
        if isinstance(found, NoPlan):
            return "fails"
        try:
            result = await run_plan(
                found,
                self.tools,
                self._call,
                self.sandbox,
                prepare=partial(prepare_plan, repairs=stages),
            )
        except CortexError:
            return "fails"
        match result:
            case FinalAnswer(text):
                return self._judged(recorded, text)
            case FurtherProcessing():
                return "goes on"
            case AskedBack():
                return "asks back"
            case Unanswered():
                return "gives up"
            case PlanFailed():
                return "fails"
            case _:
                assert_never(result)

    def _judged(self, recorded: Recorded, text: str) -> Outcome:
        """Whether an answer is right; answers of earlier turns are there to be talked about."""
        question = self.questions[recorded.request]
        if recorded.turn < len(question.before):
            return "goes on"
        asked = question.model_copy(update={"ask": self.workplace.filled(question.ask)})
        return "right" if what_is_wrong(asked, text, self.workplace) is None else "wrong"

    async def _call(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        return await self.dispatcher.call_tool(tool.qualified_name, arguments)


@dataclass
class _Worth:
    """What leaving out one repair changes: for how many replies, and from what to what."""

    applied: int = 0
    changes: Counter[tuple[Outcome, Outcome]] = field(
        default_factory=Counter[tuple[Outcome, Outcome]]
    )


async def ablated(replay: Replay, replies: Sequence[Recorded]) -> list[str]:
    """A line for each repair: how often it was applied, and what that changed."""
    known = [reply for reply in replies if reply.request in replay.questions]
    worth = {find.__name__: _Worth() for find in _finders()}
    outcomes: Counter[Outcome] = Counter()
    for _, group in groupby(known, key=lambda reply: reply.request):
        session = list(group)
        for position, reply in enumerate(session):
            before = session[:position]
            outcome = await replay.outcome(reply, before)
            outcomes[outcome] += 1
            for find in _finders():
                without = _without(find)
                if replay.prepared(reply, without) != replay.prepared(reply):
                    other = await replay.outcome(reply, before, without)
                    worth[find.__name__].applied += 1
                    worth[find.__name__].changes[other, outcome] += other != outcome
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    rows: list[tuple[str, ...]] = [("repair", "applied", "changed", "without it → with it")]
    rows += [_row(name, found) for name, found in worth.items()]
    return [
        f"{len(known)} replies to {len({r.request for r in known})} requests: {told}",
        *columns(rows),
    ]


async def ablated_fixtures(sandbox: Sandbox) -> list[str]:
    """The same for the replies of `tests/fixtures/model_replies`, which weak prompts led to."""
    files = sorted(path.name for path in REPLIES.glob("*.txt"))
    rows: list[tuple[str, ...]] = [("repair", "changed", "in")]
    for find in _finders():
        prepare, changed = partial(prepare_plan, repairs=_without(find)), list[str]()
        for file in files:
            reply = reply_in(file)
            if told(await act(reply, sandbox)) != told(await act(reply, sandbox, prepare)):
                changed.append(file.removesuffix(".txt"))
        rows.append((find.__name__, str(len(changed)), ", ".join(changed)))
    return [f"{len(files)} replies", *columns(rows)]


def _row(name: str, worth: _Worth) -> tuple[str, ...]:
    changes = ", ".join(f"{n} {old} → {new}" for (old, new), n in worth.changes.items() if n)
    return name, str(worth.applied), str(worth.changes.total()), changes


def _finders() -> Iterator[FindRepairs]:
    for stage in REPAIRS:
        yield from stage


def _without(left_out: FindRepairs) -> Stages:
    return tuple(tuple(find for find in stage if find is not left_out) for stage in REPAIRS)
