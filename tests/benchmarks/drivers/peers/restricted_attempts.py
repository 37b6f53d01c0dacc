"""RestrictedPython with its recommended guards; the argument is the list of modules, as JSON.

It refuses `async`, so that it gets the same text without.
"""

import json
import sys

from tests.benchmarks.drivers.attempts import serve
from tests.benchmarks.drivers.peers.restricted_policy import run_restricted
from tests.benchmarks.drivers.without_async import without_async


def main() -> None:
    """Try plans until there are no more."""
    modules = json.loads(sys.argv[1])
    serve(lambda source: run_restricted(without_async(source), {}, modules))


if __name__ == "__main__":
    main()
