"""Run the measurements, all or those that are named, and print their tables.

`python -m tests.benchmarks [NAME…]`; a name that there isn't gets the list of them.
"""

import asyncio
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks import (
    arguments,
    catalogue,
    dense,
    escapes,
    exhaustion,
    footprint,
    http_calls,
    iteration,
    memory,
    models,
    one_shot,
    payloads,
    peers,
    sandbox,
    start_up,
)
from tests.benchmarks.environments import NotInstalled, prepare
from tests.benchmarks.table import Row, print_machine, print_table

Measure = Callable[[Path], list[Row]]
"""Measures with an empty folder for a home."""

DOCUMENTS = Path("discovery_cache", "documents")
"""Where google-api-python-client keeps its discovery documents, in its package."""


def _catalogue(_: Path) -> list[Row]:
    place = prepare("catalogue")
    if isinstance(place, NotInstalled):
        return [Row("500 tools", "not measured", f"not installed: {place.reason}")]
    return catalogue.measure(place.package("googleapiclient") / DOCUMENTS)


def _soak(home: Path) -> list[Row]:
    from tests.benchmarks import soak  # late: what it imports would weigh on other measurements

    return asyncio.run(soak.measure(home))


def _dense(_: Path) -> list[Row]:
    return asyncio.run(dense.measure())


def _indexing(home: Path) -> list[Row]:
    from tests.benchmarks import indexing  # late, as above

    return indexing.measure(home)


def _first_search(home: Path) -> list[Row]:
    from tests.benchmarks import first_search  # late, as above

    return first_search.measure(home)


def _word_search(home: Path) -> list[Row]:
    from tests.benchmarks import word_search  # late: numpy would weigh on other measurements

    return word_search.measure(home)


def _vectors(home: Path) -> list[Row]:
    from tests.benchmarks import vectors  # late: numpy would weigh on other measurements

    return vectors.measure(home)


def _reading(home: Path) -> list[Row]:
    from tests.benchmarks import reading  # late: trafilatura would weigh on other measurements

    return reading.measure(home)


def _document_peers(home: Path) -> list[Row]:
    from tests.benchmarks import document_peers  # late: numpy would weigh on other measurements

    return document_peers.measure(home)


MEASURES: dict[str, tuple[str, Measure]] = {
    "one_shot": ("One-shot run of the INDIA request, cold process", one_shot.measure),
    "footprint": ("How much of ours an addition needs", footprint.measure),
    "iteration": ("One loop iteration", lambda home: asyncio.run(iteration.measure(home))),
    "peers": ("A tool call over stdio, by client", lambda _: peers.measure()),
    "payloads": ("A long text as a tool's result, by client", lambda _: payloads.measure()),
    "dense": ("Dense messages, and how long they hold up the event loop", _dense),
    "start_up": ("Until tools are known", start_up.measure),
    "memory": ("Memory of a client with 20 servers of 25 tools", memory.measure),
    "catalogue": ("A prompt's tokens and recall with 500 tools", _catalogue),
    "sandbox": ("Plans in the sandbox", sandbox.measure),
    "escapes": ("What gets out of executors of plans", escapes.measure),
    "exhaustion": ("What executors of plans contain by themselves", exhaustion.measure),
    "soak": ("What ten thousand plans leave behind", _soak),
    "models": ("What we add to a model", models.measure),
    "indexing": ("Keeping an index true to its folders", _indexing),
    "first_search": ("First search of a cold process", _first_search),
    "word_search": ("Words in an index of 100,000 chunks", _word_search),
    "vectors": ("Nearest vectors, by kind of index and number of chunks", _vectors),
    "reading": ("Web pages from request to markdown", _reading),
    "document_peers": ("Documents in other libraries, same embedder", _document_peers),
    "arguments": ("Arguments against their schema", arguments.measure),
    "http": ("A tool call over Streamable HTTP, by client", http_calls.measure),
}
"""Title and function by name, in the order in which they are run."""


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
    title, measure = MEASURES[name]
    try:
        with tempfile.TemporaryDirectory() as folder:
            print_table(f"{title} ({name})", measure(Path(folder)))
    except Exception:  # noqa: BLE001 - whatever broke this measurement, the others are worth having
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
