"""The action step: runs a plan in the sandbox and reads its verdict.

A plan's `solve()` says with a prefix what its text is: `FINAL_ANSWER:` ends the run,
`FURTHER_PROCESSING_REQUIRED:` carries the text into the next step, `CLARIFICATION_NEEDED:` asks
the user back. Small models forget the prefix where the value says all: then a short value is the
answer, and a long text of a tool, which nobody has read yet, goes on. A plan that returns nothing
gives what it printed.

`NO_ANSWER:` says that what is asked can't be had, and why.

A prefix counts where the plan has written it (`modules.sandbox.own_words`). What a tool gave may
begin with one too: a page that would like to decide what the answer is, or what the user is asked.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TypeAlias

from core.base.json_text import json_start, texts_in
from core.base.text import lazy_pattern, shorten
from core.ports import CallTool, OnRepaired, ToolCaller
from core.run.observation import ERROR_CHARACTERS_MIN, SHORT_ANSWER_CHARACTERS
from core.run.working_memory import MEMORY, WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    CLARIFICATION,
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    NO_ANSWER,
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    Plan,
    PlanFailed,
    PlanFailure,
    TextInput,
    Unanswered,
)
from core.values import Json, JsonObject
from modules.planning.check.hints import with_value_hints
from modules.planning.check.syntax import with_syntax_hint
from modules.planning.preparation import PreparedPlan, prepare_plan, with_tools_named
from modules.sandbox import MAX_TOOL_CALLS_PER_PLAN, Sandbox, SandboxResult
from modules.sandbox.language import line_text

__all__ = ["MAX_TOOL_CALLS_PER_PLAN", "format_result", "run_plan", "run_python_sandbox"]

Prepare: TypeAlias = Callable[[str, ToolCatalog], PreparedPlan]

MAX_SHOWN_VALUE_CHARACTERS = 200
"""How much of a value without a verdict is shown to the model."""

_VERDICTS = (
    (FINAL_ANSWER, FinalAnswer),
    (FURTHER_PROCESSING, FurtherProcessing),
    (CLARIFICATION, AskedBack),
    (NO_ANSWER, Unanswered),
)

COMPARED_CHARACTERS = 100
"""How much of why a call failed is looked for in what a plan returns."""

SEARCHED_CHARACTERS = 64 * 1024
"""How much of an answer is searched for what can't be part of one."""

_EMPTY_WORDS = frozenset({"None", "nan", "[]", "{}", "()", "[None]"})
"""Texts of values that hold nothing: a plan that returns one of them has found no answer."""

_SHOWN_OBJECT = re.compile(r"<[\w.'<> ]{1,200}? at 0x[0-9a-f]+>|<tool [\w.]+>")
"""An object as Python shows it: of use to nobody who reads an answer."""

_OBJECT_BEGINS = lazy_pattern(r"<[\w.' ]{1,100} at 0x|<tool ")
"""The same, as far as text must hold it that means to speak of such things."""


def format_result(value: Json) -> str:
    """A value as text: a dict's `result`, else a dict as JSON; a list's items joined by spaces."""
    match value:
        case {"result": result}:
            return str(result)
        case dict():
            return json.dumps(value)
        case list():
            return " ".join(str(item) for item in value)
        case _:
            return str(value)


async def run_plan(
    plan: Plan,
    tools: ToolCatalog,
    call: CallTool,
    sandbox: Sandbox,
    on_repaired: OnRepaired | None = None,
    texts: Sequence[TextInput] = (),
    prepare: Prepare = prepare_plan,
    memory: WorkingMemory | None = None,
) -> ActionResult:
    """Repair, check and run a plan, and read its verdict.

    `texts` go with the request, and the plan has them as variables. `prepare` repairs and checks.
    `memory` is what earlier plans of the run have left, and afterwards what this one leaves too.
    `on_repaired` hears before the plan runs what was put right, if any were. Lines in a
    failure are those of `plan.source`. Raises what `Sandbox.run` raises.
    """
    memory = memory or WorkingMemory()
    kept: list[str] = []
    if memory.values and MEMORY in plan.source:  # text that an earlier plan had is still a tool's
        kept = await asyncio.to_thread(lambda: [*texts_in(memory.values)])
    ran = await _run_checked(plan.source, tools, call, sandbox, on_repaired, texts, prepare, memory)
    if ran.memory is not None or memory.lost:
        memory.take(ran.memory)
    if ran.failure is not None:
        return PlanFailed(ran.failure, ran.calls, ran.found)
    value = ran.printed if ran.value is None and ran.printed.strip() else ran.value
    text = value if isinstance(value, str) else await asyncio.to_thread(format_result, value)
    text = text.strip()
    if (inside := _object_inside(text, plan, ran, kept)) is not None:
        return PlanFailed(PlanFailure("no_verdict", _no_text(inside)), ran.calls, ran.found)
    for prefix, verdict in _VERDICTS:
        said = text.removeprefix(prefix).strip()
        if ran.begins_own and text.startswith(prefix) and said:
            return verdict(said, ran.calls, ran.found)
    return _without_verdict(value, text, ran)


def as_written(source: str, tools: ToolCatalog) -> PreparedPlan:
    """The plan of a planner of ours; what the user's values get wrong, its calls tell."""
    return PreparedPlan(source)


async def run_python_sandbox(
    code: str, dispatcher: ToolCaller, *, sandbox: Sandbox | None = None
) -> str:
    """Run one plan with every tool of the dispatcher; its formatted result as text.

    Opens and closes a sandbox of its own if none is given. A failed plan gives
    `[sandbox error: …]`. Raises what `Sandbox.run` raises.
    """

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        return await dispatcher.call_tool(tool.qualified_name, arguments)

    async with AsyncExitStack() as stack:
        used = sandbox or await stack.enter_async_context(Sandbox())
        ran = await _run_checked(code, dispatcher.catalog, call, used)
    return format_result(ran.value) if ran.failure is None else f"[sandbox error: {ran.failure}]"


async def _run_checked(
    source: str,
    tools: ToolCatalog,
    call: CallTool,
    sandbox: Sandbox,
    on_repaired: OnRepaired | None = None,
    texts: Sequence[TextInput] = (),
    prepare: Prepare = prepare_plan,
    memory: WorkingMemory | None = None,
) -> SandboxResult:
    """Run a plan if the static check finds nothing; failures quote the text as it was given."""
    if (unreadable := sandbox.unreadable(source)) is not None:
        return SandboxResult(None, "", (), unreadable)
    prepared = await asyncio.to_thread(prepare, source, tools)
    if sandbox.unreadable(prepared.source) is not None:  # too long, by what was put in
        prepared = replace(prepared, source=source, repairs=())
    if prepared.repairs and on_repaired is not None:
        await on_repaired(prepared.repairs)
    if prepared.failure is not None:
        return SandboxResult(None, "", (), _in_own_words(prepared.failure, source))
    given = {text.name: text.text for text in texts}
    kept = {} if memory is None else memory.values
    ran = await sandbox.run(prepared.source, tools, call, given, kept)
    if ran.failure is None:
        return ran
    told = ran.failure, prepared.source, tools, ran.calls
    failure = await asyncio.to_thread(with_value_hints, *told)
    failure = await asyncio.to_thread(with_tools_named, failure, prepared.source, tools)
    return replace(ran, failure=with_syntax_hint(_in_own_words(failure, source)))


def _in_own_words(failure: PlanFailure, source: str) -> PlanFailure:
    """Quote the line as the model wrote it; repairs never change the numbers of lines."""
    if failure.line is None:
        return failure
    return replace(failure, line_text=line_text(source, failure.line))


def _object_inside(text: str, plan: Plan, ran: SandboxResult, kept: Sequence[str]) -> str | None:
    """How the interpreter shows an object, if that stands in an answer by accident.

    It is no accident where the plan wrote it or a tool may have sent it.
    """
    found = _SHOWN_OBJECT.search(text[:SEARCHED_CHARACTERS])
    if found is None or _OBJECT_BEGINS.search(plan.source) is not None:
        return None
    sent = any(
        isinstance(c.result, dict | list) or found.group() in str(c.result) for c in ran.calls
    )
    return None if sent or any(found.group() in one for one in kept) else found.group()


def _without_verdict(value: Json, text: str, ran: SandboxResult) -> ActionResult:
    """What a value without a prefix amounts to; see the module's docstring.

    Text that names a verdict is neither: it may come from a tool. Nor is the error of a call that
    failed an answer, if the plan doesn't say that it is.
    """
    inner = value["result"] if isinstance(value, dict) and "result" in value else value
    is_answer = _is_plain(inner) and any(map(str.isalnum, text)) and text not in _EMPTY_WORDS
    if is_answer and not _names_verdict(text) and not _tells_error(text, ran):
        if len(text) <= SHORT_ANSWER_CHARACTERS:
            return FinalAnswer(text, ran.calls, ran.found)
        if _is_told_by_tool(text, ran):
            return FurtherProcessing(text, ran.calls, ran.found)
    return PlanFailed(PlanFailure("no_verdict", _no_verdict(value)), ran.calls, ran.found)


def _is_plain(value: Json) -> bool:
    """Whether it is text or a number, or a list or table of nothing else."""
    if not isinstance(value, list):
        return isinstance(value, str | int | float)
    cells = (cell for row in value for cell in (row if isinstance(row, list) else [row]))
    return all(isinstance(cell, str | int | float) for cell in cells)


def _tells_error(text: str, ran: SandboxResult) -> bool:
    """Whether a short text repeats why a call failed."""
    if len(text) > SHORT_ANSWER_CHARACTERS:
        return False
    errors = (str(c.result).strip() for c in ran.calls if not c.ok)
    errors = (error for error in errors if len(error) >= ERROR_CHARACTERS_MIN)
    return any(error[:COMPARED_CHARACTERS] in text for error in errors)


def _names_verdict(text: str) -> bool:
    return any(prefix in text for prefix, _ in _VERDICTS)


def _is_told_by_tool(text: str, ran: SandboxResult) -> bool:
    """Whether a long text consists of what a tool gave, for the greater part."""
    told = [c.result.strip() for c in ran.calls if c.ok and isinstance(c.result, str)]
    return any(len(part) * 2 > len(text) and part in text for part in told)


def _no_text(shown: str) -> str:
    if shown.startswith("<coroutine"):  # its name is ours, and tells nothing
        return "the answer holds a call that was never awaited; write await before it"
    kept = shorten(shown, MAX_SHOWN_VALUE_CHARACTERS)
    return (
        f"the answer holds {kept}, an object and not its value; of an answer of mcp.call_tool "
        "take .content[0].text, call functions with (), and show the fields of other objects"
    )


def _no_verdict(value: Json) -> str:
    if isinstance(value, str) and value.strip() in (FINAL_ANSWER, FURTHER_PROCESSING):
        return (
            f"solve() returned {value.strip()!r} and nothing behind it; if what a tool gave is "
            "empty, say in words what that means for the request"
        )
    if isinstance(value, str):
        shown = shorten(repr(value[:MAX_SHOWN_VALUE_CHARACTERS]), MAX_SHOWN_VALUE_CHARACTERS)
    else:
        shown = "nothing" if value is None else json_start(value, MAX_SHOWN_VALUE_CHARACTERS)
    return (
        f"solve() returned {shown}; return a string that starts with {FINAL_ANSWER!r} and the "
        f"answer, or with {FURTHER_PROCESSING!r} and what is known so far"
    )
