"""Vectors computed once: on disk, by text and embedder. They are the dear part of a measurement."""

import hashlib
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from servers.rag.ports import Embedder, Vectors

TEXTS_AT_ONCE = 64
"""What an interruption may lose."""


class CachedEmbedder:
    """An embedder that asks the one inside for what it has not seen before.

    One file an embedder's fingerprint, so that another never gets its vectors. For one thread.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        short = hashlib.sha256(inner.fingerprint.encode()).hexdigest()[:16]
        self._inner = inner
        self._database = sqlite3.connect(folder / f"vectors-{inner.dimension}-{short}.sqlite3")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        """The inner one's."""
        return self._inner.fingerprint

    @property
    def dimension(self) -> int:
        """The inner one's."""
        return self._inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found; progress goes to stderr."""
        missing = [t for t in dict.fromkeys(texts) if self._look_up("passage", t) is None]
        for start in range(0, len(missing), TEXTS_AT_ONCE):
            part = missing[start : start + TEXTS_AT_ONCE]
            self._keep("passage", part, self._inner.embed_passages(part))
            say(f"vectors: {start + len(part)} of {len(missing)} computed")
        return np.stack([self._known("passage", text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question."""
        if self._look_up("query", text) is None:
            self._keep("query", [text], self._inner.embed_query(text))
        return self._known("query", text)[None]

    def start(self) -> None:
        """Start the inner one."""
        self._inner.start()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _known(self, kind: Literal["passage", "query"], text: str) -> Vectors:
        blob = self._look_up(kind, text)
        assert blob is not None
        return np.frombuffer(blob, dtype=np.float32)

    def _look_up(self, kind: Literal["passage", "query"], text: str) -> bytes | None:
        row: tuple[bytes] | None = self._database.execute(
            "SELECT vector FROM vectors WHERE key = ?", (_key(kind, text),)
        ).fetchone()
        return None if row is None else row[0]

    def _keep(
        self, kind: Literal["passage", "query"], texts: Sequence[str], vectors: Vectors
    ) -> None:
        """In one transaction."""
        keys = [_key(kind, text) for text in texts]
        blobs = [row.tobytes() for row in vectors.astype("float32")]
        with self._database:
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)", zip(keys, blobs, strict=True)
            )


def _key(kind: Literal["passage", "query"], text: str) -> bytes:
    return hashlib.sha256(f"{kind}\n{text}".encode()).digest()


def say(text: str) -> None:
    """A line to stderr: the table alone is output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
