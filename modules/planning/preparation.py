"""From a plan's text to one that may run: read, repaired, checked.

1. The text is read as Python (`modules.sandbox.language.parsing`).
2. Its commonest mistakes are repaired, where only one reading makes sense (`repair/`).
3. What is certainly wrong is told to the model, at no cost (`check/`).

A repair is an edit of the model's own text, so that lines keep their numbers and errors quote what
the model wrote. Each is worth its lines: an issue asked for it, or it changed what became of a
reply that a model really wrote (`python -m tests.evals ablation`).

This is no wall: whatever passes here still meets the sandbox, which resolves names and binds
arguments again.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from core.base.frozen import frozen
from core.base.text import with_line_feeds
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from modules.planning.check.syntax import (
    called_verdict,
    check_entry_point,
    failure_at,
    syntax_failure,
)
from modules.planning.check.types import first_mistake
from modules.planning.names import ParsedPlan, Repair, read_plan
from modules.planning.repair.awaits import generators_to_lists, missing_awaits
from modules.planning.repair.entry import annotated_verdicts, misnamed_entry, own_runs
from modules.planning.repair.names import missing_imports, needless_imports, shadowed_tools
from modules.sandbox.language.parsing import NotParsed, TooLong, parse_readable

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


@frozen
class PreparedPlan:
    """A plan that may run, or why it may not.

    Attributes:
        source: The text to run; lines have the numbers that they have in the plan as given.
        repairs: What was put right, a phrase each, by line.
        failure: What is certainly wrong with it all the same.
    """

    source: str
    repairs: tuple[str, ...] = ()
    failure: PlanFailure | None = None


def prepare_plan(source: str, tools: ToolCatalog, repairs: Stages = REPAIRS) -> PreparedPlan:
    """Repair a plan and check it.

    Meant for a thread: it takes some tenths of a second for a dense plan, and waits for a process.
    """
    try:
        lines = with_line_feeds(source)
        readable, tree = parse_readable(lines)
        plan, told = _repaired(ParsedPlan(readable, tree, tools), repairs)
        told = (*_rewritten_lines(lines, readable), *told)
        return PreparedPlan(plan.source, told, _first_mistake(plan))
    except SyntaxError as error:
        return PreparedPlan(source, failure=syntax_failure(error, source))
    except (TooLong, RecursionError):
        return PreparedPlan(source)  # the sandbox will say what it needs to
    except NotParsed as error:
        return PreparedPlan(source, failure=PlanFailure("syntax", str(error)))


def _rewritten_lines(source: str, readable: str) -> Iterator[str]:
    """What became of f-strings that this Python can't read, a phrase a line."""
    pairs = zip(source.split("\n"), readable.split("\n"), strict=True)
    for number, (line, rewritten) in enumerate(pairs, start=1):
        if line != rewritten:
            yield f"wrote an f-string as format() (line {number})"


def _repaired(plan: ParsedPlan, stages: Stages) -> tuple[ParsedPlan, tuple[str, ...]]:
    """The plan with its unambiguous mistakes put right, and what was done, a phrase each."""
    told: list[tuple[int, str]] = []
    for stage in stages:
        found = [repair for find in stage for repair in find(plan)]
        repairs = [repair for repair in found if plan.is_placed_right(repair.place)]
        if 0 < len(repairs) <= MAX_REPAIRS:
            repaired = _edited(plan, repairs)
            if repaired is not None:
                plan = repaired
                told += [(repair.place.lineno, repair.phrase) for repair in repairs]
    return plan, tuple(dict.fromkeys(phrase for _, phrase in sorted(told)))


def _edited(plan: ParsedPlan, repairs: Sequence[Repair]) -> ParsedPlan | None:
    """The plan after these repairs; None if they get in each other's way."""
    edits = sorted(
        (edit for repair in repairs for edit in repair.edits), key=lambda e: (e.start, e.end)
    )
    if any(edit.end > after.start or edit == after for edit, after in pairwise(edits)):
        return None
    text, _ = plan.text.edited(edits)
    try:
        return read_plan(text, plan.names.tools, most_characters=len(text))
    except (SyntaxError, NotParsed, RecursionError):
        return None


def _first_mistake(plan: ParsedPlan) -> PlanFailure | None:
    """The first thing that is certainly wrong with a plan, by line; None if nothing is."""
    if (failure := check_entry_point(plan)) is not None:
        return failure
    failure = first_mistake(plan)
    if (verdict := called_verdict(plan.names)) is None:
        return failure
    line, message = verdict
    if failure is not None and failure.line is not None and failure.line <= line:
        return failure
    return failure_at("error", message, line, plan.source)
