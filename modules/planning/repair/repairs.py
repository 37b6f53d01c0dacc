"""Puts right the commonest mistakes of plans, where only one reading makes sense.

A repair is an edit of the model's own text, so that lines keep their numbers and errors quote what
the model wrote. Each is worth its lines: an issue asked for it, or it changed what became of a
reply that a model really wrote (`python -m tests.evals ablation`).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from core.tools.catalog import ToolCatalog
from modules.planning.names import ParsedPlan, read_plan
from modules.planning.repair.awaits import generators_to_lists, missing_awaits
from modules.planning.repair.edits import Repair
from modules.planning.repair.entry import annotated_verdicts, misnamed_entry, own_runs
from modules.planning.repair.names import missing_imports, needless_imports, shadowed_tools
from modules.sandbox.language.parsing import NotParsed

MAX_REPAIRS = 50
"""A text with more mistakes of one stage than this is no plan; it is left alone."""

FindRepairs: TypeAlias = Callable[[ParsedPlan], Iterator[Repair]]

Stages: TypeAlias = tuple[tuple[FindRepairs, ...], ...]

REPAIRS: Stages = (
    (misnamed_entry,),
    (own_runs, annotated_verdicts, shadowed_tools, needless_imports),
    (generators_to_lists, missing_awaits, missing_imports),
)
"""What finds something to repair. A stage sees what those before it have put right: names and
`solve` must be right before it is known which calls are calls of tools."""


def repair(
    plan: ParsedPlan, tools: ToolCatalog, stages: Stages = REPAIRS
) -> tuple[ParsedPlan, tuple[str, ...]]:
    """A plan with its unambiguous mistakes put right, and what was done, a phrase each, by line.

    - a tool call without `await` whose value is used (the whole of a statement, an operand, an
      argument of another tool call, …), in an async function or in a sync `solve`; also
      `asyncio.gather` and the plan's own coroutine functions
    - a generator expression with an `await` in it, which becomes a list
    - `remainder = await remainder(…)`: a variable that shadows the tool; called by `tools.`
    - `import tools`, `from tools import add`, `import mcp`: nothing needs them; and an import left
      out of a module that the plan uses
    - `async def main():` where there is no `solve`; `asyncio.run(solve())` and the like
    - an answer that is written as `FINAL_ANSWER: total`
    """
    told: list[tuple[int, str]] = []
    for stage in stages:
        found = [repair for find in stage for repair in find(plan)]
        repairs = [repair for repair in found if plan.is_placed_right(repair.place)]
        if 0 < len(repairs) <= MAX_REPAIRS:
            repaired = _edited(plan, repairs, tools)
            if repaired is not None:
                plan = repaired
                told += [(repair.place.lineno, repair.phrase) for repair in repairs]
    return plan, tuple(dict.fromkeys(phrase for _, phrase in sorted(told)))


def _edited(plan: ParsedPlan, repairs: Sequence[Repair], tools: ToolCatalog) -> ParsedPlan | None:
    """The plan after these repairs; None if they get in each other's way."""
    edits = sorted(
        (edit for repair in repairs for edit in repair.edits), key=lambda e: (e.start, e.end)
    )
    if any(edit.end > after.start or edit == after for edit, after in pairwise(edits)):
        return None
    text, _ = plan.text.edited(edits)
    try:
        return read_plan(text, tools, most_characters=len(text))
    except (SyntaxError, NotParsed, RecursionError):
        return None
