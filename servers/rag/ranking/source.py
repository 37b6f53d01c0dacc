"""What a search needs of the index; `servers.rag.index` has it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from servers.rag.passages import StoredChunk

if TYPE_CHECKING:
    from servers.rag.ports import Vectors


class FoundByWords(Protocol):
    """A chunk that holds words of the question."""

    @property
    def chunk_id(self) -> int:
        """Which chunk."""
        ...

    @property
    def score(self) -> float:
        """BM25, positive."""
        ...

    @property
    def rare(self) -> bool:
        """Whether one of the words found in it is rare in the whole index."""
        ...


class SearchableIndex(Protocol):
    """The half of the index that answers; its methods block, from any thread."""

    def search_words(
        self, query: str, count: int, file: str | None = None
    ) -> Sequence[FoundByWords]:
        """The best `count` chunks that hold words of a text, best first; any text will do."""
        ...

    def full_match(self, query: str) -> float:
        """What a chunk of average length would score that holds every word of a text once."""
        ...

    def chunks(self, chunk_ids: Sequence[int]) -> Sequence[StoredChunk]:
        """Chunks by id, in any order, without those that are gone."""
        ...

    def vectors(self, chunk_ids: Sequence[int]) -> "tuple[Sequence[int], Vectors]":
        """Those of the ids that have a vector, and their vectors, row by row."""
        ...

    def chunk_ids(self, file: str) -> Sequence[int]:
        """All chunks of a document."""
        ...
