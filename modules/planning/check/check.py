"""Checks a plan before it runs, so that the model gets a precise message at no cost.

Only what is certain is reported. It is no wall: whatever passes here still meets the sandbox,
which resolves names and binds arguments again.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from modules.planning.check.calls import tool_mistake
from modules.planning.check.result_uses import misused_result
from modules.planning.check.syntax import (
    called_verdict,
    check_entry_point,
    failure_at,
    syntax_failure,
)
from modules.planning.names import NotParsed, ParsedPlan, TooLong, read_plan
from modules.planning.repair.repairs import normalise_plan, repair
from modules.sandbox.language.f_strings import older_form, phrases

__all__ = ["PreparedPlan", "check_plan", "normalise_plan", "prepare_plan"]


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan that may run, or why it may not.

    Attributes:
        source: The text to run; lines have the numbers that they have in the plan as given.
        repairs: The slips that were put right, a phrase each, by line.
        failure: What is certainly wrong with it all the same.
    """

    source: str
    repairs: tuple[str, ...] = ()
    failure: PlanFailure | None = None


def prepare_plan(source: str, tools: ToolCatalog) -> PreparedPlan:
    """Repair a plan (`normalise_plan`) and check it (`check_plan`).

    Meant for a thread: a dense plan of the greatest length takes some tenths of a second.
    """
    try:
        plan, repairs = repair(read_plan(source, tools), tools)
        return PreparedPlan(plan.source, repairs, _first_mistake(plan))
    except (SyntaxError, NotParsed, RecursionError) as error:
        if isinstance(error, SyntaxError):
            return _prepared_in_older_form(source, error, tools)
        return PreparedPlan(source, failure=_unparsed(error, source))


def _prepared_in_older_form(source: str, error: SyntaxError, tools: ToolCatalog) -> PreparedPlan:
    """The same once its f-strings can be read by this Python, if that is what was in the way."""
    if (readable := older_form(source)) is None:
        return PreparedPlan(source, failure=_unparsed(error, source))
    text, lines = readable
    prepared = prepare_plan(text, tools)
    return replace(prepared, repairs=(*phrases(lines), *prepared.repairs))


def check_plan(source: str, tools: ToolCatalog) -> PlanFailure | None:
    """The first thing that is certainly wrong with a plan, by line; None if nothing is.

    Looks at syntax, at `solve()`, at the names after `tools.`, at the arguments of every call that
    shows them all, and at what becomes of results whose type is known.
    """
    try:
        return _first_mistake(read_plan(source, tools))
    except (SyntaxError, NotParsed, RecursionError) as error:
        return _unparsed(error, source)


def _unparsed(error: SyntaxError | NotParsed | RecursionError, source: str) -> PlanFailure | None:
    match error:
        case SyntaxError():
            return syntax_failure(error, source)
        case TooLong() | RecursionError():
            return None  # the sandbox will say what it needs to
        case NotParsed():
            return PlanFailure("syntax", str(error))


def _first_mistake(plan: ParsedPlan) -> PlanFailure | None:
    if (failure := check_entry_point(plan)) is not None:
        return failure
    wrong_value = min(
        filter(None, (misused_result(plan.names), called_verdict(plan.names))), default=None
    )
    for node in sorted(_tool_uses(plan), key=lambda node: node.lineno):
        if wrong_value is not None and wrong_value[0] < node.lineno:
            break
        if (message := tool_mistake(node, plan.names)) is not None:
            return failure_at("tool", message, node.lineno, plan.source)
    if wrong_value is not None:
        line, message = wrong_value
        return failure_at("error", message, line, plan.source)
    return None


def _tool_uses(plan: ParsedPlan) -> Iterator[ast.Call | ast.Attribute | ast.Subscript]:
    """Where a plan may name a tool."""
    for node in plan.names.nodes:
        if isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
            yield node
