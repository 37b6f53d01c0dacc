"""Repairs the commonest slips of plans, where only one reading makes sense.

What a repair is stands in `modules.planning.repair.draft`; which slips there are, in the modules
beside it.
"""

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from core.tools.catalog import ToolCatalog
from modules.planning.names import ParsedPlan, PlanNames, read_plan
from modules.planning.repair.arguments import dicts_of_arguments, parsed_results
from modules.planning.repair.awaits import (
    asyncio_runs,
    generators,
    made_async,
    misplaced_awaits,
    missing_awaits,
)
from modules.planning.repair.draft import Draft, Slip
from modules.planning.repair.entry import (
    misnamed_entry,
    needless_parameters,
    own_runs,
)
from modules.planning.repair.imports import missing_imports, needless_imports
from modules.planning.repair.tool_names import misnamed_tools
from modules.planning.repair.verdicts import annotated_verdicts, printed_verdicts, unfilled_verdicts
from modules.sandbox.language.parsing import NotParsed

MAX_REPAIRS = 50
"""A text with more slips of one stage than this is no plan; it is left alone."""

FindSlips: TypeAlias = Callable[[ast.Module, PlanNames], Iterator[Slip]]

Stages: TypeAlias = tuple[tuple[FindSlips, ...], ...]

REPAIRS: Stages = (
    (misnamed_entry,),
    (
        own_runs,
        needless_parameters,
        printed_verdicts,
        annotated_verdicts,
        unfilled_verdicts,
        misnamed_tools,
        needless_imports,
    ),
    (
        made_async,
        asyncio_runs,
        generators,
        dicts_of_arguments,
        parsed_results,
        misplaced_awaits,
        missing_awaits,
        missing_imports,
    ),
)
"""What finds something to repair. A stage sees what those before it have put right: names and
`solve` must be right before it is known which calls are calls of tools."""


def repair(
    plan: ParsedPlan, tools: ToolCatalog, stages: Stages = REPAIRS
) -> tuple[ParsedPlan, tuple[str, ...]]:
    """A plan with its unambiguous slips repaired, and what was done, a phrase each, by line.

    - a tool call without `await` whose value is used (the whole of a statement, an operand, an
      argument of another tool call, …), in an async function or in a sync `solve`; also
      `asyncio.gather` and the plan's own coroutine functions; and an `await` too many
    - `remainder = await remainder(…)`: a variable that shadows the tool; called by `tools.`
    - `tools["add"]`, `mcp.add`, `call_tool(…)`: other ways to name a tool
    - `tools.add({"a": 1, "b": 2})`: a dict of all arguments
    - `json.loads(text)` of a result that may have been parsed already
    - a generator expression with an `await` in it, which becomes a list
    - `import tools`, `from tools import add`, `import mcp`: nothing needs them; and an import left
      out of a module that the plan uses
    - `async def main():` where there is no `solve`, and `asyncio.run(tools.x(…))` for an `await`
    - `asyncio.run(solve())` and the like, parameters of `solve` that nothing reads
    - an answer that is printed where it should be returned, written as `FINAL_ANSWER: total`, or
      as `"FINAL_ANSWER: {total}"` without the f before it

    The tree of `plan` may be changed: go on with the plan that comes back.
    """
    told: list[tuple[int, str]] = []
    for stage in stages:
        slips = [slip for find_slips in stage for slip in find_slips(plan.tree, plan.names)]
        if not 0 < len(slips) <= MAX_REPAIRS:
            continue
        repaired = _mended(plan, slips, tools)
        if repaired is None:
            plan = read_plan(plan.source, tools)
            continue
        plan = repaired
        told += [(slip.place.lineno, slip.phrase) for slip in slips]
    return plan, tuple(dict.fromkeys(phrase for _, phrase in sorted(told)))


def _mended(plan: ParsedPlan, slips: list[Slip], tools: ToolCatalog) -> ParsedPlan | None:
    """The plan after these repairs; None if its text and its tree then differ."""
    draft = Draft(plan)
    try:
        for slip in slips:
            slip.mend(draft)
        finished = draft.finished()
    except (SyntaxError, NotParsed, RecursionError):
        return None
    if finished is None:
        return None
    source, tree = finished
    return ParsedPlan(source, tree, PlanNames(tree, tools))
