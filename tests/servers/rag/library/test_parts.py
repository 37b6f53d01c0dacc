"""What the options mean: which embedder, which way of cutting, which index of vectors."""

from pathlib import Path

import numpy as np
import pytest

from servers.rag.errors import EmbedderUnavailable, OptionsError, VectorsSettingError
from servers.rag.library.parts import open_embedder, open_parts, open_vectors
from servers.reading.source import Extracted
from tests.servers.rag.indexing.doubles import options


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


def test_topics_are_asked_of_ollama_and_structure_decides_where_it_is_not_there(
    tmp_path: Path,
) -> None:
    chosen = options(tmp_path, chunking="llm", embedder="none")
    with pytest.raises(OptionsError, match="OLLAMA_HOST"):
        open_parts(chosen, {"OLLAMA_HOST": "ftp://nowhere"})

    parts = open_parts(chosen, {"OLLAMA_HOST": "127.0.0.1:1"})

    text = "# One\n\n" + "A sentence of some words stands here. " * 60
    assert "".join(c.text.strip() for c in parts.cut(Extracted(text)).chunks).startswith("# One")
    assert parts.recipe != open_parts(options(tmp_path, embedder="none"), {}).recipe
    parts.extractor.close()


def test_the_setting_faiss_opens_it_and_an_unknown_one_is_refused_with_those_there_are() -> None:
    vector = np.array([[0.6, 0.8]], dtype=np.float32)
    store = open_vectors("faiss", 2, {})
    store.add([1], vector)
    assert store.search(vector, 1) == [(1, pytest.approx(1, abs=1e-3))]
    with pytest.raises(VectorsSettingError, match="'hnsw' is not known; say faiss, milvus:"):
        open_vectors("hnsw", 2, {})
