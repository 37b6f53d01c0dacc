"""The library of documents: the one object that the server and the command line use.

It puts the parts together: extraction, chunks, embeddings, the index, nearest vectors, search.
Opening reads no weights and no vectors, so that it is quick however much is indexed; those come
in the background, and words find what there is meanwhile.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from servers.rag.errors import EmbedderUnavailable, VectorsUnavailable
from servers.rag.folders.scan import IgnoreRules
from servers.rag.folders.watching import Watcher
from servers.rag.index.index import Index
from servers.rag.index.lock import WriterLock
from servers.rag.indexing.background import Background, Repeating
from servers.rag.indexing.indexer import Indexer
from servers.rag.indexing.progress import (
    IndexEvent,
    IndexNoted,
    IndexProgress,
    OnEvent,
    SyncReport,
)
from servers.rag.indexing.vector_cache import VectorCache
from servers.rag.library.library_protocol import LibraryStatus
from servers.rag.library.options import DocumentOptions
from servers.rag.library.parts import Parts, open_parts, open_vectors
from servers.rag.passages import DocumentEntry, SearchMode, SearchResult
from servers.rag.ports import Embedder
from servers.rag.search.merging import Hit
from servers.rag.search.searcher import TOP_K, Searcher
from servers.rag.vectors.store import VectorStore
from servers.reading.source import Extracted

CLOSE_SECONDS = 2.0
REOPEN_SECONDS = 10.0
"""After how long an embedder that could not be opened is tried again the first time."""

FILL_LOOK_SECONDS = 0.2

READY_SECONDS = 1.0
"""How long a search waits for the embedder's start and for vectors that are stored already; both
begin when the library does, and take about 0.3 s."""

STILL_STARTING = "the embedder is still starting; search again in a moment"
STILL_LOADING = "the vectors are still being loaded; search again in a moment"


def tell_nobody(_: IndexEvent) -> None:
    """Listens to what the indexer tells, and does nothing."""


class DocumentLibrary:
    """Documents that are searched; made by `open`. Methods block; any thread may call them.

    `start` lets the index be kept up to date in the background, `sync` does it once while the
    caller waits; searching works before, during and after either.
    """

    def __init__(
        self,
        options: DocumentOptions,
        environ: Mapping[str, str],
        parts: Parts,
        on_event: OnEvent,
        reopen_seconds: float,
        ready_seconds: float,
    ) -> None:
        """Use `open`."""
        self._options = options
        self._environ = environ
        self._parts = parts
        self._on_event = on_event
        self._reopen_seconds = reopen_seconds
        self._ready_seconds = ready_seconds
        self._embedder: Embedder | None = None
        self._lacking = ""
        try:
            self._embedder = parts.open_embedder()
        except EmbedderUnavailable as error:
            self._lacking = str(error)
        self._writer = WriterLock(options.index_folder)
        may_write = self._writer.acquire()
        fingerprint = "" if self._embedder is None else self._embedder.fingerprint
        try:
            self.index = Index.open(
                options.index_folder, fingerprint, parts.recipe, writer=may_write
            )
        except BaseException:
            self._writer.release()
            raise
        if self.index.notice:
            on_event(IndexNoted(self.index.notice))
        self.indexer = Indexer(options, self.index, parts.extractor, None, on_event, cut=parts.cut)
        self._cache: VectorCache | None = None
        self._searcher = self._search_by(None)
        if self._embedder is not None:
            self._use(self._embedder)
        self._background: Background | None = None
        self._reopening: Repeating | None = None
        self._vectors_missing = ""
        self._closing = threading.Lock()
        self._is_closed = False

    @classmethod
    def open(
        cls,
        options: DocumentOptions,
        environ: Mapping[str, str] = os.environ,
        on_event: OnEvent = tell_nobody,
        *,
        parts: Parts | None = None,
        reopen_seconds: float = REOPEN_SECONDS,
        ready_seconds: float = READY_SECONDS,
    ) -> "DocumentLibrary":
        """Open the library that the options describe; what is indexed can be searched at once.

        `on_event` is called from the indexer's threads, one call at a time. An embedder that is
        not to be had is asked for again after `reopen_seconds`, and then ever more seldom. A search
        waits `ready_seconds` for what `start` began to load.

        Raises:
            OptionsError: an option names something that there isn't.
            IndexUnusable: the index can't be opened; the message says what to do.
        """
        made = parts or open_parts(options, environ)
        return cls(options, environ, made, on_event, reopen_seconds, ready_seconds)

    @property
    def progress(self) -> IndexProgress | None:
        """How far indexing is; None while nothing is to be done, or nothing more can be."""
        now = self.indexer.progress
        if now.files_done < now.files_total:
            return now
        in_vain = self._background is not None and self._background.embeds_in_vain
        is_done = now.chunks_done >= now.chunks_total or in_vain or self._vectors_missing
        return None if is_done else now

    @property
    def has_compared(self) -> bool:
        """Whether the folders were looked through since `start`, or another process does that."""
        return self._background is not None and self._background.has_compared

    def start(self) -> None:
        """Begin to index, and to watch if the options say so, in the background; once."""
        options = self._options
        background = Background(self.indexer, self._writer, self.index)
        self._background = background
        if options.watch:
            rules = IgnoreRules(options.ignore)
            own = [options.index_folder]
            background.watcher = Watcher(options.folders, rules, background.changed, own)
        background.start()
        if self._embedder is not None and self._cache is not None:
            background.embed_with(self._embedder, self._cache)
        elif self._lacking:
            self._reopening = Repeating(
                "opening the embedder", self._reopen, first_after_seconds=self._reopen_seconds
            )
            self._reopening.start()

    def sync(self, *, embed: bool = True) -> SyncReport:
        """Compare folders and index now, and do all that is to be done, vectors too if `embed`.

        Raises:
            IndexUnusable: another process keeps the index up to date, or it can't be written.
        """
        self._writer.require(self.index)
        return self._sync_and_embed(anew=False) if embed else self._compared(anew=False)

    @property
    def chunks_to_embed(self) -> int:
        """How many chunks have no vector and are to get one."""
        return 0 if self._embedder is None else self.index.counts().chunks_without_vectors

    def fill_vectors(self) -> None:
        """Give all chunks their vectors, while the caller waits; `failures` says what fails.

        Raises:
            IndexUnusable: another process keeps the index up to date, or it can't be written.
        """
        self._writer.require(self.index)
        self._vectors_missing = ""
        try:
            self.indexer.fill_vectors()
        except EmbedderUnavailable as error:
            self._vectors_missing = str(error)

    def let_others_write(self) -> None:
        """Give the index's lock back until something is to be written; not after `start`."""
        self._writer.release()

    def reindex(self) -> SyncReport:
        """Read all documents again though their files are the same; raises the same.

        Chunks whose text comes out the same keep their vectors.
        """
        self._writer.require(self.index)
        return self._sync_and_embed(anew=True)

    def search(
        self, query: str, top_k: int = TOP_K, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        """The passages that fit best; see `Searcher.search`."""
        return self._searcher.search(query, top_k, file, mode)

    def hits(self, query: str, count: int, mode: SearchMode = "hybrid") -> tuple[list[Hit], str]:
        """The chunks that fit best, each by itself; see `Searcher.hits`."""
        return self._searcher.hits(query, count, mode)

    def documents(self) -> list[DocumentEntry]:
        """All files that the index knows, by name, also those that could not be read."""
        return self.index.documents()

    def text(self, file: str) -> str | None:
        """A document as markdown; None if there is none of that name."""
        return self.index.text(file)

    def extract(self, path: Path) -> Extracted:
        """The text of a file, read now, whether it is indexed or not; the path is not checked.

        Raises:
            ExtractionError: it can't be read.
        """
        return self._parts.extractor.extract(path)

    def failures(self) -> Sequence[str]:
        """What doesn't work at the moment, a line each."""
        unreachable = "" if self._cache is None else self._cache.failure
        lines = [self._lacking, self._vectors_missing, unreachable, *self.indexer.notes]
        if self._background is not None:
            lines += self._background.failures
        return [line for line in dict.fromkeys(lines) if line]

    def status(self) -> LibraryStatus:
        """All that is to be said about it."""
        store = None if self._cache is None else self._cache.store
        counts = self.index.counts()
        if self._embedder is None and not self._lacking:
            counts = replace(counts, chunks_without_vectors=0)  # there are to be none
        notice = [self.index.notice] if self.index.notice else []
        return LibraryStatus(
            counts=counts,
            embedder="" if self._embedder is None else self._embedder.name,
            vectors="" if store is None else store.description,
            writer_process=os.getpid() if self._writer.take(self.index) else self._writer.holder,
            notes=(*notice, *self.failures()),
        )

    def close(self) -> None:
        """End all that runs, bounded in time; what was written stands. Safe to call twice."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        if self._reopening is not None:
            self._reopening.close(CLOSE_SECONDS)
        self.indexer.cancel()
        self._parts.extractor.close()
        if self._embedder is not None:
            self._embedder.close()
        if self._background is not None:
            self._background.close()
        if self._cache is not None:
            self._cache.close()
        self.index.close()
        self._writer.release()

    def _use(self, embedder: Embedder) -> VectorCache:
        """Have texts and questions embedded from now on; gives what keeps their vectors."""
        self.indexer.embed_with(embedder)
        self._cache = VectorCache(self.index, partial(self._open_store, embedder))
        self._searcher = self._search_by(embedder)
        self._embedder = embedder
        return self._cache

    def _search_by(self, embedder: Embedder | None) -> Searcher:
        return Searcher(self.index, embedder, self._ready_vectors, self._options.word_weight)

    def _open_store(self, embedder: Embedder, identity: str) -> VectorStore:
        owner = f"{identity}:{embedder.fingerprint}"
        return open_vectors(self._options.vectors, embedder.dimension, self._environ, owner=owner)

    def _reopen(self) -> None:
        """Try once more for the embedder, and embed with it.

        Raises:
            EmbedderUnavailable: it still can't be had.
        """
        embedder = self._parts.open_embedder()
        if embedder is None or self._background is None:
            return
        noticed = self.index.notice
        try:
            self.index.fingerprint = embedder.fingerprint
            if self._writer.held:
                self.index.begin_writing()
        except BaseException:
            embedder.close()
            raise
        with self._closing:
            if self._is_closed:
                embedder.close()
                return
            cache = self._use(embedder)
            self._lacking = ""
            self._background.embed_with(embedder, cache)
        if self.index.notice != noticed:
            self._on_event(IndexNoted(self.index.notice))

    def _sync_and_embed(self, *, anew: bool) -> SyncReport:
        """Compare and embed side by side; returns when both are done."""
        with ThreadPoolExecutor(1, thread_name_prefix="embedding") as threads:
            compared = threading.Event()
            filling = threads.submit(self._fill_until, compared)
            try:
                report = self._compared(anew=anew)
                compared.set()
                filling.result()
            except BaseException:
                self.indexer.cancel()
                raise
            finally:
                compared.set()
        return report

    def _compared(self, *, anew: bool) -> SyncReport:
        report = self.indexer.sync(anew=anew)
        while self.indexer.read_slow():
            pass
        return report

    def _fill_until(self, compared: threading.Event) -> None:
        """Embed what the comparison writes, until it has ended and nothing is left."""
        try:
            while not compared.wait(FILL_LOOK_SECONDS):
                self.indexer.fill_vectors()
            self.indexer.fill_vectors()
        except EmbedderUnavailable as error:
            self._vectors_missing = str(error)

    def _ready_vectors(self) -> VectorStore:
        """The vectors, when they and the embedder are ready; waits for that a little.

        Raises:
            VectorsUnavailable: they are not ready, or can't be had now.
        """
        if self._cache is None:
            raise VectorsUnavailable(STILL_LOADING)
        if self._background is None:
            with suppress(VectorsUnavailable):  # told below, unless there are older ones
                self._cache.step()
        else:
            until = time.monotonic() + self._ready_seconds
            self._background.follow_soon()
            self._cache.wait(self._ready_seconds)
            if not self._background.has_embedder(until - time.monotonic()):
                raise VectorsUnavailable(STILL_STARTING)
        if self._cache.store is None:
            raise VectorsUnavailable(self._cache.failure or STILL_LOADING)
        return self._cache.store
