"""The protocols between the parts of the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from servers.reading.source import Extracted

Vectors: TypeAlias = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1."""


class Embedder(Protocol):
    """Turns texts into vectors of length 1, so that their inner product is the cosine.

    Its methods block, and may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What is told to people: `minilm`, `ollama:nomic-embed-text`."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with all that changes vectors: model, weights, dimension, tokenizer."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to be found.

        Raises:
            EmbedderUnavailable: the model or its service can't be used now.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """The vector of what is searched for, shape (1, dimension); raises the same."""
        ...

    def start(self) -> None:
        """Load what the first text would have to wait for; asks no service for anything.

        Raises:
            EmbedderUnavailable: it can't be had.
        """
        ...

    def close(self) -> None:
        """Stop: work that runs ends after its text, as does waiting; safe to call twice."""
        ...


class Extractor(Protocol):
    """Reads one file into markdown; blocks, may be called from several threads."""

    def extract(self, path: Path, within_seconds: float | None = None) -> Extracted:
        """The text of a file.

        Raises:
            TakesLong: it takes longer than `within_seconds`, where they are given.
            ExtractionError: it can't be read; the message is one line for the status.
        """
        ...

    def close(self) -> None:
        """End it; a file that is being read fails."""
        ...
