"""Turns the interpreter's exceptions into `PlanFailure`s that a model can act on.

Kinds follow from the type of the exception alone. The one thing that only the text tells is
which construct the interpreter lacks; `hint_for` looks there, to add advice, and `_lacks` to tell
a missing function of a module from an ordinary AttributeError.
"""

from collections.abc import Sequence

from pydantic_monty import (
    Frame,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from core.turn import FailureKind, PlanFailure
from modules.plans.text import line_text, shorten
from modules.sandbox.limits import SandboxLimits
from modules.sandbox.prelude import AVAILABLE_MODULES

PLAN_FILENAME = "<python-input-1>"
"""How the interpreter names a session's second feed: the plan (the first is the prelude)."""

_HINTS: tuple[tuple[str, str], ...] = (
    ("yield", "build and return a list instead"),
    ("inheritance", "use plain functions and dicts, and RuntimeError for errors"),
    ("'del'", "assign None, or build a new list or dict without the item"),
    ("async comprehension", "use a for loop with await inside"),
    ("async for", "use a plain for loop with await inside"),
    ("TaskGroup", "use await asyncio.gather(call1, call2)"),
    ("create_task", "use await asyncio.gather(call1, call2)"),
    ("ensure_future", "use await asyncio.gather(call1, call2)"),
    ("wait_for", "await the call itself: every tool call has its own time limit"),
    ("asyncio.wait", "use await asyncio.gather(call1, call2)"),
    ("async with", "call the tool directly with await tools.name(…)"),
    ("gather()", "await asyncio.gather(call1, call2) without other arguments"),
    ("decorators", "write a plain function"),
    ("except*", "use a plain except"),
    ("synchronous context", "call the tool in an async function, with await, not through map()"),
)

_MODULE_ALTERNATIVES: dict[str, str] = {
    "statistics": "sum(values) / len(values) and sorted(values)",
    "fractions": "decimal, or integers",
    "operator": "a lambda",
    "heapq": "sorted(values)[:n]",
    "string": "a literal such as 'abcdefghijklmnopqrstuvwxyz'",
    "textwrap": "slices of the text",
    "enum": "plain constants",
    "numpy": "lists and the math module",
}


def failure_of(error: MontyError, source: str, limits: SandboxLimits) -> PlanFailure:
    """What to tell the model about an exception that ended its plan.

    `source` is the plan's text as fed; the line is the innermost one of the plan itself.
    """
    if not isinstance(error, MontySyntaxError | MontyRuntimeError):
        stopped = isinstance(error, MontyCrashedError) and error.timed_out
        message = shorten(f"the sandbox worker ended: {error}")
        return PlanFailure("limit" if stopped else "crash", message)
    line = _plan_line(error.traceback(), source)
    text = line_text(source, line)
    message = error.display("type-msg")
    if isinstance(error, MontySyntaxError):
        return PlanFailure("syntax", shorten(message), line, text)
    kind = _kind_of(error)
    advice = _limit_advice(error, limits) if kind == "limit" else hint_for(message, text or "")
    return PlanFailure(kind, shorten(f"{message}{f'; {advice}' if advice else ''}"), line, text)


def hint_for(message: str, line: str) -> str:
    """Advice for a construct or module that the interpreter lacks; "" where there is none.

    Reads the message and the plan's line, because the interpreter gives no code for what is
    missing. It only ever adds words.
    """
    if "No module named" in message:
        module = message.partition("'")[2].partition("'")[0].partition(".")[0]
        instead = _MODULE_ALTERNATIVES.get(module)
        return f"use {instead}" if instead else f"there is only: {', '.join(AVAILABLE_MODULES)}"
    if "attribute 'get'" in message and "key=" in line:
        return "write key=lambda k: d[k]"
    for needle, hint in _HINTS:
        if needle in message or (needle in line and "attribute" in message):
            return hint
    return ""


def _kind_of(error: MontyRuntimeError) -> FailureKind:
    """The kind of a plan's exception, by its type.

    Time, memory and print limits arrive as TimeoutError and MemoryError, recursion as
    RecursionError. A plan that raises one of these itself counts as stopped by a limit too.
    """
    match error.exception():
        case TimeoutError() | MemoryError() | RecursionError():
            return "limit"
        case NotImplementedError() | ImportError():
            return "unsupported"
        case AttributeError() as lacking if _lacks(str(lacking)):
            return "unsupported"
        case _:
            return "error"


def _lacks(message: str) -> bool:
    """Whether an AttributeError is about a module's function: "module 'x' has no attribute 'y'"."""
    return message.startswith("module '")


def _limit_advice(error: MontyRuntimeError, limits: SandboxLimits) -> str:
    match error.exception():
        case TimeoutError():
            return f"a plan may compute for {limits.cpu_seconds:g} s: use a smaller loop or a tool"
        case MemoryError():
            return f"a plan may use {limits.memory_bytes:,} bytes: build less at once"
        case _:
            return f"calls may nest {limits.recursion_depth} deep: use a loop"


def _plan_line(frames: Sequence[Frame], source: str) -> int | None:
    """The innermost line of the plan: neither the prelude's nor the epilogue's."""
    last_line = source.count("\n") + 1
    lines = [f.line for f in frames if f.filename == PLAN_FILENAME and f.line <= last_line]
    return lines[-1] if lines else None
