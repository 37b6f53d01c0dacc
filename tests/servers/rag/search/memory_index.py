"""An index in memory, an embedder that counts words, and exact nearest vectors: for tests only."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from servers.rag.passages import Chunk, StoredChunk

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

RARE_SHARE = 0.3

Row: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class WordHit:
    chunk_id: int
    score: float
    rare: bool


class WordCountEmbedder:
    """A dimension for each word of its vocabulary, which it meets in order; synonyms share one."""

    name = "counting"
    fingerprint = "counting-1"

    def __init__(self, dimension: int = 64, synonyms: dict[str, str] | None = None) -> None:
        self.dimension = dimension
        self.asked: list[str] = []
        self._synonyms = synonyms or {}
        self._places: dict[str, int] = {}

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        return np.concatenate([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> "Vectors":
        self.asked.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> "Vectors":
        vector = np.zeros((1, self.dimension), dtype=np.float32)
        for word in text.lower().split():
            known = self._synonyms.get(word, word)
            vector[0, self._places.setdefault(known, len(self._places)) % self.dimension] += 1
        return vector / max(float(np.linalg.norm(vector)), 1e-9)


@dataclass
class ExactVectors:
    """Nearest by looking at all of them."""

    known: dict[int, Row] = field(default_factory=dict[int, Row])

    def add(self, chunk_ids: Sequence[int], vectors: "Vectors") -> None:
        self.known.update(zip(chunk_ids, vectors, strict=True))

    def remove(self, chunk_ids: Sequence[int]) -> None:
        for chunk_id in chunk_ids:
            self.known.pop(chunk_id, None)

    def search(
        self, query: "Vectors", count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        asked = self.known if among is None else {*among} & {*self.known}
        found = [(chunk_id, float(self.known[chunk_id] @ query[0])) for chunk_id in asked]
        return sorted(found, key=lambda each: (-each[1], each[0]))[:count]

    def __len__(self) -> int:
        """How many."""
        return len(self.known)

    def close(self) -> None:
        self.known.clear()


@dataclass
class MemoryIndex:
    """Chunks in a list; the words' score is the sum of the rarity of the words found."""

    stored: list[StoredChunk] = field(default_factory=list[StoredChunk])
    rows: dict[int, Row] = field(default_factory=dict[int, Row])
    fetched: list[int] = field(default_factory=list[int])

    def put(self, file: str, texts: Sequence[str], headings: tuple[str, ...] = ()) -> list[int]:
        """Chunks of one document, ten lines apart; their ids."""
        ids: list[int] = []
        start = 0
        for ordinal, text in enumerate(texts):
            chunk = Chunk(text, start, start + len(text), 10 * ordinal + 1, None, headings)
            ids.append(len(self.stored) + 1)
            self.stored.append(StoredChunk(ids[-1], file, ordinal, chunk))
            start += len(text) + 2
        return ids

    def embed(self, embedder: WordCountEmbedder, vectors: ExactVectors) -> None:
        """Vectors for all chunks."""
        for each in self.stored:
            self.rows[each.chunk_id] = embedder.embed_passages([each.chunk.text])[0]
        vectors.add(list(self.rows), np.stack(list(self.rows.values())))

    def search_words(self, query: str, count: int, file: str | None = None) -> list[WordHit]:
        texts = {each.chunk_id: {*each.chunk.text.lower().split()} for each in self.stored}
        frequency = Counter(word for words in texts.values() for word in words)
        asked = {*query.lower().split()}
        hits: list[WordHit] = []
        for each in self.stored:
            common = asked & texts[each.chunk_id]
            if common and file in (None, each.file):
                score = sum(math.log(1 + len(texts) / frequency[word]) for word in common)
                rare = any(frequency[word] <= RARE_SHARE * len(texts) for word in common)
                hits.append(WordHit(each.chunk_id, score, rare))
        return sorted(hits, key=lambda hit: -hit.score)[:count]

    def full_match(self, query: str) -> float:
        return sum(self._rarity(word) for word in {*query.lower().split()})

    def _rarity(self, word: str) -> float:
        held = sum(word in each.chunk.text.lower().split() for each in self.stored)
        return math.log(1 + len(self.stored) / max(held, 0.5))

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        self.fetched += chunk_ids
        wanted = {*chunk_ids}
        return [each for each in self.stored if each.chunk_id in wanted]

    def vectors(self, chunk_ids: Sequence[int]) -> "tuple[list[int], Vectors]":
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in self.rows]
        rows = [self.rows[chunk_id] for chunk_id in known]
        return known, np.stack(rows) if rows else np.zeros((0, 1), dtype=np.float32)

    def chunk_ids(self, file: str) -> list[int]:
        return [each.chunk_id for each in self.stored if each.file == file]
