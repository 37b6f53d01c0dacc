"""Run the measurements, all or those that are named, and print their tables.

`python -m tests.benchmarks [NAME…]`; a name that there isn't gets the list of them.
"""

import importlib
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from tests.benchmarks.table import Row, print_machine, print_table

Measure = Callable[[Path], list[Row]]
"""Measures with an empty folder for a home."""

MEASURES = {
    "one_shot": "One-shot run of the INDIA request, cold process",
    "first_prompt": "Until the first prompt at a terminal",
    "display": "What showing a run costs",
    "footprint": "How much of ours an addition needs",
    "iteration": "One loop iteration",
    "team": "Requests in parts",
    "peers": "A tool call over stdio, by client",
    "payloads": "A long text as a tool's result, by client",
    "dense": "Dense messages, and how long they hold up the event loop",
    "start_up": "Until tools are known",
    "memory": "Memory of a client with 20 servers of 25 tools",
    "session_file": "A session's file, a short and a long one",
    "recorder": "What memory costs a run",
    "memory_search": "Searching a memory of 100,000 items",
    "catalogue": "A prompt's tokens and recall with 500 tools",
    "sandbox": "Plans in the sandbox",
    "escapes": "What gets out of executors of plans",
    "exhaustion": "What executors of plans contain by themselves",
    "soak": "What ten thousand plans leave behind",
    "models": "What we add to a model",
    "indexing": "Keeping an index true to its folders",
    "first_search": "First search of a cold process",
    "word_search": "Words in an index of 100,000 chunks",
    "vectors": "Nearest vectors, by kind of index and number of chunks",
    "reading": "Web pages from request to markdown",
    "document_peers": "Documents in other libraries, same embedder",
    "arguments": "Arguments against their schema",
    "http_calls": "A tool call over Streamable HTTP, by client",
    "service": "The service, 50 conversations at once",
}
"""Title by the name of a module here, in the order in which they are run.

Each is imported when its turn comes: what one imports would weigh on what the others measure.
"""


def main(names: Sequence[str]) -> int:
    """Measure one thing after the other, each in a home of its own; gives the exit code.

    One that fails is told on stderr and costs the others nothing; the exit code is 1 then.
    """
    if unknown := [name for name in names if name not in MEASURES]:
        known = ", ".join(MEASURES)
        sys.stderr.write(f"no such measurement: {', '.join(unknown)}; there are {known}\n")
        return 2
    print_machine()
    failed = [name for name in names or MEASURES if not _measured(name)]
    if failed:
        sys.stderr.write(f"not measured: {', '.join(failed)}\n")
    return 1 if failed else 0


def _measured(name: str) -> bool:
    """Measure one thing and print its table; whether that went well."""
    try:
        module = importlib.import_module(f"tests.benchmarks.{name}")
        measure = cast("Measure", module.measure)
        with tempfile.TemporaryDirectory() as folder:
            print_table(f"{MEASURES[name]} ({name})", measure(Path(folder)))
    except Exception:  # noqa: BLE001 - whatever broke this measurement, the others are worth having
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
