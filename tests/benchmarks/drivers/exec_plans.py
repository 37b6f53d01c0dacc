"""The floor: plans by plain `exec` in the driver's own process, with nothing in between."""

from functools import cache

from tests.benchmarks.drivers.turns import take_turns_blocking
from tests.benchmarks.drivers.without_async import without_async

adapted = cache(without_async)


def add(a: int, b: int) -> int:
    """The tool."""
    return a + b


def run(_: str, arguments: dict[str, object]) -> object:
    """One plan in a namespace of its own."""
    namespace: dict[str, object] = {"add": add}
    exec(adapted(str(arguments["source"])), namespace)  # noqa: S102 - what it is measured for
    solve = namespace["solve"]
    return solve() if callable(solve) else None


if __name__ == "__main__":
    take_turns_blocking(run)
