"""smolagents' `LocalPythonExecutor`, with the imports that it allows by itself and those given.

The argument is the list of further modules, as JSON; what can't be imported here is left out. It
knows no `async`, so that it gets the same text without.
"""

import json
import sys
from importlib.util import find_spec

from smolagents.local_python_executor import LocalPythonExecutor

from tests.benchmarks.drivers.attempts import serve, told
from tests.benchmarks.drivers.without_async import CALL, without_async

TIMEOUT_SECONDS = 4
"""Its own limit, by default 30 s, so that it may strike within the time that every executor has."""


def main() -> None:
    """Try plans until there are no more."""
    imports = [name for name in json.loads(sys.argv[1]) if find_spec(name) is not None]

    def execute(source: str) -> object:
        executor = LocalPythonExecutor(imports, timeout_seconds=TIMEOUT_SECONDS)
        executor.send_tools({})
        try:
            value = executor(without_async(source) + CALL).output
        finally:
            sys.stdout.write(str(executor.state.get("_print_outputs", "")) + "\n")
        return told(value)

    serve(execute)


if __name__ == "__main__":
    main()
