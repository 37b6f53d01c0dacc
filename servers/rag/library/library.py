"""The library of documents: the one object that the server and the command line use.

It puts the engine together: extraction, chunks, embeddings, the index, nearest vectors, search.
Opening reads no weights and no vectors, so that it is quick however much is indexed; those come
in the background, and words find what there is meanwhile.
"""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from servers.rag.chunking.chunker import CHUNKER_VERSION
from servers.rag.chunking.topics import TOPICS_VERSION, TopicSplitter, chunk_by_topics
from servers.rag.embedding.opening import open_embedder
from servers.rag.errors import EmbedderUnavailable, IndexUnusable, RagError
from servers.rag.indexing.background import Repeating
from servers.rag.indexing.indexer import CutDocument, cut_by_structure
from servers.rag.indexing.progress import IndexEvent, IndexProgress, OnEvent, SyncReport
from servers.rag.library.engine import Engine, Parts, open_engine
from servers.rag.library.library_protocol import LibraryStatus
from servers.rag.library.options import DocumentOptions
from servers.rag.passages import DocumentEntry, SearchMode, SearchResult
from servers.rag.search.searcher import TOP_K
from servers.reading.process.worker import ExtractionWorker
from servers.reading.source import Extracted

T = TypeVar("T")

EXTRACTION_VERSION = "2"
"""Goes up when files are read so differently that all should be read again."""

CLOSE_SECONDS = 2.0
REOPEN_SECONDS = 10.0
"""After how long an embedder that could not be opened is tried again the first time."""


OpenParts: TypeAlias = Callable[[DocumentOptions, Mapping[str, str]], Parts]
"""Puts together what a library is made of."""


class UnknownDocument(RagError):
    """The index has no document of that name."""


def tell_nobody(_: IndexEvent) -> None:
    """Listens to what the indexer tells, and does nothing."""


def open_parts(
    options: DocumentOptions, environ: Mapping[str, str], splitter: TopicSplitter | None = None
) -> Parts:
    """The parts that the options name; nothing is loaded, started or read yet.

    `splitter` is the language model that `chunking: llm` asks, by default one of Ollama.

    Raises:
        OptionsError: there is no such embedder, or OLLAMA_HOST is no address.
    """
    lacking, embedder = "", None
    try:
        embedder = open_embedder(options.embedder, environ)
    except EmbedderUnavailable as error:
        lacking = str(error)
    cut: CutDocument = cut_by_structure
    recipe = f"text {EXTRACTION_VERSION}, chunks {CHUNKER_VERSION}, captions {options.captions}"
    if options.chunking == "llm":
        cut = partial(chunk_by_topics, splitter=splitter or _topics_of_ollama(options, environ))
        recipe += f", topics {TOPICS_VERSION} of {options.topics_model}"
    extractor = ExtractionWorker(options.captions, environ=environ)
    return Parts(extractor, embedder, cut, recipe, lacking)


def _topics_of_ollama(options: DocumentOptions, environ: Mapping[str, str]) -> TopicSplitter:
    from servers.rag.chunking.ollama_topics import open_topics

    return open_topics(environ, options.topics_model)


class DocumentLibrary:
    """Documents that are searched; made by `open`. Methods block; any thread may call them.

    `start` lets the index be kept up to date in the background, `sync` does it once while the
    caller waits; searching works before, during and after either.
    """

    def __init__(
        self,
        options: DocumentOptions,
        environ: Mapping[str, str],
        on_event: OnEvent,
        parts: OpenParts,
        reopen_seconds: float,
    ) -> None:
        """Use `open`."""
        self._reopen_seconds = reopen_seconds
        self._options = options
        self._environ = environ
        self._on_event = on_event
        self._parts = parts
        self._swapping = threading.Lock()
        self._is_closed = False
        self._reopening: Repeating | None = None
        self._engine = open_engine(options, parts(options, environ), environ, on_event)

    @classmethod
    def open(
        cls,
        options: DocumentOptions,
        environ: Mapping[str, str] = os.environ,
        on_event: OnEvent = tell_nobody,
        *,
        parts: OpenParts = open_parts,
        reopen_seconds: float = REOPEN_SECONDS,
    ) -> "DocumentLibrary":
        """Open the library that the options describe; what is indexed can be searched at once.

        `on_event` is called from the indexer's threads, one call at a time. An embedder that is
        not to be had is asked for again after `reopen_seconds`, and then ever more seldom.

        Raises:
            OptionsError: an option names something that there isn't.
            IndexUnusable: the index can't be opened; the message says what to do.
        """
        return cls(options, environ, on_event, parts, reopen_seconds)

    @property
    def progress(self) -> IndexProgress | None:
        """How far indexing is; None while nothing is to be done, or nothing more can be."""
        now = self._engine.indexer.progress
        if now.files_done < now.files_total:
            return now
        is_done = now.chunks_done >= now.chunks_total or self._engine.embeds_in_vain
        return None if is_done else now

    @property
    def has_compared(self) -> bool:
        """Whether the folders were looked through since `start`, or another process does that."""
        return self._engine.has_compared

    def start(self) -> None:
        """Begin to index, and to watch if the options say so, in the background; once."""
        self._engine.start()
        if self._engine.lacking:
            self._reopening = Repeating(
                "opening the embedder", self._reopen, first_after_seconds=self._reopen_seconds
            )
            self._reopening.start()

    def sync(self, *, embed: bool = True) -> SyncReport:
        """Compare folders and index now, and do all that is to be done, vectors too if `embed`.

        Raises:
            IndexUnusable: another process keeps the index up to date, or it can't be written.
        """
        return self._engine.sync(embed=embed)

    def reindex(self, files: Collection[str] = ()) -> SyncReport:
        """Read documents again though their files are the same; all of them if none is named.

        Chunks whose text comes out the same keep their vectors.

        Raises:
            UnknownDocument: there is none of that name.
            IndexUnusable: as in `sync`.
        """
        known = {entry.file for entry in self.documents()}
        if unknown := [file for file in files if file not in known]:
            raise UnknownDocument(f"the index has no document {unknown[0]!r}")
        return self._engine.sync(force=frozenset(files) or known)

    def search(
        self, query: str, top_k: int = TOP_K, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        """The passages that fit best; see `Searcher.search`."""
        return self._reading(lambda engine: engine.search(query, top_k, file, mode))

    def documents(self) -> list[DocumentEntry]:
        """All files that the index knows, by name, also those that could not be read."""
        return self._reading(lambda engine: engine.index.documents())

    def text(self, file: str) -> str | None:
        """A document as markdown; None if there is none of that name."""
        document = self._reading(lambda engine: engine.index.document(file))
        return None if document is None else document.extracted.markdown

    def extract(self, path: Path) -> Extracted:
        """The text of a file, read now, whether it is indexed or not; the path is not checked.

        Raises:
            ExtractionError: it can't be read.
        """
        return self._engine.extractor.extract(path)

    def failures(self) -> Sequence[str]:
        """What doesn't work at the moment, a line each."""
        return list(dict.fromkeys(self._engine.failures))

    def status(self) -> LibraryStatus:
        """All that is to be said about it."""
        return self._reading(self._status_of)

    def _status_of(self, engine: Engine) -> LibraryStatus:
        store = None if engine.cache is None else engine.cache.store
        counts = engine.index.counts()
        if engine.embedder is None and not engine.lacking:
            counts = replace(counts, chunks_without_vectors=0)  # there are to be none
        notice = [engine.index.notice] if engine.index.notice else []
        return LibraryStatus(
            counts=counts,
            embedder="" if engine.embedder is None else engine.embedder.name,
            vectors="" if store is None else store.description,
            writer_process=os.getpid() if engine.role.take() else engine.role.other_holder,
            progress=self.progress,
            notes=(*notice, *self.failures()),
        )

    def close(self) -> None:
        """End all that runs, bounded in time; what was written stands. Safe to call twice."""
        with self._swapping:
            if self._is_closed:
                return
            self._is_closed = True
        if self._reopening is not None:
            self._reopening.close(CLOSE_SECONDS)
        self._engine.close()

    def _reading(self, read: Callable[[Engine], T]) -> T:
        """What is read from the engine, or from the one that took its place meanwhile."""
        while True:
            engine = self._engine
            try:
                return read(engine)
            except IndexUnusable:
                if engine is self._engine:
                    raise

    def _reopen(self) -> None:
        """Try once more for the embedder, and begin anew with it.

        Raises:
            EmbedderUnavailable: it still can't be had.
        """
        parts = self._parts(self._options, self._environ)
        if parts.lacking:
            parts.extractor.close()
            raise EmbedderUnavailable(parts.lacking)
        engine = open_engine(self._options, parts, self._environ, self._on_event)
        with self._swapping:
            if self._is_closed:
                engine.close()
                return
            before, self._engine = self._engine, engine
        before.close()
        engine.start()
