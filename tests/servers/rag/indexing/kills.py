"""An indexer that is killed at any moment, and what has to be true afterwards.

As a program, it brings an index up to date with a folder, words and vectors, and prints a line for
each step of its progress. Each file carries the number of its version in every chunk, so that a
mixture of two versions can't go unnoticed.
"""

import random
import subprocess
import sys
from pathlib import Path

from servers.rag.chunking.chunker import cut_by_structure
from servers.rag.index.index import Index
from servers.rag.indexing.progress import IndexEvent, OnEvent
from servers.rag.library.library import DocumentLibrary, tell_nobody
from servers.rag.library.parts import Parts
from tests.servers.rag.indexing.doubles import (
    LONG_AGO_NS,
    LetterEmbedder,
    PlainExtractor,
    options,
    write,
)

FILES, PARTS = 30, 6
STEPS_PER_FILE = 1.5
"""A run has about as many steps; a kill that comes after its end costs nothing but time."""


def session(home: Path, on_event: OnEvent = tell_nobody) -> DocumentLibrary:
    """The library over the folder `documents`, with a small embedder."""
    parts = Parts(PlainExtractor(), LetterEmbedder, cut_by_structure, "plain")
    return DocumentLibrary.open(options(home), {}, on_event, parts=parts)


def write_version(
    home: Path, version: int, chance: random.Random, files: int = FILES
) -> dict[str, str]:
    """Write all files anew, some under other names, and leave some out; gives what is there."""
    folder = home / "documents"
    for path in folder.glob("*.md") if folder.is_dir() else ():
        path.unlink()
    texts: dict[str, str] = {}
    for number in range(files):
        if chance.random() < 0.1:
            continue
        kept = version - chance.choice((0, 0, 1))
        name = f"{number}{chance.choice(('', '', '-moved'))}.md"
        texts[name] = "\n\n".join(
            f"# Part {part}\n\n" + f"file{number} version{kept} word{part} " * 50
            for part in range(PARTS)
        )
        write(folder / name, texts[name], LONG_AGO_NS + version)
    return texts


def kill_in_the_midst(home: Path, steps: int) -> None:
    """Let the program do so many steps, and kill it at whatever it is doing then."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(home)], stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        for _ in range(steps):
            program.stdout.readline()
        program.kill()


def is_whole(index: Index) -> None:
    """Every document is of one version in all its chunks, and found by that version's words."""
    assert index.check()
    everything = index.search_words("part", 10_000)
    assert len(index.chunks([hit.chunk_id for hit in everything])) == len(everything)
    for entry in index.documents():
        chunks = index.chunks(index.chunk_ids(entry.file))
        versions = {
            word for each in chunks for word in each.chunk.text.split() if "version" in word
        }
        assert len(versions) == 1, (entry.file, versions)
        assert len(chunks) == entry.chunks
        found = index.search_words(versions.pop(), 1000, entry.file)
        assert {hit.chunk_id for hit in found} == {each.chunk_id for each in chunks}


def is_complete(index: Index, texts: dict[str, str]) -> None:
    """The index holds exactly what lies in the folder, all of it with vectors."""
    assert {entry.file: index.text(entry.file) for entry in index.documents()} == texts
    assert index.counts().chunks_without_vectors == 0


def survive(home: Path, kills: int, seed: int, files: int = FILES) -> None:
    """Kill an indexer again and again; what it leaves answers, and the next run completes it."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    for version in range(1, kills + 1):
        texts = write_version(home, version, chance, files)
        kill_in_the_midst(home, chance.randint(0, int(files * STEPS_PER_FILE)))
        opened = session(home)
        try:
            is_whole(opened.index)
            opened.search("version word")
            if chance.random() < 0.5 or version == kills:  # else the next run begins from this
                opened.sync()
                is_complete(opened.index, texts)
                is_whole(opened.index)
        finally:
            opened.close()


def main() -> None:
    """Bring the index of a folder up to date."""

    def tell(event: IndexEvent) -> None:
        print(event, flush=True)  # noqa: T201 - what the parent waits for

    opened = session(Path(sys.argv[1]), tell)
    opened.sync()
    opened.close()


if __name__ == "__main__":
    main()
