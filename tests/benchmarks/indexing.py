"""Keeping an index true to 10,000 files, and how much of the embedder's time indexing leaves it.

The files are small markdown notes. The comparison with the bare embedder is over the same chunks,
in the same process, the embedder's weights loaded before either.
"""

import os
import random
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from servers.rag.chunking.chunker import chunk_document
from servers.rag.errors import EmbedderUnavailable
from servers.rag.library.library import DocumentLibrary
from servers.rag.library.options import DocumentOptions
from servers.rag.library.parts import open_embedder, open_parts
from servers.reading.source import Extracted
from tests.benchmarks.table import Row, at_most, middle_half

FILES, FOLDERS = 10_000, 100
PAPERS, PAPER_SECTIONS, SECTION_WORDS = 24, 12, 170
LONG_AGO_NS = 1_600_000_000_000_000_000
ROUNDS, CHANGES = 5, 20
SEED = 7

UNCHANGED_SECONDS_MAX, OPENING_MS_MAX, SHARE_MIN = 2.0, 300, 0.85


def measure(home: Path, files: int = FILES, papers: int = PAPERS) -> list[Row]:
    """Many small files by words alone, then some papers with the embedder of this machine."""
    return [*_many(home / "many", files), *_beside_embedder(home / "papers", papers)]


def _many(home: Path, files: int) -> list[Row]:
    for number in range(files):
        _write(home / f"documents/{number % FOLDERS}/{number}.md", _note(number))
    options = _options(home)
    with closing(DocumentLibrary.open(options)) as session:
        first = _seconds(session.sync)
        unchanged = [_seconds(session.sync) for _ in range(ROUNDS)]
        changed = _changed(home, session)
    _write(home.with_name("one") / "documents/0/0.md", _note(0))
    with closing(DocumentLibrary.open(_options(home.with_name("one")))) as session:
        session.sync()
        alone = _changed(home.with_name("one"), session)
    opened = [_seconds(lambda: DocumentLibrary.open(options, {}).close()) for _ in range(ROUNDS)]
    return [
        Row(f"{files:,} small files, first", f"{first / files * 1000:.2f} ms each, no vectors"),
        Row(
            "  unchanged, all of them checked",
            middle_half(unchanged),
            at_most(max(unchanged), UNCHANGED_SECONDS_MAX, " s"),
        ),
        Row("  one changed, and heard of", middle_half(changed)),
        Row("  the same in a folder of one", middle_half(alone)),
        Row("  that / this", f"{median(changed) / median(alone):.2f}"),
        Row(
            "  library opened and closed",
            middle_half(opened),
            at_most(max(opened) * 1000, OPENING_MS_MAX, " ms"),
        ),
    ]


def _changed(home: Path, session: DocumentLibrary) -> list[float]:
    """Change one file again and again, and bring the index up to date."""
    path = home / "documents/0/0.md"
    taken: list[float] = []
    for number in range(1, CHANGES + 1):
        _write(path, _note(number), LONG_AGO_NS + number)
        taken.append(_seconds(lambda: session.indexer.sync_paths({str(path)})))
    return taken


def _beside_embedder(home: Path, papers: int) -> list[Row]:
    """Indexing from files, against embedding the same chunks and nothing else."""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    texts = [_paper(chance) for _ in range(papers)]
    for number, text in enumerate(texts):
        _write(home / f"documents/{number}.md", text)
    chunks = [chunk.text for text in texts for chunk in chunk_document(Extracted(text))]
    try:
        embedder = open_embedder("minilm", os.environ)
        assert embedder is not None
        embedder.embed_query("warm")
    except EmbedderUnavailable as error:
        return [Row("with the embedder", "not measured", str(error))]
    parts = replace(open_parts(_options(home), {}), open_embedder=lambda: embedder)
    with closing(DocumentLibrary.open(_options(home), parts=parts)) as library:
        library.extract(home / "documents/0.md")  # starts the process that reads
        bare = _seconds(lambda: embedder.embed_passages(chunks))
        whole = _seconds(library.sync)
    share = bare / whole
    verdict = "met" if share >= SHARE_MIN else "MISSED"
    return [
        Row(f"{len(chunks)} chunks embedded, bare", f"{len(chunks) / bare:.1f} a second"),
        Row("  from files to vectors", f"{len(chunks) / whole:.1f} a second"),
        Row("  that / bare", f"{share:.2f}", f"aim: at least {SHARE_MIN}: {verdict}"),
    ]


def _options(home: Path) -> DocumentOptions:
    return DocumentOptions(
        folders=(home / "documents",),
        index_folder=home / "index",
        embedder="none",
        captions="none",
        watch=False,
    )


def _note(number: int) -> str:
    return f"# Note {number}\n\nA note with the number {number} on subject {number % 37}.\n"


def _paper(chance: random.Random) -> str:
    """A text with headings, of words that nobody has indexed before."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    sections: list[str] = []
    for number in range(PAPER_SECTIONS):
        words = ("".join(chance.choices(letters, k=3)) for _ in range(SECTION_WORDS))
        sections.append(f"## Section {number}\n\n{' '.join(words)}.")
    return "\n\n".join(sections)


def _write(path: Path, text: str, modified_ns: int = LONG_AGO_NS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(modified_ns, modified_ns))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
