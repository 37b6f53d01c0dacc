"""RestrictedPython with its recommended guards: compiled and run in the driver's own process."""

from functools import cache

from tests.benchmarks.drivers.peers.restricted_policy import run_restricted
from tests.benchmarks.drivers.turns import take_turns_blocking
from tests.benchmarks.drivers.without_async import without_async

MODULES = ("json", "math")
"""What the plans import."""

adapted = cache(without_async)


def add(a: int, b: int) -> int:
    """The tool."""
    return a + b


def run(_: str, arguments: dict[str, object]) -> object:
    """One plan in a namespace of its own, compiled anew like any plan that a model writes."""
    return run_restricted(adapted(str(arguments["source"])), {"add": add}, MODULES)


if __name__ == "__main__":
    take_turns_blocking(run)
