"""smolagents' `LocalPythonExecutor`: a new one for each plan, as ours starts each plan afresh.

It knows no `async`, so that it gets the same text without; outside of what is timed. `attempts`
with a list of modules as JSON tries hostile plans, with these imports beside those that it allows
by itself; what can't be imported here is left out.
"""

import json
import sys
from functools import cache
from importlib.util import find_spec

from smolagents.local_python_executor import LocalPythonExecutor

from tests.benchmarks.drivers.attempts import serve, told
from tests.benchmarks.drivers.turns import add, take_turns_blocking
from tests.benchmarks.drivers.without_async import CALL, without_async

IMPORTS = ["json"]
"""What the timed plans import and it doesn't allow by itself."""

TIMEOUT_SECONDS = 4
"""Its own limit, by default 30 s, so that it may strike within the time that every executor has."""


@cache
def adapted(source: str) -> str:
    """The plan and the call of its `solve()`."""
    return without_async(source) + CALL


def run(_: str, arguments: dict[str, object]) -> object:
    """One plan, and its value."""
    source = adapted(str(arguments["source"]))
    executor = LocalPythonExecutor(IMPORTS)
    executor.send_tools({"add": add})
    return executor(source).output


def attempt(source: str, imports: list[str]) -> object:
    """One hostile plan, with what it printed."""
    executor = LocalPythonExecutor(imports, timeout_seconds=TIMEOUT_SECONDS)
    executor.send_tools({})
    try:
        value = executor(without_async(source) + CALL).output
    finally:
        sys.stdout.write(str(executor.state.get("_print_outputs", "")) + "\n")
    return told(value)


if __name__ == "__main__":
    if sys.argv[1] == "attempts":
        imports = [name for name in json.loads(sys.argv[2]) if find_spec(name) is not None]
        serve(lambda source: attempt(source, imports))
    else:
        take_turns_blocking(run)
