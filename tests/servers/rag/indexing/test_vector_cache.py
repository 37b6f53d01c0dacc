"""Vectors that are loaded in the background while a search waits for them."""

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from servers.rag.chunking.chunker import cut_by_structure
from servers.rag.errors import VectorsUnavailable
from servers.rag.index.index import Index
from servers.rag.indexing.vector_cache import VectorCache
from servers.rag.library.library import STILL_LOADING, STILL_STARTING, DocumentLibrary
from servers.rag.library.parts import Parts, open_vectors
from servers.rag.vectors.store import VectorStore
from tests.servers.rag.index.made import put
from tests.servers.rag.indexing.doubles import (
    SOON_SECONDS,
    LetterEmbedder,
    PlainExtractor,
    eventually,
    options,
    write,
)

EMBEDDER = LetterEmbedder()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(Index.open(tmp_path / "index", EMBEDDER.fingerprint)) as opened:
        put_embedded(opened, "apple.md", "an orchard")
        yield opened


def put_embedded(index: Index, file: str, text: str) -> None:
    index.set_vectors(put(index, file, text), EMBEDDER.embed_passages([text]))


def open_store(_: str) -> VectorStore:
    return open_vectors("faiss", EMBEDDER.dimension)


def test_who_waits_gets_what_is_stored_though_it_is_loaded_on_another_thread(index: Index) -> None:
    waiting = threading.Event()

    def open_late(identity: str) -> VectorStore:
        assert waiting.wait(SOON_SECONDS)
        return open_store(identity)

    cache = VectorCache(index, open_late)
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(cache.step)
        cache.wait(0)
        assert cache.store is None
        waiting.set()
        cache.wait(SOON_SECONDS)
        assert cache.store is not None
        assert len(cache.store) == 1
        loading.result(SOON_SECONDS)
    cache.close()


def test_who_waits_gets_what_was_written_just_before(index: Index) -> None:
    cache = VectorCache(index, open_store)
    cache.step()
    put_embedded(index, "zebra.md", "zigzag")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(cache.wait, SOON_SECONDS)
        cache.step()
        waiting.result(SOON_SECONDS)
    assert cache.store is not None
    assert len(cache.store) == 2
    cache.close()


def test_nobody_waits_for_vectors_that_cannot_be_had(index: Index) -> None:
    def fail(_: str) -> VectorStore:
        raise VectorsUnavailable("Milvus does not answer")

    cache = VectorCache(index, fail)
    with pytest.raises(VectorsUnavailable):
        cache.step()
    cache.wait(SOON_SECONDS)
    assert cache.failure == "Milvus does not answer"


def opened(home: Path, embedder: LetterEmbedder, ready_seconds: float = 0) -> DocumentLibrary:
    parts = Parts(PlainExtractor(), lambda: embedder, cut_by_structure, "plain")
    return DocumentLibrary.open(options(home), {}, parts=parts, ready_seconds=ready_seconds)


@contextmanager
def opened_again(
    home: Path, embedder: LetterEmbedder, ready_seconds: float
) -> Generator[DocumentLibrary]:
    """A library in the background on an index that an earlier one has filled."""
    write(home / "documents/apple.md", "# Apple\n\nAn orchard of apples.")
    with closing(opened(home, LetterEmbedder())) as earlier:
        earlier.sync()
    with closing(opened(home, embedder, ready_seconds)) as library:
        library.start()
        yield library


def test_the_first_search_of_a_process_goes_by_meaning_too(tmp_path: Path) -> None:
    with opened_again(tmp_path, LetterEmbedder(), SOON_SECONDS) as library:
        found = library.search("orchard")
    assert found.passages[0].cosine is not None
    assert found.note == ""


def test_an_embedder_that_takes_too_long_to_start_is_named_as_what_is_missing(
    tmp_path: Path,
) -> None:
    embedder = LetterEmbedder()
    embedder.starting.clear()
    with opened_again(tmp_path, embedder, ready_seconds=0) as library:
        assert eventually(lambda: library.status().vectors != "")
        found = library.search("orchard")
        assert library.search("orchard", mode="words").note == ""
        embedder.starting.set()
        assert eventually(lambda: not library.search("orchard").note)
    assert found.passages[0].file == "apple.md"
    assert found.note == f"Searched by words alone: {STILL_STARTING}."


def test_words_alone_load_no_vectors(tmp_path: Path) -> None:
    with (
        opened_again(tmp_path, LetterEmbedder(), 0),
        closing(opened(tmp_path, LetterEmbedder())) as library,
    ):
        assert library.search("orchard", mode="words").note == ""
        assert library.status().vectors == ""
        assert STILL_LOADING not in library.search("orchard").note
