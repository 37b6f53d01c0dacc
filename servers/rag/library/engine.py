"""An index in use: all parts of the engine put together, for as long as one embedder holds."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from servers.rag.errors import EmbedderUnavailable, VectorsUnavailable
from servers.rag.folders.scan import IgnoreRules
from servers.rag.folders.watching import Watcher
from servers.rag.index.index import Index
from servers.rag.index.lock import IndexLock, WriterRole
from servers.rag.indexing.background import Background
from servers.rag.indexing.indexer import CutDocument, Indexer
from servers.rag.indexing.progress import IndexNoted, OnEvent, SyncReport
from servers.rag.indexing.vector_cache import VectorCache
from servers.rag.library.options import DocumentOptions
from servers.rag.passages import SearchMode, SearchResult
from servers.rag.ports import Embedder, Extractor
from servers.rag.search.searcher import Searcher
from servers.rag.vectors.opening import open_vectors
from servers.rag.vectors.store import VectorStore

FILL_LOOK_SECONDS = 0.2

READY_SECONDS = 1.0
"""How long a search waits for the embedder's start and for vectors that are stored already; both
begin when the engine does, and take about 0.3 s."""

STILL_STARTING = "the embedder is still starting; search again in a moment"
STILL_LOADING = "the vectors are still being loaded; search again in a moment"


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine is made of besides its index.

    `recipe` tells how texts and chunks are made; another one lets all documents be read again.
    `lacking` says what can't be had now and is to be tried again: the embedder.
    """

    extractor: Extractor
    embedder: Embedder | None
    cut: CutDocument
    recipe: str
    lacking: str = ""


class Engine:
    """Index, indexer, vectors and threads; made by `open_engine`."""

    def __init__(
        self,
        options: DocumentOptions,
        parts: Parts,
        index: Index,
        role: WriterRole,
        on_event: OnEvent,
        open_store: Callable[[str], VectorStore] | None,
        ready_seconds: float,
    ) -> None:
        """Start nothing; without `open_store` there are no vectors."""
        self.index = index
        self.extractor = parts.extractor
        self.embedder = parts.embedder
        self.lacking = parts.lacking
        self._options = options
        self._ready_seconds = ready_seconds
        self.role = role
        self.indexer = Indexer(
            options, index, parts.extractor, parts.embedder, on_event, cut=parts.cut
        )
        self.cache = None if open_store is None else VectorCache(index, open_store)
        self._searcher = Searcher(index, parts.embedder, self._ready_vectors, options.word_weight)
        self._background: Background | None = None
        self._vectors_missing = ""

    @property
    def has_compared(self) -> bool:
        """Whether the folders were looked through since it was opened."""
        return self._background is not None and self._background.has_compared

    @property
    def embeds_in_vain(self) -> bool:
        """Whether the embedder fails, so that what lacks a vector goes on lacking it for now."""
        in_background = self._background is not None and self._background.embeds_in_vain
        return in_background or bool(self._vectors_missing)

    @property
    def failures(self) -> list[str]:
        """What doesn't work now, a line each."""
        unreachable = "" if self.cache is None else self.cache.failure
        lines = [line for line in (self.lacking, self._vectors_missing, unreachable) if line]
        lines += self.indexer.notes
        if self._background is not None:
            lines += self._background.failures
        return lines

    def search(self, query: str, top_k: int, file: str | None, mode: SearchMode) -> SearchResult:
        """The passages that fit best; waits a little for vectors, if the mode wants them.

        Raises:
            IndexUnusable: the index can't be read.
        """
        return self._searcher.search(query, top_k, file, mode)

    def start(self) -> None:
        """Compare, embed, follow and watch in the background, from now on."""
        options = self._options
        watcher = None
        if options.watch:
            rules = IgnoreRules(options.ignore)
            watcher = Watcher(options.folders, rules, self._changed, own=[options.index_folder])
        self._background = Background(self.indexer, self.role, self.cache, watcher, self.embedder)
        self._background.start()

    def sync(self, force: Collection[str] = frozenset(), *, embed: bool = True) -> SyncReport:
        """Compare and, if `embed`, embed now, side by side; returns when both are done.

        Raises:
            IndexUnusable: another process writes to it, or it can't be written.
        """
        self.role.require()
        if not embed:
            return self.indexer.sync(force)
        with ThreadPoolExecutor(1, thread_name_prefix="embedding") as threads:
            compared = threading.Event()
            filling = threads.submit(self._fill_beside, compared)
            try:
                report = self.indexer.sync(force)
                compared.set()
                filling.result()
            except BaseException:
                self.indexer.cancel()
                raise
            finally:
                compared.set()
        return report

    def close(self) -> None:
        """End everything, bounded in time; what was written stands."""
        self.indexer.cancel()
        self.extractor.close()
        if self.embedder is not None:
            self.embedder.close()
        if self._background is not None:
            self._background.close()
        if self.cache is not None:
            self.cache.close()
        self.index.close()
        self.role.release()

    def _ready_vectors(self) -> VectorStore:
        """The vectors, when they and the embedder are ready; waits for that a little.

        Raises:
            VectorsUnavailable: they are not ready, or can't be had now.
        """
        if self.cache is None:
            raise VectorsUnavailable(STILL_LOADING)
        if self._background is None:
            with suppress(VectorsUnavailable):  # told below, unless there are older ones
                self.cache.step()
        else:
            until = time.monotonic() + self._ready_seconds
            self._background.follow_soon()
            self.cache.wait(self._ready_seconds)
            if not self._background.has_embedder(until - time.monotonic()):
                raise VectorsUnavailable(STILL_STARTING)
        if self.cache.store is None:
            raise VectorsUnavailable(self.cache.failure or STILL_LOADING)
        return self.cache.store

    def _changed(self, paths: frozenset[str] | None) -> None:
        if self._background is not None:
            self._background.changed(paths)

    def _fill_beside(self, compared: threading.Event) -> None:
        """Embed what the comparison writes, until it has ended and nothing is left."""
        try:
            while True:
                was_last = compared.is_set()
                filled = self.indexer.fill_vectors()
                if was_last and not filled:
                    break
                if not filled:
                    compared.wait(FILL_LOOK_SECONDS)
        except EmbedderUnavailable as error:
            self._vectors_missing = str(error)


def open_engine(
    options: DocumentOptions,
    parts: Parts,
    environ: Mapping[str, str],
    on_event: OnEvent,
    ready_seconds: float = READY_SECONDS,
) -> Engine:
    """Open the index for these parts; loads no weights and no vectors.

    `ready_seconds` is how long a search waits for those that its `start` began to load.

    Raises:
        IndexUnusable: the index can't be opened.
    """
    embedder = parts.embedder
    fingerprint = "" if embedder is None else embedder.fingerprint
    lock = IndexLock(options.index_folder)
    may_write = lock.acquire()
    try:
        index = Index.open(options.index_folder, fingerprint, parts.recipe, writer=may_write)
    except BaseException:
        lock.release()
        raise
    if index.notice:
        on_event(IndexNoted(index.notice))
    role = WriterRole(index, lock)
    if embedder is None:
        return Engine(options, parts, index, role, on_event, None, ready_seconds)
    dimension = embedder.dimension

    def open_store(identity: str) -> VectorStore:
        owner = f"{identity}:{fingerprint}"
        return open_vectors(options.vectors, dimension, environ, owner=owner)

    return Engine(options, parts, index, role, on_event, open_store, ready_seconds)
