"""The embedder that needs no key, no hub and no server: all-MiniLM-L6-v2 on this machine's CPU.

Reimers and Gurevych 2019 (Sentence-BERT); Wang et al. 2020 (MiniLM). As the model's authors have
it: WordPiece tokens, 256 at most; the mean of the last layer over all tokens; length 1. Weights are
int8, sums float32, one text a run: so a text has the same vector whatever is embedded beside it.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

from servers.rag.embedding.vocabulary import VOCABULARY_SHA256, read_vocabulary
from servers.rag.embedding.weights import (
    ELSE,
    INSTALL,
    WEIGHTS_SHA256,
    load_session,
    missing_packages,
    weights_file,
)
from servers.rag.embedding.wordpiece import TOKENIZER_VERSION, WordPiece
from servers.rag.faults import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.embedding.onnx_types import Session
    from servers.rag.ports import Vectors

NAME = "minilm"
DIMENSION = 384
TOKENS_MAX = 256
"""What the model was trained for; the rest of a text is not looked at."""

FINGERPRINT = (
    f"{NAME}:{WEIGHTS_SHA256[:12]}:{VOCABULARY_SHA256[:12]}:"
    f"wordpiece-{TOKENIZER_VERSION}:{TOKENS_MAX}:{DIMENSION}"
)


def open_minilm() -> "MiniLm":
    """The embedder, its weights not loaded yet.

    Raises:
        EmbedderUnavailable: a package is missing; the message says how to get it.
    """
    if missing := missing_packages():
        raise EmbedderUnavailable(f"minilm lacks {', '.join(missing)}: {INSTALL}, {ELSE}")
    return MiniLm()


class MiniLm:
    """Embeds on up to `threads` threads, one of which is the caller's; loads when first used."""

    def __init__(self, threads: int | None = None, weights: Path | None = None) -> None:
        """Nothing is loaded. As many threads as this process may use cores, if not said."""
        self._threads = threads or _usable_cores()
        self._weights = weights
        self._model: _Model | None = None
        self._helpers: ThreadPoolExecutor | None = None
        self._opening = Lock()
        self._closed = Event()

    def __repr__(self) -> str:
        """Its name and threads."""
        return f"MiniLm(threads={self._threads})"

    @property
    def name(self) -> str:
        """`minilm`."""
        return NAME

    @property
    def fingerprint(self) -> str:
        """Weights, vocabulary, tokenizer, bound and dimension."""
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        """384."""
        return DIMENSION

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        """The vectors of texts, shape (texts, 384); an empty text has one, too.

        Raises:
            EmbedderUnavailable: the weights can't be had, or it was closed meanwhile.
        """
        import numpy as np

        model = self._opened()
        found = np.empty((len(texts), DIMENSION), dtype=np.float32)
        waiting = deque(enumerate(texts))
        stop = Event()

        def take_turns() -> None:
            while not (stop.is_set() or self._closed.is_set()):
                try:
                    place, text = waiting.popleft()
                except IndexError:
                    return
                found[place] = model.vector(text)

        helpers = self._helped(take_turns, min(self._threads, len(texts)) - 1)
        try:
            take_turns()
        finally:
            stop.set()
        for helper in helpers:
            if not helper.cancel():  # not begun: nothing was left for it
                helper.result()
        self._check_open()
        return found

    def embed_query(self, text: str) -> "Vectors":
        """The vector of a query, shape (1, 384), on the caller's thread; raises the same."""
        return self._opened().vector(text)[None, :]

    def start(self) -> None:
        """Load weights and vocabulary: about 0.3 s; raises the same."""
        self._opened()

    def close(self) -> None:
        """Stop after the texts that are worked on now; safe to call twice."""
        self._closed.set()
        with self._opening:
            if self._helpers is not None:
                self._helpers.shutdown(wait=True, cancel_futures=True)
            self._model = self._helpers = None

    def _opened(self) -> "_Model":
        with self._opening:
            self._check_open()
            if self._model is None:
                session = load_session(self._weights or weights_file())
                self._model = _Model(session, WordPiece(read_vocabulary(), TOKENS_MAX))
            return self._model

    def _helped(self, work: Callable[[], None], count: int) -> "list[Future[None]]":
        """Have others do the same work."""
        with self._opening:
            self._check_open()
            if count > 0 and self._helpers is None:
                self._helpers = ThreadPoolExecutor(self._threads - 1, "embedding")
            return [self._helpers.submit(work) for _ in range(count)] if self._helpers else []

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise EmbedderUnavailable("minilm was closed while it embedded")


class _Model:
    """The loaded weights and their tokenizer."""

    def __init__(self, session: "Session", tokenizer: WordPiece) -> None:
        self._session = session
        self._tokenizer = tokenizer

    def vector(self, text: str) -> "NDArray[np.float32]":
        """Shape (384,), of length 1."""
        import numpy as np

        tokens = np.array([self._tokenizer.ids(text)], dtype=np.int64)
        (states,) = self._session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": np.ones_like(tokens),
                "token_type_ids": np.zeros_like(tokens),
            },
        )
        mean = states[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
