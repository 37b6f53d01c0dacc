"""The driver's half of the contest of document libraries (`tests.benchmarks.document_peers`).

Runs in every peer's environment with our embedder, so it imports little. The argument is a file of
JSON, a `Task`; what is printed is one `Outcome` as JSON. Memory is not compared: most of it is the
embedder's, the same in all.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from servers.rag.library.parts import open_embedder

if TYPE_CHECKING:
    from servers.rag.ports import Embedder, Vectors

PASSAGES_READ = 10
"""More than fill the words that are read for one question."""


@dataclass(frozen=True)
class Task:
    """Documents by key, and what is asked about them."""

    documents: dict[str, str]
    questions: list[str]


@dataclass(frozen=True)
class Outcome:
    """Wall seconds of it all, of the embedder's part in it, and of each question.

    `found` holds for each question the key and the text of what was found, best first.
    """

    indexing: float
    embedding: float
    searches: list[float]
    found: list[list[tuple[str, str]]]


class DocumentSearch(Protocol):
    """A library under test; made empty, and with the embedder that it is to use."""

    def index(self, documents: dict[str, str]) -> None:
        """Take up documents and compute all that searching needs."""
        ...

    def search(self, question: str) -> Sequence[tuple[str, str]]:
        """`PASSAGES_READ` passages with the key of their document, best first."""
        ...


@dataclass
class TimedEmbedder:
    """Our embedder, which says how long it has worked."""

    inner: "Embedder"
    seconds: float = field(default=0.0)

    @property
    def name(self) -> str:
        """As the embedder's."""
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        """As the embedder's."""
        return self.inner.fingerprint

    @property
    def dimension(self) -> int:
        """As the embedder's."""
        return self.inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        """Vectors, row by row."""
        began = time.perf_counter()
        try:
            return self.inner.embed_passages(texts)
        finally:
            self.seconds += time.perf_counter() - began

    def embed_query(self, text: str) -> "Vectors":
        """One row."""
        began = time.perf_counter()
        try:
            return self.inner.embed_query(text)
        finally:
            self.seconds += time.perf_counter() - began

    def close(self) -> None:
        """Nothing: the process ends with it."""


def take_task(library: Callable[[TimedEmbedder], DocumentSearch]) -> None:
    """Index, then search, with the embedder's weights loaded before either; print what it took."""
    task = Task(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    opened = open_embedder("minilm", os.environ)
    assert opened is not None
    opened.embed_query("warm")
    embedder = TimedEmbedder(opened)
    made = library(embedder)
    indexing, _ = _timed(lambda: made.index(task.documents))
    embedding = embedder.seconds
    made.search(task.questions[0])
    searches: list[float] = []
    found: list[list[tuple[str, str]]] = []
    for question in task.questions:
        before = embedder.seconds
        seconds, passages = _timed(lambda asked=question: made.search(asked))
        searches.append(seconds - (embedder.seconds - before))
        found.append([(key, text) for key, text in passages])
    sys.stdout.write(json.dumps(asdict(Outcome(indexing, embedding, searches, found))) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some peers keep threads that would be waited for


def _timed(
    work: Callable[[], "Sequence[tuple[str, str]] | None"],
) -> tuple[float, Sequence[tuple[str, str]]]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found or ()
