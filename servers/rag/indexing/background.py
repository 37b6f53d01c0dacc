"""What goes on while the server runs: comparing, embedding, following, watching.

Each on a thread of its own, so that a new file is found by its words while an hour's worth of
vectors is still being computed. Of several processes on one index only the holder of its lock
writes; the others follow what it writes, and one of them takes over when it ends.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from servers.rag.errors import EmbedderUnavailable, RagError
from servers.rag.folders.watching import Watcher
from servers.rag.index.index import Index
from servers.rag.index.lock import WriterLock
from servers.rag.indexing.indexer import Indexer
from servers.rag.indexing.vector_cache import VectorCache
from servers.rag.ports import Embedder

logger = logging.getLogger(__name__)

RETRY_FIRST_SECONDS = 5.0
RETRY_LAST_SECONDS = 600.0

Step: TypeAlias = Callable[[], float | None]
"""Does some work; gives the seconds until it is due again, None for: only when woken."""

TAKE_OVER_SECONDS = 2.0
"""How often a process that doesn't write asks whether the one that does has ended."""

FOLLOW_SECONDS = 1.0
"""How often vectors are brought in step with the index, unless told that it changed."""

EMBED_AGAIN_SECONDS = 1.0
"""How often chunks without a vector are looked for while files are read."""

RESCAN_SECONDS = 300.0
"""How often the folders are compared though nothing was heard: network drives don't tell."""

UNSETTLED_SECONDS = 30.0
"""... and when files changed while they were read, or could not be opened."""

REST_SECONDS_MAX = 10.0
REST_SHARE = 2.0
"""After a run it rests twice as long as that took, at most 10 seconds: a file that is written all
the time must not keep the machine busy."""

CLOSE_SECONDS = 5.0


class Background:
    """The threads of one process, and what is to be said about them."""

    def __init__(self, indexer: Indexer, writer: WriterLock, index: Index) -> None:
        """Start nothing. A `watcher` may be set before the start."""
        self.watcher: Watcher | None = None
        self._indexer = indexer
        self._writer = writer
        self._index = index
        self._embedder: Embedder | None = None
        self._has_embedder = threading.Event()
        self._cache: VectorCache | None = None
        self._has_compared = False
        self._is_comparing = False
        self._heard: frozenset[str] | None = None
        self._hearing = threading.Lock()
        self._closing = threading.Event()
        self._comparing = Repeating("indexing", self._compare)
        self._embedding = Repeating("embedding", self._embed)
        self._following = Repeating("loading vectors", self._follow)
        self._reading_slow = Repeating("reading what takes long", self._read_slow)

    @property
    def _threads(self) -> list["Repeating"]:
        return [self._comparing, self._embedding, self._following, self._reading_slow]

    @property
    def has_compared(self) -> bool:
        """Whether the folders were looked through, or that is another process' task."""
        return self._has_compared

    @property
    def embeds_in_vain(self) -> bool:
        """Whether the embedder fails, so that chunks without vectors stay so for now."""
        return bool(self._embedding.failure)

    @property
    def failures(self) -> list[str]:
        """What doesn't work now and is tried again later, a line each."""
        lines = [each.failure for each in self._threads]
        if self.watcher is not None:
            lines.append(self.watcher.note)
        return [line for line in lines if line]

    def start(self) -> None:
        """Begin, once: all but embedding."""
        self._following.start()
        self._comparing.start()
        self._reading_slow.start()
        if self.watcher is not None:
            self.watcher.start()

    def embed_with(self, embedder: Embedder, cache: VectorCache) -> None:
        """Begin to embed as well, once, and to keep the nearest vectors in step."""
        self._embedder, self._cache = embedder, cache
        self._embedding.start()
        self._following.wake()

    def changed(self, paths: frozenset[str] | None) -> None:
        """Something changed in the folders: at these places, or nobody knows where."""
        with self._hearing:
            if paths is None or self._heard is None:
                self._heard = None
            else:
                self._heard |= paths
        self._comparing.wake()

    def follow_soon(self) -> None:
        """Let the vectors be brought in step with the index, without waiting for it."""
        self._following.wake()

    def has_embedder(self, seconds: float) -> bool:
        """Whether the embedder has started, or failed to; waits for it so long."""
        return self._has_embedder.wait(max(0.0, seconds))

    def close(self) -> None:
        """End all threads; each ends after the file or batch that it is at."""
        self._closing.set()
        self._indexer.cancel()
        ends_by = time.monotonic() + CLOSE_SECONDS
        threads: list[Repeating | Watcher] = [*self._threads]
        if self.watcher is not None:
            threads.append(self.watcher)
        for thread in threads:
            thread.close(0)
        for thread in threads:
            thread.close(max(0.0, ends_by - time.monotonic()))

    def _compare(self) -> float | None:
        """Bring the index up to date, if that is for us to do."""
        if not self._writer.take(self._index):
            self._has_compared = True
            return TAKE_OVER_SECONDS
        began = time.monotonic()
        with self._hearing:
            paths, self._heard = self._heard, frozenset[str]()
        self._is_comparing = True
        self._embedding.wake()
        self._reading_slow.wake()
        try:
            # Woken by nothing that was heard, it is time for a look at everything.
            report = self._indexer.sync_paths(paths) if paths else self._indexer.sync()
        except BaseException:
            self.changed(None)
            raise
        finally:
            self._is_comparing = False
            # Also after a failure: others' chunks may be waiting, and nobody waits for files.
            self._has_compared = True
            self._embedding.wake()
            self._following.wake()
            self._reading_slow.wake()
        took = time.monotonic() - began
        self._closing.wait(min(took * REST_SHARE, REST_SECONDS_MAX))
        if report.unsettled:
            return UNSETTLED_SECONDS
        return None if self.watcher is None else RESCAN_SECONDS

    def _embed(self) -> float | None:
        """Start the embedder, then give vectors to what has none, as long as there is any."""
        if not self._has_embedder.is_set() and self._embedder is not None:
            try:
                with suppress(EmbedderUnavailable):  # told when a text is to be embedded
                    self._embedder.start()
            finally:
                self._has_embedder.set()
        if self._writer.held and self._indexer.fill_vectors():
            return 0.0
        return EMBED_AGAIN_SECONDS if self._is_comparing else None

    def _read_slow(self) -> float | None:
        """Read what takes long, so that no run, and no other file, waits for it."""
        if self._writer.held and self._indexer.read_slow():
            self._embedding.wake()
            self._following.wake()
            return 0.0
        return EMBED_AGAIN_SECONDS if self._is_comparing else None

    def _follow(self) -> float | None:
        """Bring vectors and figures in step with the index."""
        if self._cache is not None:
            self._cache.step()
        self._indexer.count()
        return FOLLOW_SECONDS


class Repeating:
    """Runs a step, again whenever it is woken or due, and later again where it fails.

    A failure is kept as `failure`, one line for the status, until the step succeeds. The waits
    between failed attempts double from 5 seconds to 10 minutes, and `wake` doesn't shorten them.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        first_after_seconds: float = 0.0,
        retry_first_seconds: float = RETRY_FIRST_SECONDS,
    ) -> None:
        self.failure = ""
        self._step = step
        self._first_after_seconds = first_after_seconds
        self._retry_first_seconds = retry_first_seconds
        self._failures = 0
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def wake(self) -> None:
        """Let the step run soon; many calls before it does are one."""
        self._woken.set()

    def close(self, seconds: float) -> None:
        """Ask it to end and wait for that, not longer than given: the thread is a daemon."""
        self._closing.set()
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        self._closing.wait(self._first_after_seconds)
        while not self._closing.is_set():
            self._woken.clear()
            seconds = self._attempted()
            if self._failures:
                self._closing.wait(seconds)
            else:
                self._woken.wait(seconds)

    def _attempted(self) -> float | None:
        """Do the step; how long to wait then."""
        try:
            seconds = self._step()
        except RagError as error:
            return self._failed(str(error))
        except Exception:
            if self._closing.is_set():
                return 0.0  # what it worked with was closed under it
            logger.exception("%s failed", self._thread.name)
            return self._failed(f"{self._thread.name} failed by a fault of ours; see the log")
        self._failures = 0
        self.failure = ""
        return seconds

    def _failed(self, line: str) -> float:
        self.failure = line
        wait = min(self._retry_first_seconds * 2**self._failures, RETRY_LAST_SECONDS)
        self._failures = min(self._failures + 1, 32)
        return wait
