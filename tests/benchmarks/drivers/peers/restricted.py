"""RestrictedPython with its recommended guards, which refuses `async`: plans go to it without.

`attempts` with a list of modules as JSON tries hostile plans; else plans are timed.
"""

import json
import sys
from functools import cache

from tests.benchmarks.drivers.attempts import serve
from tests.benchmarks.drivers.peers.restricted_policy import run_restricted
from tests.benchmarks.drivers.turns import add, take_turns_blocking
from tests.benchmarks.drivers.without_async import without_async

MODULES = ("json", "math")
"""What the timed plans import."""

adapted = cache(without_async)


def run(_: str, arguments: dict[str, object]) -> object:
    """One plan in a namespace of its own, compiled anew like any plan that a model writes."""
    return run_restricted(adapted(str(arguments["source"])), {"add": add}, MODULES)


if __name__ == "__main__":
    if sys.argv[1] == "attempts":
        modules = json.loads(sys.argv[2])
        serve(lambda source: run_restricted(without_async(source), {}, modules))
    else:
        take_turns_blocking(run)
