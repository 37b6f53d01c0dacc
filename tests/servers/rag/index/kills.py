"""A process that writes to an index and is killed at any moment, and what has to be true then.

As a program, it writes versions of some documents in turn, without end, and prints the version's
number after each transaction. All chunks of a document, and its hash, carry the number of their
version, so that a mixture of two can't go unnoticed.
"""

import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from servers.rag.index.index import Index
from tests.servers.rag.index.made import cut, entry

DOCUMENTS, CHUNKS = 3, 12
LINES_MAX = 12
"""Transactions after which a process is killed, at most."""


def write_for_ever(index: Index, start: int) -> Iterator[int]:
    """Change documents, now and then rename or remove one; gives the version at work each time."""
    for version in count(start):
        file = f"d{version % DOCUMENTS}.md"
        texts = [f"version v{version} part p{part}" for part in range(CHUNKS)]
        extracted, chunks = cut([*texts, "the end that stays"])
        index.replace_document(entry(file, version), f"v{version}", extracted, chunks)
        yield version
        if version % 5 == 0:
            index.rename_document(file, "other.md", "/other.md", version)
            yield version
        if version % 7 == 0:
            index.remove_document("other.md")
            yield version


def killed_after(folder: Path, start: int, lines: int) -> int:
    """Run the program until it has printed so many lines, kill it; gives where it was."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__, folder, str(start)], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        printed = [program.stdout.readline() for _ in range(lines)]
        program.kill()
        rest = program.stdout.read().splitlines()
    # The last line may have been cut off by the end.
    return int([*printed, *rest[:-1]][-1])


def is_whole(index: Index) -> None:
    """Every document is of one version, and found by the words of that version alone."""
    for document in index.documents():
        stored = index.chunks(index.chunk_ids(document.file))
        version = index.content_hash(document.file)
        assert document.chunks == len(stored) == CHUNKS + 1
        assert {each.chunk.text.split()[1] for each in stored[:-1]} == {version}
        hits = index.search_words(f'"version {version}"', 99, document.file)
        assert {hit.chunk_id for hit in hits} >= {each.chunk_id for each in stored[:-1]}
    everything = index.search_words("version", 10_000)
    assert len(index.chunks([hit.chunk_id for hit in everything])) == len(everything)
    assert index.check()


def survive(folder: Path, kills: int, seed: int) -> None:
    """Kill a writer again and again, and look at what it leaves each time."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    at = 0
    for _ in range(kills):
        at = killed_after(folder, at, chance.randint(1, LINES_MAX)) + 1
        index = Index.open(folder, "")
        assert index.notice == ""
        is_whole(index)
        next(write_for_ever(index, at))
        is_whole(index)
        index.close()


def main() -> None:
    """Write to the index in a folder, from a version on."""
    folder, start = Path(sys.argv[1]), int(sys.argv[2])
    for version in write_for_ever(Index.open(folder, ""), start):
        print(version, flush=True)  # noqa: T201 - what the parent waits for


if __name__ == "__main__":
    main()
