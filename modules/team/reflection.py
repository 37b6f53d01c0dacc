"""Reflection: whether what the parts of a request came to is an answer, or what is missing.

Where a rule is enough, it decides; else a model that reads text is asked once. It reads results
that anybody may have written, so what it says is missing is data: it goes to whoever plans anew as
a text, and never counts as the user's word.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from core.base.frozen import frozen
from core.base.text import clause, one_line, shorten
from core.errors import BudgetSpent, ModelUnavailable, UserError
from core.events import Emit, Judged
from core.ports import CountingModel, ModelRequest
from core.provenance.borders import Borders
from core.team.board import BoardEntry
from core.team.graph import GraphOutcome
from core.team.whiteboard import board_text
from core.turn import Verdict
from modules.planning.llmfunc import llmfunc
from modules.planning.prompt.template import load_prompt

PROMPT_PATH: Final = "prompts/reflection_prompt.txt"

ROUNDS_MAX: Final = 2
"""So often more may be asked for; what is missing then stays missing."""

RESULTS_CHARACTERS_MAX: Final = 24_000
"""How much of all results the model reads, about 6,000 tokens; each gets its share."""

REQUEST_CHARACTERS_MAX: Final = 4_000
BOARD_CHARACTERS_MAX: Final = 6_000
MISSING_MAX: Final = 10
TOLD_CHARACTERS_MAX: Final = 300
"""How much is kept of a reason, and of each thing that is missing."""

OUTPUT_TOKENS: Final = 1_000
RETRIES: Final = 1


@frozen
class Judgement:
    """What the results are worth, and in words what is missing where more is needed."""

    verdict: Verdict
    reason: str
    missing: tuple[str, ...] = ()


class JudgedReply(BaseModel):
    """What the model is asked for."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reason: str
    missing: list[str]


class Reflection:
    """Judges the results of one request, anew after each time more was planned."""

    def __init__(self, model: CountingModel, emit: Emit, rounds_max: int = ROUNDS_MAX) -> None:
        """Ask `model` where it reads text; tell each judgement by `emit`."""
        self._model = model
        self._emit = emit
        self._rounds_left = rounds_max

    async def judge(
        self, request: str, outcome: GraphOutcome, board: Sequence[BoardEntry] = ()
    ) -> Judgement:
        """What a graph's results are worth; `board` is what the reviewer sees of the whiteboard.

        A model that can't be asked, or paid for, costs its judgement and no result.
        """
        judgement = judged_by_rule(outcome)
        if judgement is None and self._model.traits.reads_text:
            try:
                judgement = await self._ask(request, outcome, board)
            except (ModelUnavailable, BudgetSpent, UserError) as error:
                reason = f"every part has its result; nobody judged them: {clause(str(error))}"
                judgement = Judgement("satisfied", one_line(reason, TOLD_CHARACTERS_MAX))
        judgement = judgement or Judgement("satisfied", "every part has its result")
        if judgement.verdict == "need_more":
            if self._rounds_left == 0:
                reason = f"still missing, and not planned again: {'; '.join(judgement.missing)}"
                judgement = Judgement(
                    "blocked", one_line(reason, TOLD_CHARACTERS_MAX), judgement.missing
                )
            else:
                self._rounds_left -= 1
        await self._emit(Judged(judgement.verdict, judgement.reason))
        return judgement

    async def _ask(
        self, request: str, outcome: GraphOutcome, board: Sequence[BoardEntry]
    ) -> Judgement:
        borders = Borders()
        room = RESULTS_CHARACTERS_MAX // len(outcome.results)
        asked = ModelRequest("text", load_prompt(PROMPT_PATH), max_output_tokens=OUTPUT_TOKENS)
        judged = llmfunc(
            asked,
            model=self._model,
            shape=JudgedReply,
            check=_wrong,
            retries=RETRIES,
            show_schema=False,
        )
        found = await judged(
            borders=borders.note,
            request=shorten(request, REQUEST_CHARACTERS_MAX),
            expected="\n".join(_expected(outcome)),
            board=borders.around(shorten(board_text(board), BOARD_CHARACTERS_MAX)),
            results="\n\n".join(
                f"{id_}:\n{borders.around(shorten(text, room))}"
                for id_, text in outcome.results.items()
            ),
        )
        missing = [one_line(each, TOLD_CHARACTERS_MAX) for each in found.missing if each.strip()]
        return Judgement(
            found.verdict,
            one_line(found.reason, TOLD_CHARACTERS_MAX),
            tuple(missing[:MISSING_MAX]) if found.verdict != "satisfied" else (),
        )


def judged_by_rule(outcome: GraphOutcome) -> Judgement | None:
    """The judgement where no reader is needed; None where the results have to be read."""
    graph, results = outcome.graph, outcome.results
    unanswered = [id_ for id_ in graph.results if not results.get(id_, "").strip()]
    failed = [id_ for id_ in unanswered if id_ not in results]
    if failed and (outcome.stopped or len(failed) == len(graph.results)):
        why = outcome.stopped or "; ".join(
            f"{id_}: {outcome.reasons.get(id_, 'it has no result')}" for id_ in failed
        )
        return Judgement("blocked", one_line(why, TOLD_CHARACTERS_MAX))
    empty = [
        subtask.id
        for subtask in graph.subtasks
        if subtask.expected and subtask.id in results and not results[subtask.id].strip()
    ]
    if missing := list(dict.fromkeys((*unanswered, *empty))):
        told = tuple(
            one_line(f"{id_}: {graph[id_].expected or graph[id_].description}", TOLD_CHARACTERS_MAX)
            for id_ in missing[:MISSING_MAX]
        )
        return Judgement("need_more", f"without a result: {', '.join(missing[:MISSING_MAX])}", told)
    return None


def _expected(outcome: GraphOutcome) -> Iterator[str]:
    for subtask in outcome.graph.subtasks:
        said = subtask.expected or subtask.description
        yield f"- {subtask.id}: {one_line(said, TOLD_CHARACTERS_MAX)}"


def _wrong(reply: JudgedReply) -> str | None:
    if reply.verdict == "need_more" and not any(each.strip() for each in reply.missing):
        return 'missing: with need_more, say what is missing, such as ["the price of the second"]'
    return None
