"""What people search for again is not computed again."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from servers.rag.ports import Embedder

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

REMEMBERED_QUERIES = 256
REMEMBERED_CHARACTERS_MAX = 2_000
"""A longer query is computed each time: nobody types it twice."""


class _Closable(Embedder, Protocol):
    def start(self) -> None: ...

    def close(self) -> None: ...


class RememberedQueries:
    """An embedder that keeps the vectors of the last queries; they are not to be written to."""

    def __init__(self, embedder: _Closable) -> None:
        """Passages go straight to `embedder`."""
        self._embedder = embedder
        self._lock = Lock()
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    def __repr__(self) -> str:
        """What is behind it."""
        return f"RememberedQueries({self._embedder!r})"

    @property
    def name(self) -> str:
        """As the embedder's."""
        return self._embedder.name

    @property
    def fingerprint(self) -> str:
        """As the embedder's."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """As the embedder's."""
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        """As the embedder's; raises the same."""
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> "Vectors":
        """The remembered vector, else the embedder's; shape (1, dimension), raises the same."""
        with self._lock:
            if (known := self._known.get(text)) is not None:
                self._known.move_to_end(text)
                return known
        found = self._embedder.embed_query(text)
        found.setflags(write=False)
        if len(text) <= REMEMBERED_CHARACTERS_MAX:
            with self._lock:
                self._known[text] = found
                if len(self._known) > REMEMBERED_QUERIES:
                    self._known.popitem(last=False)
        return found

    def start(self) -> None:
        """Start the embedder; raises the same."""
        self._embedder.start()

    def close(self) -> None:
        """Close the embedder."""
        self._embedder.close()
