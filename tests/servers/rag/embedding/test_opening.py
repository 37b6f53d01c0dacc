"""Which embedder a setting means, and the queries that are remembered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from servers.rag.embedding import open_embedder
from servers.rag.embedding.opening import REMEMBERED_QUERIES, RememberedQueries
from servers.rag.errors import EmbedderUnavailable
from servers.rag.library.options import OptionsError

if TYPE_CHECKING:
    from servers.rag.ports import Vectors


class CountingEmbedder:
    """Its vectors are lengths; it counts the queries."""

    name, fingerprint, dimension = "counting", "1", 1

    def __init__(self) -> None:
        self.queries = 0
        self.is_closed = self.is_started = False

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> "Vectors":
        self.queries += 1
        return self.embed_passages([text])

    def start(self) -> None:
        self.is_started = True

    def close(self) -> None:
        self.is_closed = True


def test_none_is_none_and_the_others_are_what_they_are_called() -> None:
    assert open_embedder("none", {}) is None
    for name in ("auto", "minilm"):
        embedder = open_embedder(name, {})
        assert embedder is not None
        assert (embedder.name, embedder.dimension) == ("minilm", 384)
    gemini = open_embedder("gemini:gemini-embedding-001", {"GEMINI_API_KEY": "k"})
    assert gemini is not None
    assert (gemini.name, gemini.dimension) == ("gemini:gemini-embedding-001", 768)


@pytest.mark.parametrize(
    "name",
    [
        *("", "bert", "auto:x", "minilm:l12", "ollama", "ollama:", "gemini:", "none:", "x" * 500),
        *("ollama:a b", "gemini:../../x?y"),
    ],
)
def test_an_embedder_that_is_not_there_is_named_with_those_that_are(name: str) -> None:
    with pytest.raises(OptionsError, match="embedder: ") as caught:
        open_embedder(name, {"GEMINI_API_KEY": "k"})
    assert len(str(caught.value)) < 200


def test_what_can_not_be_used_says_so_at_once() -> None:
    with pytest.raises(EmbedderUnavailable, match="searching by words goes on"):
        open_embedder("gemini:gemini-embedding-001", {})


def test_a_query_is_computed_once_and_can_not_be_spoilt() -> None:
    counting = CountingEmbedder()
    embedder = RememberedQueries(counting)
    first = embedder.embed_query("lamp")
    assert embedder.embed_query("lamp") is first
    assert counting.queries == 1
    embedder.start()
    assert counting.is_started
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 9
    embedder.close()
    assert counting.is_closed


def test_only_the_last_queries_are_remembered_and_no_huge_ones() -> None:
    counting = CountingEmbedder()
    embedder = RememberedQueries(counting)
    for number in range(REMEMBERED_QUERIES + 1):
        embedder.embed_query(str(number))
        embedder.embed_query("often")
    counting.queries = 0
    embedder.embed_query("often")
    embedder.embed_query("0")
    assert counting.queries == 1
    for _ in range(2):
        embedder.embed_query("x" * 10_000)
    assert counting.queries == 3
