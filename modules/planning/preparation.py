"""From a plan's text to one that may run: read, repaired, checked.

1. The text is read as Python (`modules.sandbox.language`).
2. Its commonest mistakes are repaired, where only one reading makes sense (`repair/`).
3. What is certainly wrong is told to the model, at no cost (`check/`).

A repair is an edit of the model's own text, so that lines keep their numbers and errors quote what
the model wrote. Each is worth its lines: an issue asked for it, or it changed what became of a
reply that a model really wrote (`python -m tests.evals ablation`).

This is no wall: whatever passes here still meets the sandbox, which resolves names and binds
arguments again.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final, TypeAlias

from core.base.frozen import frozen
from core.base.text import with_line_feeds
from core.errors import CallRefused
from core.ports import PlannedCall
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import PlanFailure
from core.values import Json
from modules.planning.check.syntax import (
    called_verdict,
    check_entry_point,
    failure_at,
)
from modules.planning.check.types import first_mistake, name_mistake
from modules.planning.names import TOOLS, ParsedPlan, PlanNames, Repair, read_plan
from modules.planning.repair.awaits import generators_to_lists, missing_awaits
from modules.planning.repair.entry import annotated_verdicts, misnamed_entry, own_runs
from modules.planning.repair.names import missing_imports, needless_imports, shadowed_tools
from modules.sandbox.language import NotParsed, TooLong
from modules.sandbox.values import NotJson, TooLarge, to_json

MAX_REPAIRS = 50
"""A text with more mistakes of one stage than this is no plan; it is left alone."""

_UNKNOWN_NAME: Final = re.compile(r"NameError: name '(?P<name>\w+)' is not defined$")
"""The message of a NameError to which nothing is added yet."""

CALLS_READ_MAX: Final = 50
"""So many calls are read from one plan."""

LITERAL_BYTES_MAX: Final = 64 * 1024
"""Larger than any argument that is read from a plan."""

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
        plan, told = _repaired(read_plan(lines, tools), repairs)
        return PreparedPlan(plan.source, told, _first_mistake(plan))
    except (SyntaxError, TooLong, RecursionError):
        return PreparedPlan(source)  # the sandbox will say what it needs to
    except NotParsed as error:
        return PreparedPlan(source, failure=PlanFailure("syntax", str(error)))


def read_calls(source: str, tools: ToolCatalog) -> list[PlannedCall]:
    """The calls of tools on offer whose arguments stand in a plan, as literals or under a name.

    Meant for a thread, as `prepare_plan` is.
    """
    try:
        names = read_plan(source, tools).names
    except (SyntaxError, NotParsed, RecursionError):
        return []
    calls = (node for node in names.nodes if isinstance(node, ast.Call))
    read = (
        _read_call(call, tool, names)
        for call in sorted(calls, key=lambda call: call.lineno)
        if (tool := names.called_tool(call)) is not None and tools.offers(tool)
    )
    return [*islice(filter(None, read), CALLS_READ_MAX)]


def _read_call(call: ast.Call, tool: ToolSpec, names: PlanNames) -> PlannedCall | None:
    try:
        args = [_read_value(value, names) for value in call.args]
        kwargs = {word.arg or "": _read_value(word.value, names) for word in call.keywords}
        return tool, tool.bind(args, kwargs)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None  # no literal
    except (NotJson, TooLarge, CallRefused):
        return None  # the sandbox has words for it


def _read_value(value: ast.expr, names: PlanNames) -> Json:
    """A literal, or what a name is bound to by the one assignment that there is."""
    if isinstance(value, ast.Name):
        match [names.parents[binding] for binding in names.bound_by(value.id)]:
            case [ast.Assign(targets=[ast.Name()], value=value)]:
                pass
            case _:
                raise ValueError(value.id)
    return to_json(ast.literal_eval(value), max_bytes=LITERAL_BYTES_MAX)


def with_tools_named(failure: PlanFailure, source: str, tools: ToolCatalog) -> PlanFailure:
    """The failure, with what tools there are if a plan awaited a call of a name that nobody has.

    It is told as if `tools.` stood before the name: `desk.remove_file(…)`, `remove_file(…)`.
    `source` is the text that ran. Meant for a thread, as `prepare_plan` is.
    """
    unknown = _UNKNOWN_NAME.match(failure.message)
    if failure.kind != "error" or unknown is None or failure.line is None:
        return failure
    try:
        plan = read_plan(source, tools)
        text, _ = plan.text.edited(
            edit
            for node in plan.names.nodes
            if isinstance(node, ast.Name)
            and (node.id, node.lineno) == (unknown["name"], failure.line)
            and _is_awaited_call(node, plan.names)
            for edit in plan.text.around(node, f"{TOOLS}.")
        )
        names = read_plan(text, tools, most_characters=len(text)).names
    except (SyntaxError, NotParsed, RecursionError):
        return failure
    uses = (node for node in names.nodes if isinstance(node, ast.Attribute))
    hints = (
        _meant_tools(node, names) or name_mistake(node, names)
        for node in uses
        if node.lineno == failure.line
    )
    hint = next(filter(None, hints), None)
    return failure if hint is None else replace(failure, message=f"{failure.message}; {hint}")


def _meant_tools(node: ast.Attribute, names: PlanNames) -> str:
    """The tools that `tools.x` or `tools.x.y` may mean, of whatever server; "": none."""
    tools, path = names.tools, names.tool_path(node)
    if path is None and isinstance(node.value, ast.Attribute) and names.tool_path(node.value):
        path = node.attr  # of a server that nobody knows
    if path is None or path in names.servers:
        return ""
    exact = tools.get(path)
    meant = tools.spelt_alike(path.rpartition(".")[2]) if exact is None else [exact]
    offered = [f"{TOOLS}.{tools.plan_name(tool)}" for tool in meant if tools.offers(tool)]
    return f"did you mean {', '.join(offered)}?" if offered else ""


def _is_awaited_call(name: ast.Name, names: PlanNames) -> bool:
    """Whether a name is what a call begins with (`x(…)`, `x.y(…)`) that is awaited somewhere."""
    node: ast.AST = name
    while isinstance(parent := names.parents[node], ast.Attribute):
        node = parent
    if not (isinstance(parent, ast.Call) and parent.func is node):
        return False
    return any(isinstance(outer, ast.Await) for outer in names.ancestors(parent))


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
