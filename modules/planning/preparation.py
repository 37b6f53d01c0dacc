"""From a plan's text to one that may run: read, repaired, checked.

1. The text is read as Python (`modules.sandbox.language.parsing`).
2. What can only be meant in one way is put right (`modules.planning.repair`).
3. What is certainly wrong is told to the model, at no cost (`modules.planning.check`).

This is no wall: whatever passes here still meets the sandbox, which resolves names and binds
arguments again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from modules.planning.check.check import first_mistake
from modules.planning.check.syntax import syntax_failure
from modules.planning.names import ParsedPlan
from modules.planning.repair.repairs import REPAIRS, Stages, repair
from modules.sandbox.language.parsing import NotParsed, TooLong, parse_readable, with_plain_lines


@dataclass(frozen=True, slots=True)
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

    Meant for a thread: a dense plan of the greatest length takes some tenths of a second.
    """
    try:
        lines = with_plain_lines(source)
        readable, tree = parse_readable(lines)
        plan, told = repair(ParsedPlan(readable, tree, tools), tools, repairs)
        told = (*_rewritten_lines(lines, readable), *told)
        return PreparedPlan(plan.source, told, first_mistake(plan))
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
