"""smolagents' `LocalPythonExecutor`: a new one for each plan, as ours starts each plan afresh.

It knows no `async`, so that it gets the same text without; that is done outside of what is timed.
"""

from functools import cache

from smolagents.local_python_executor import LocalPythonExecutor

from tests.benchmarks.drivers.turns import take_turns_blocking
from tests.benchmarks.drivers.without_async import CALL, without_async

IMPORTS = ["json"]
"""What the plans import and it doesn't allow by itself."""


@cache
def adapted(source: str) -> str:
    """The plan and the call of its `solve()`."""
    return without_async(source) + CALL


def add(a: int, b: int) -> int:
    """The tool."""
    return a + b


def run(_: str, arguments: dict[str, object]) -> object:
    """One plan, and its value."""
    source = adapted(str(arguments["source"]))
    executor = LocalPythonExecutor(IMPORTS)
    executor.send_tools({"add": add})
    return executor(source).output


if __name__ == "__main__":
    take_turns_blocking(run)
