"""The protocols between the parts of the engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from servers.reading.source import Extracted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        """The vectors of texts to be found.

        Raises:
            EmbedderUnavailable: the model or its service can't be used now.
        """
        ...

    def embed_query(self, text: str) -> "Vectors":
        """The vector of what is searched for, shape (1, dimension); raises the same."""
        ...


class VectorIndex(Protocol):
    """Finds the nearest of many vectors, by chunk id. A cache: SQLite holds the truth."""

    def add(self, chunk_ids: Sequence[int], vectors: "Vectors") -> None:
        """Take up vectors; an id that is known gets its new one."""
        ...

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        ...

    def search(
        self, query: "Vectors", count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The `count` nearest chunk ids with their cosine, best first; only `among` if given."""
        ...

    def __len__(self) -> int:
        """How many vectors it holds."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class Extractor(Protocol):
    """Reads one file into markdown; blocks, may be called from several threads."""

    def extract(self, path: Path) -> Extracted:
        """The text of a file.

        Raises:
            ExtractionError: it can't be read; the message is one line for the status.
        """
        ...
