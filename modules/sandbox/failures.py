"""Turns the interpreter's exceptions into `PlanFailure`s that a model can act on.

Kinds follow from the type of the exception where that says enough. What the interpreter lacks it
reports in many ways (NotImplementedError, but also NameError, AttributeError, TypeError) and
without a code: there the message is compared with what Python has, and with `alternatives`.
"""

import ast
import builtins
import types
from collections.abc import Iterator, Sequence

from pydantic_monty import (
    Frame,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from core.base.text import lazy_pattern, shorten
from core.turn import FailureKind, PlanFailure
from modules.sandbox.language.alternatives import (
    BUILTINS,
    CATCH,
    CONSTRUCTS,
    METHODS,
    MODULE_NAMES,
    MODULES,
    OTHER_ERRORS,
)
from modules.sandbox.language.guard import GuardedPlan
from modules.sandbox.language.parsing import MAX_MESSAGE_CHARACTERS, NotParsed, line_text, parse
from modules.sandbox.language.prelude import AVAILABLE_MODULES
from modules.sandbox.language.provided import PROVIDED_MODULES, PYTHON_TYPES
from modules.sandbox.limits import SandboxLimits

PLAN_FILENAME = "<python-input-1>"
"""How the interpreter names a session's second feed: the plan (the first is the prelude)."""

_UNDEFINED = lazy_pattern(r"name '(\w+)' is not defined")
_NO_MODULE = lazy_pattern(r"No module named '([\w.]+)'")
_NOT_IN_MODULE = lazy_pattern(
    r"(?:module '(?P<module>[\w.]+)' has no attribute|cannot import name) '(?P<name>\w+)'"
    r"(?: from '(?P<source>[\w.]+)')?"
)
_NOT_IN_TYPE = lazy_pattern(r"(?:type object )?'([\w.]+)'(?: object)? has no attribute '(\w+)'")
_ONE_TEXT = "RuntimeError: Internal error in monty: exceptions can only"

_TOO_MANY_DIGITS = lazy_pattern(
    r"(Exceeds the limit \(\d+ digits\) for integer string conversion).*"
)
"""Python's own words go on with a setting that no plan can change."""

_SLOW_STEP = "one step of the plan took longer: use smaller numbers, less text or a simpler pattern"
"""Where the worker could not even say that its time was up."""


def failure_of(
    error: MontyError, plan: GuardedPlan, limits: SandboxLimits, last_call: int | None = None
) -> PlanFailure:
    """What to tell the model about an exception that ended its plan.

    Lines are those of the plan as it was given, the innermost of the plan itself. Where time ran
    out nothing tells the line: then it is that of the only loop after `last_call`, the line of the
    last call that was made.
    """
    if isinstance(error, MontyCrashedError) and error.timed_out:
        message = f"a plan may compute for {limits.cpu_seconds:g} s, and {_SLOW_STEP}"
        return _out_of_time(f"TimeoutError: {message}", plan, last_call)
    if not isinstance(error, MontySyntaxError | MontyRuntimeError):
        return PlanFailure(
            "crash", shorten(f"the sandbox worker ended: {error}", MAX_MESSAGE_CHARACTERS)
        )
    line = _plan_line(error.traceback(), plan)
    text = line_text(plan.source, line)
    message = error.display("type-msg")
    if isinstance(error, MontySyntaxError):
        return PlanFailure("syntax", shorten(message, MAX_MESSAGE_CHARACTERS), line, text)
    if message.startswith(_ONE_TEXT):  # the one error that comes without a traceback
        line = _only_odd_exception(plan.source)
        text = line_text(plan.source, line)
    raised = error.exception()
    kind, advice = _judged(raised, text or "", limits)
    if isinstance(raised, TimeoutError | MemoryError) and "limit exceeded" in message:
        # The interpreter counts nanoseconds and single bytes; the advice says the same in ours.
        if line is None:
            return _out_of_time(f"{type(raised).__name__}: {advice}", plan, last_call)
        return PlanFailure(kind, f"{type(raised).__name__}: {advice}", line, text)
    message = _TOO_MANY_DIGITS.sub(r"\1", message)
    return PlanFailure(
        kind,
        shorten(f"{message}{f'; {advice}' if advice else ''}", MAX_MESSAGE_CHARACTERS),
        line,
        text,
    )


def _out_of_time(message: str, plan: GuardedPlan, last_call: int | None) -> PlanFailure:
    """A limit that was reached at a line nobody tells: the only loop, or after which call."""
    try:
        nodes = [*ast.walk(parse(plan.source))]
    except (SyntaxError, NotParsed):
        nodes = []
    loops = {node.lineno for node in nodes if isinstance(node, ast.While | ast.For | ast.ListComp)}
    after = {line for line in loops if line > (last_call or 0)} or loops
    if len(after) == 1:
        line = after.pop()
        return PlanFailure("limit", message, line, line_text(plan.source, line))
    if last_call is not None:
        message = f"{message} (after the call in line {last_call})"
    return PlanFailure("limit", message)


def nesting_advice(limits: SandboxLimits) -> str:
    """What a plan is told whose calls nest too deeply."""
    return f"calls may nest {limits.recursion_depth} deep: use a loop"


def _judged(error: BaseException, line: str, limits: SandboxLimits) -> tuple[FailureKind, str]:
    """The kind of a plan's exception, and advice; "" where there is none.

    Time, memory and print limits arrive as TimeoutError and MemoryError, recursion as
    RecursionError. A plan that raises one of these itself counts as stopped by a limit too.
    """
    message = shorten(str(error), MAX_MESSAGE_CHARACTERS)
    match error:
        case TimeoutError():
            return "limit", (
                f"a plan may compute for {limits.cpu_seconds:g} s: use a smaller loop or a tool"
            )
        case MemoryError():
            return "limit", f"a plan may use {limits.memory_bytes:,} bytes: build less at once"
        case RecursionError():
            return "limit", nesting_advice(limits)
        case ValueError() if _TOO_MANY_DIGITS.match(message):
            return (
                "error",
                "take part of the number, as in n % 10**9, or math.log10(n) for its size",
            )
        case NotImplementedError():
            return "unsupported", _for_construct(message, line) or ""
        case ImportError():
            return "unsupported", _for_module(message) or _for_module_name(message) or ""
        case NameError():
            return _for_name(message)
        case AttributeError():
            advice = _for_module_name(message) or _for_attribute(message, line)
        case _:
            advice = _for_other(type(error).__name__, message)
    return ("error", "") if advice is None else ("unsupported", advice)


def _for_construct(message: str, line: str) -> str | None:
    if "async with" in message:
        for name in ("TaskGroup", "timeout"):
            if f"asyncio.{name}" in line:
                return MODULE_NAMES[f"asyncio.{name}"]
    return next((hint for words, hint in CONSTRUCTS.items() if words in message), None)


def _for_other(error: str, message: str) -> str | None:
    known = OTHER_ERRORS.get(error, {})
    return next((hint for words, hint in known.items() if message.startswith(words)), None)


def _for_module(message: str) -> str | None:
    """Advice about a module that isn't there: what to use instead, or what there is."""
    found = _NO_MODULE.search(message)
    if found is None:
        return None
    name = found[1]
    instead = MODULES.get(name) or MODULES.get(name.partition(".")[0])
    return instead or f"there is only: {', '.join(AVAILABLE_MODULES)}"


def _for_module_name(message: str) -> str | None:
    """Advice about a name that a module hasn't got."""
    found = _NOT_IN_MODULE.search(message)
    if found is None:
        return None
    module = found["module"] or found["source"] or ""
    return MODULE_NAMES.get(f"{module}.{found['name']}", f"do without {module}.{found['name']}")


def _for_name(message: str) -> tuple[FailureKind, str]:
    """About an undefined name: a builtin that is lacking, or a module that wasn't imported."""
    found = _UNDEFINED.search(message)
    name = found[1] if found else ""
    if name in BUILTINS:
        return "unsupported", f"{name} is not supported: {BUILTINS[name]}"
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return "unsupported", f"{name} is not supported: {CATCH}"
    if name in AVAILABLE_MODULES:
        return "error", f"write import {name} first"
    return "error", ""


def _for_attribute(message: str, line: str) -> str | None:
    """Advice about an attribute that Python's own type has, and the interpreter's hasn't."""
    found = _NOT_IN_TYPE.search(message)
    if found is None:
        return None
    kind, name = found[1], found[2]
    if kind in PROVIDED_MODULES:
        if (instead := MODULE_NAMES.get(f"{kind}.{name}")) is not None:
            return instead
        return f"{kind} has only: {', '.join(PROVIDED_MODULES[kind])}"
    if name in METHODS and (name == "send" or _has(kind, name) or name.startswith("__")):
        return METHODS[name]
    if not _has(kind, name):
        return None
    if message.startswith("type object"):
        return f"call it on a value, as in lambda x: x.{name}()"
    if f".{name}(" in line:
        return f"do without .{name}()"
    return f"a method can't be used as a value: write lambda x: value.{name}(x)"


def _has(kind: str, name: str) -> bool:
    """Whether Python's type of this name has the attribute; False for a class of the plan's."""
    python = types.FunctionType if kind == "function" else getattr(builtins, kind, None)
    known = PYTHON_TYPES.get(kind, python)
    return isinstance(known, type) and hasattr(known, name)


def _plan_line(frames: Sequence[Frame], plan: GuardedPlan) -> int | None:
    """The innermost line of the plan as given: neither the prelude's nor the epilogue's."""
    lines = [plan.source_line(frame.line) for frame in frames if frame.filename == PLAN_FILENAME]
    known = [line for line in lines if line is not None]
    return known[-1] if known else None


def _only_odd_exception(source: str) -> int | None:
    """Where an exception is made of something else than one text; None unless in one line only."""
    try:
        lines = {call.lineno for call in _exception_calls(parse(source)) if not _is_plain(call)}
    except (SyntaxError, NotParsed):
        return None
    return lines.pop() if len(lines) == 1 else None


def _exception_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            known = getattr(builtins, node.func.id, None)
            if isinstance(known, type) and issubclass(known, BaseException):
                yield node


def _is_plain(call: ast.Call) -> bool:
    """Whether it is called with nothing or with what is certainly text."""
    match call.args, call.keywords:
        case ([], []) | ([ast.JoinedStr()], []) | ([ast.Constant(value=str())], []):
            return True
        case ([ast.Call(func=ast.Name(id="str" | "repr"))], []):
            return True
        case _:
            return False
