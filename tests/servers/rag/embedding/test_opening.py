"""Which embedder a setting means."""

import pytest

from servers.rag.embedding.opening import open_embedder
from servers.rag.errors import EmbedderUnavailable, OptionsError


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
