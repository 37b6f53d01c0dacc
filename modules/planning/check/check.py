"""What is certainly wrong with a plan before it runs, so that the model gets a precise message."""

import ast
from collections.abc import Iterator

from core.turn import PlanFailure
from modules.planning.check.calls import tool_mistake
from modules.planning.check.result_uses import misused_result
from modules.planning.check.syntax import called_verdict, check_entry_point, failure_at
from modules.planning.names import ParsedPlan


def first_mistake(plan: ParsedPlan) -> PlanFailure | None:
    """The first thing that is certainly wrong with a plan, by line; None if nothing is.

    Looks at `solve()`, at the names after `tools.`, at the arguments of every call that shows them
    all, and at what becomes of results whose type is known.
    """
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
