"""The sessions as they are searched: brought up to date by each search, never otherwise.

Of several processes on one memory folder each may search: the index is written under a lock that
is given back as soon as there is nothing to write. Vectors that take longer than a search waits
are made on a thread, and words find what has none yet.
"""

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from core.base.clock import Clock
from core.base.memory.indexed import past_exchange
from core.base.text import counted
from servers.memory.options import MemoryOptions
from servers.memory.ranking import Found, ranked
from servers.memory.sessions import RECIPE, SessionExtractor, cut_by_exchange
from servers.rag.errors import IndexUnusable
from servers.rag.library.library import DocumentLibrary
from servers.rag.library.parts import Parts, open_embedder
from servers.rag.passages import SearchMode
from servers.rag.ports import Embedder

POOL: Final = 60
"""So many exchanges are looked at for the best: what is repeated and what is old falls back."""

RUNNING_SECONDS: Final = 3_600.0
"""A request without an answer that is no older may be the very one that is being answered."""

LOCK_SECONDS: Final = 1.0
"""How long a search waits for another process that brings the index up to date."""

NEW_MAX: Final = 64
VECTORS_SECONDS: Final = 3.0
"""How long it waits for vectors of exchanges that are new, if there are no more than `NEW_MAX`."""

_POLL_SECONDS: Final = 0.02


class MemoryLibrary:
    """Past exchanges that are searched; its methods block, and any thread may call them."""

    def __init__(
        self,
        options: MemoryOptions,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = time.time,
        embedder: Callable[[], Embedder | None] | None = None,
    ) -> None:
        """Open the index, or make one; reads no session yet.

        `embedder` gives another one than the options name, as `Parts.open_embedder` does.

        Raises:
            OptionsError: there is no such embedder.
            IndexUnusable: the index can't be opened; the message says what to do.
        """
        parts = Parts(
            SessionExtractor(options.folder),
            embedder or partial(open_embedder, options.embedder, environ),
            cut_by_exchange,
            RECIPE,
        )
        self._library = DocumentLibrary.open(options.of_documents, environ, parts=parts)
        self._clock = clock
        self._writers = 0
        self._counting = threading.Lock()
        self._filling: threading.Thread | None = None
        self._library.let_others_write()

    def search(self, query: str, top_k: int, mode: SearchMode = "hybrid") -> Found:
        """The exchanges that fit best, at most `top_k`.

        Raises:
            IndexUnusable: the index can't be read.
        """
        notes = [*self._bring_up_to_date(wait=mode != "words"), *self._library.failures()]
        hits, note = self._library.hits(query, POOL, mode)
        now = self._clock()
        found = [
            (past, hit.score)
            for hit in hits
            if (past := past_exchange(hit.stored.chunk.headings, hit.stored.chunk.text))
            and not (
                past.exchange.answer is None and now - past.exchange.asked_at < RUNNING_SECONDS
            )
        ]
        told = dict.fromkeys(line for line in (note, *notes) if line)
        return Found(
            tuple(ranked(found, now, "" if mode == "vectors" else query)[:top_k]), tuple(told)
        )

    def close(self) -> None:
        """End what runs; bounded in time."""
        self._library.close()

    def _bring_up_to_date(self, *, wait: bool) -> list[str]:
        """Take in what sessions have become; gives what is to be said about it."""
        with self._writing():
            until = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    self._library.sync(embed=False)
                    break
                except IndexUnusable as error:
                    if time.monotonic() > until:
                        return [f"what was said last may be missing: {error}"]
                    time.sleep(_POLL_SECONDS)
            return self._fill(VECTORS_SECONDS if wait else 0.0)

    def _fill(self, seconds: float) -> list[str]:
        """Have vectors made of what has none, and wait for them as long as given."""
        if not (left := self._library.chunks_to_embed):
            return []
        if self._filling is None or not self._filling.is_alive():
            self._filling = threading.Thread(target=self._make_vectors, daemon=True)
            self._filling.start()
        self._filling.join(seconds if left <= NEW_MAX else 0)
        if not self._filling.is_alive() or not (left := self._library.chunks_to_embed):
            return []
        return [f"{counted(left, 'exchange')} can be found by words alone so far"]

    def _make_vectors(self) -> None:
        with self._writing(), suppress(IndexUnusable):  # the next search tries again
            self._library.fill_vectors()

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Keep the index's lock inside, from the first write on; the last one gives it back."""
        with self._counting:
            self._writers += 1
        try:
            yield
        finally:
            with self._counting:
                self._writers -= 1
                if not self._writers:
                    self._library.let_others_write()
