"""Python's own `exec`, as many agents run plans: `plain`, or with `trimmed` builtins.

Trimmed means what is commonly done: the builtins that reach files, code, names or the user are
left out, and only modules on a list can be imported. That list is the second argument, as JSON.
"""

import asyncio
import builtins
import inspect
import json
import sys
from collections.abc import Collection
from types import ModuleType

from tests.benchmarks.drivers.attempts import serve

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


def main() -> None:
    """Try plans until there are no more."""
    kind, modules = sys.argv[1], json.loads(sys.argv[2])
    names = trimmed(modules) if kind == "trimmed" else None
    serve(lambda source: run_plan(source, None if names is None else dict(names)))


if __name__ == "__main__":
    main()
