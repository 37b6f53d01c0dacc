"""What a model is told of the end of its plan: an exception of the plan, or a limit of ours."""

import re
import sys
from collections.abc import Callable

from core.base.frozen import frozen
from core.base.text import shorten
from core.turn import FailureKind, PlanFailure
from modules.sandbox.language import (
    ENTRY_POINT,
    MAX_MESSAGE_CHARACTERS,
    NO_SOLVE,
    line_text,
)
from modules.sandbox.limits import MAX_TOOL_ERROR_CHARACTERS, MIB, SandboxLimits
from modules.sandbox.values import MAX_NAME_CHARACTERS

RESULT_FORMS = "return text, a number, a list or a dict"

_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_IMPORT = re.compile(r"unknown import: `wasi:([a-z]{1,20})/")

_INDEX = re.compile(r"index-sized|ssize_t")
"""What Python says of a size beyond the 32 bits that memory has there."""

_MEMORY = "; a plan may use {} MB: build less at once"

_OUTSIDE = "a plan has no files, network or processes of its own: call a tool"


@frozen
class PlanError:
    """An exception that ended a plan, as the guest tells it.

    `origin` is "plan", "tool" for one that a failed call raised, "result" for a result that JSON
    lacks, "size" for one that is too large, or "entry" for a plan without `solve`.
    """

    kind: str
    text: str
    line: int | None
    origin: str


def failure_of(
    error: PlanError, source: str, limits: SandboxLimits, hint: Callable[[str], str]
) -> PlanFailure:
    """The failure that an exception is; `hint` adds to an unknown name what was meant."""
    text = shorten(error.text, MAX_MESSAGE_CHARACTERS)
    match error.origin:
        case "tool":
            whole = shorten(error.text, MAX_TOOL_ERROR_CHARACTERS)
            return _at("tool", whole, error.line, source)
        case "entry":
            return PlanFailure("syntax", NO_SOLVE)
        case "size":
            return PlanFailure("limit", f"{ENTRY_POINT}()'s result: {text}")
        case "result":
            return PlanFailure("error", f"{ENTRY_POINT}() returned {text}; {RESULT_FORMS}")
        case _:
            kind, advice = _judged(error.kind, text, limits, hint)
            name = shorten(error.kind, MAX_NAME_CHARACTERS)
            message = f"{name}: {text}" if text else name
            return _at(kind, f"{message}{advice}", error.line, source)


def _judged(
    kind: str, text: str, limits: SandboxLimits, hint: Callable[[str], str]
) -> tuple[FailureKind, str]:
    """The kind of a plan's exception, and what to add to its text."""
    match kind:
        case "SyntaxError" | "IndentationError" | "TabError":
            return "syntax", ""
        case "MemoryError" | "OverflowError" if kind == "MemoryError" or _INDEX.search(text):
            return "limit", _MEMORY.format(limits.memory_bytes // MIB)
        case "RecursionError":
            return "limit", f"; calls may nest {limits.recursion_depth} deep: use a loop"
        case "ModuleNotFoundError":
            found = _NO_MODULE.search(text)
            if found is not None and found[1].partition(".")[0] in sys.stdlib_module_names:
                return "unsupported", f"; {_OUTSIDE}"
            return "unsupported", "; there is Python's standard library only: use it, or a tool"
        case "FileNotFoundError" | "PermissionError" | "OSError" | "NotADirectoryError":
            return "unsupported", f"; {_OUTSIDE}"
        case "EOFError":
            return "unsupported", "; nobody can be asked from a plan"
        case "TypeError" if "async_generator" in text:
            return "error", "; write [await … for …] in brackets, or async for"
        case "NameError" if (found := _UNDEFINED.search(text)) is not None:
            return "error", hint(found[1])
        case _:
            return "error", ""


def trap_failure(reason: str, limits: SandboxLimits, last_call: int | None) -> PlanFailure:
    """What to tell of a plan that was ended from outside; `reason` is the worker's."""
    if reason == "time":
        message = (
            f"TimeoutError: a plan may compute for {limits.cpu_seconds:g} s: "
            "use a smaller loop or a tool"
        )
        after = "" if last_call is None else f" (after the call in line {last_call})"
        return PlanFailure("limit", f"{message}{after}")
    if reason == "printed":
        return PlanFailure("limit", f"the plan printed more than {limits.printed_bytes:,} bytes")
    if reason == "large":
        return PlanFailure("limit", "the plan's result or calls are too large: build less at once")
    if "call stack exhausted" in reason:
        return PlanFailure("limit", "values or calls are nested too deeply: use a loop")
    if (found := _IMPORT.search(reason)) is not None:
        return PlanFailure("unsupported", f"the plan asked for {found[1]}; {_OUTSIDE}")
    last = shorten(reason.strip().rpartition("\n")[2].strip(), MAX_MESSAGE_CHARACTERS)
    if "wasm trap" in last:  # CPython doesn't always notice that it was given no memory
        broke = f"the plan's Python broke down ({last})"
        return PlanFailure("limit", f"{broke}{_MEMORY.format(limits.memory_bytes // MIB)}")
    return PlanFailure("crash", f"the sandbox ended: {last}")


def limit_failure(message: str, line: int | None, source: str) -> PlanFailure:
    """A limit on calls, which the line of one has passed."""
    return _at("limit", message, line, source)


def _at(kind: FailureKind, message: str, line: int | None, source: str) -> PlanFailure:
    return PlanFailure(kind, message, line, line_text(source, line))
