"""Runs plans in the Python that runs this file: each in a fork of its own, so nothing is left over.

A line of standard input is a plan's text as JSON; a line of standard output is its outcome.
It imports the standard library and `fake_tools` alone, since other Pythons than ours run it.
"""

import asyncio
import contextlib
import inspect
import io
import json
import os
import signal
import sys
import types
from pathlib import Path
from typing import cast

FILE = "<plan>"
WAITING_SECONDS_MAX = 30
"""The system ends a plan that runs longer; its outcome is then the error `Killed`."""


def _line(error: BaseException) -> int | None:
    """The plan's line where the error came up: its innermost one, or where its text is broken."""
    lines: list[int | None] = []
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == FILE:
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    if lines:
        return lines[-1]
    if isinstance(error, SyntaxError):
        return error.lineno
    # A coroutine's StopIteration comes out as a RuntimeError that has it as its cause.
    return _line(error.__cause__) if error.__cause__ else None


def _told(value: object) -> dict[str, object]:
    """A value as JSON where JSON gives the same value back; else its type and how it looks."""
    try:
        same = json.loads(json.dumps(value))
    except (TypeError, ValueError):
        same = None
    if value is None or (same is not None and same == value):
        return {"value": same}
    if isinstance(value, (set, frozenset)):
        name = type(cast("object", value)).__name__
        shown = ", ".join(sorted(map(repr, cast("set[object]", value))))
        return {"type": name, "repr": "{" + shown + "}"}
    return {"type": type(value).__name__, "repr": repr(value)}


async def _solved(plan: types.ModuleType) -> object:
    value = plan.solve()
    return await value if inspect.isawaitable(value) else value


def _outcome(text: str) -> dict[str, object]:
    plan = types.ModuleType("plan")
    sys.modules["plan"] = plan
    vars(plan).update(fake_tools.names_for_plans())
    printed = io.StringIO()
    outcome: dict[str, object]
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, FILE, "exec", dont_inherit=True), vars(plan))  # noqa: S102
            outcome = _told(asyncio.run(_solved(plan)))
    except BaseException as error:  # noqa: BLE001 - whatever a plan lets escape is its outcome
        outcome = {"error": type(error).__name__, "line": _line(error)}
    if printed.getvalue():
        outcome["printed"] = printed.getvalue()
    return outcome


def _forked(text: str, cpu_seconds: float) -> bytes:
    """A plan's outcome as a line of JSON, from a child that is gone when this returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # What a plan reads and writes is not the protocol that this program speaks there.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        sys.stdin = io.TextIOWrapper(io.FileIO(0))
        signal.alarm(WAITING_SECONDS_MAX)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        with os.fdopen(writing, "wb") as told:
            told.write(json.dumps(_outcome(text)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        line = told.read()
    os.waitpid(child, 0)
    return line or b'{"error": "Killed", "line": null}'


def main(cpu_seconds: float) -> None:
    """Answers one line for each line, until standard input ends."""
    for line in sys.stdin:
        sys.stdout.buffer.write(_forked(json.loads(line), cpu_seconds) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import fake_tools

    del sys.path[0]
    main(float(sys.argv[1]))
