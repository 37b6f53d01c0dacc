"""Python's own `exec`, as many agents run plans: the floor, with nothing in between.

`plain`, or `trimmed` with a list of modules as JSON, tries hostile plans; else plans are timed.
Trimmed means what is commonly done: the builtins that reach files, code, names or the user are
left out, and only listed modules can be imported.
"""

import asyncio
import builtins
import inspect
import json
import sys
from collections.abc import Collection
from functools import cache
from types import ModuleType

from tests.benchmarks.drivers.attempts import serve
from tests.benchmarks.drivers.turns import add, take_turns_blocking
from tests.benchmarks.drivers.without_async import without_async

adapted = cache(without_async)

LEFT_OUT = frozenset(
    {
        *("__import__", "__loader__", "__spec__", "breakpoint", "compile", "copyright", "credits"),
        *("delattr", "eval", "exec", "exit", "getattr", "globals", "help", "input", "license"),
        *("locals", "memoryview", "open", "quit", "setattr", "vars"),
    }
)


def run_plan(source: str, builtin_names: dict[str, object] | None = None) -> object:
    """Run a plan and await its `solve()` if it is a coroutine function."""
    namespace: dict[str, object] = {"__name__": "plan"}
    if builtin_names is not None:
        namespace["__builtins__"] = builtin_names
    exec(compile(source, "<plan>", "exec", dont_inherit=True), namespace)  # noqa: S102 - what is tried
    solve = namespace["solve"]
    value = solve() if callable(solve) else solve
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def trimmed(modules: Collection[str]) -> dict[str, object]:
    """The builtins without those that are left out, and an import of listed modules only."""

    def import_listed(
        name: str,
        globals_: dict[str, object] | None = None,
        locals_: dict[str, object] | None = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> ModuleType:
        if level or name not in modules:
            raise ImportError(f"{name} may not be imported")
        return __import__(name, globals_, locals_, fromlist, level)

    kept = {name: value for name, value in vars(builtins).items() if name not in LEFT_OUT}
    return {**kept, "__import__": import_listed}


def timed(_: str, arguments: dict[str, object]) -> object:
    """One plan in a namespace of its own."""
    namespace: dict[str, object] = {"add": add}
    exec(adapted(str(arguments["source"])), namespace)  # noqa: S102 - what it is measured for
    solve = namespace["solve"]
    return solve() if callable(solve) else None


if __name__ == "__main__":
    kind = sys.argv[1]
    if kind in ("plain", "trimmed"):
        names = trimmed(json.loads(sys.argv[2])) if kind == "trimmed" else None
        serve(lambda source: run_plan(source, None if names is None else dict(names)))
    else:
        take_turns_blocking(timed)
