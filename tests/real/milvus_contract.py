"""Runs the contract of an index of vectors over Milvus Lite, in an environment that has it.

`python -m tests.real.milvus_contract FOLDER` prints a JSON object a line: a check's name, and what
it raised, or null. Each check gets a collection of its own in one file.
"""

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from servers.rag.errors import VectorsUnavailable
from servers.rag.library.parts import open_vectors
from servers.rag.vectors.store import VectorStore
from tests.servers.rag.vectors.contract import CHECKS, DIMENSION, unit_vectors

NOBODY_LISTENS = "milvus:http://127.0.0.1:9"


def main(folder: Path) -> None:
    """Run every check; one that fails costs the others nothing."""
    for name, check in {**CHECKS, **OWN_CHECKS}.items():
        try:
            check(lambda name=name: _open(folder, name))
            failure = None
        except Exception:  # noqa: BLE001 - whatever a check raises is its result
            failure = traceback.format_exc()
        sys.stdout.write(json.dumps({"check": name, "failure": failure}) + "\n")
        sys.stdout.flush()


def _open(folder: Path, owner: str) -> VectorStore:
    return open_vectors(f"milvus:{folder}/vectors.db", DIMENSION, {}, owner=owner)


def what_was_written_is_there_when_it_is_opened_again(
    open_store: Callable[[], VectorStore],
) -> None:
    """Also beyond what is flushed."""
    first = open_store()
    first.add(range(1500), unit_vectors(1500))
    first.remove([3])
    first.close()
    again = open_store()
    assert len(again) == 1499
    assert [found for found, _ in again.search(unit_vectors(8)[7:], 1)] == [7]


def nobody_at_the_address_is_told(_: Callable[[], VectorStore]) -> None:
    """Within the time that connecting may take."""
    told = ""
    try:
        open_vectors(NOBODY_LISTENS, DIMENSION, {})
    except VectorsUnavailable as error:
        told = str(error)
    assert "is it running" in told, told


OWN_CHECKS: dict[str, Callable[[Callable[[], VectorStore]], None]] = {
    check.__name__: check
    for check in (
        what_was_written_is_there_when_it_is_opened_again,
        nobody_at_the_address_is_told,
    )
}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
