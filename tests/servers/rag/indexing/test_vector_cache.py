"""Vectors that are loaded in the background while a search waits for them."""

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from servers.rag.errors import VectorsUnavailable
from servers.rag.index.index import Index
from servers.rag.indexing.indexer import cut_by_structure
from servers.rag.indexing.vector_cache import VectorCache
from servers.rag.library.engine import STILL_LOADING, STILL_STARTING, Engine, Parts, open_engine
from servers.rag.library.library import tell_nobody
from servers.rag.vectors.opening import open_vectors
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


@contextmanager
def opened_again(home: Path, embedder: LetterEmbedder, ready_seconds: float) -> Generator[Engine]:
    """A session in the background on an index that an earlier one has filled."""
    chosen = options(home)
    write(home / "documents/apple.md", "# Apple\n\nAn orchard of apples.")

    def parts(embedder: LetterEmbedder) -> Parts:
        return Parts(PlainExtractor(), embedder, cut_by_structure, "plain")

    with closing(open_engine(chosen, parts(LetterEmbedder()), {}, tell_nobody)) as earlier:
        earlier.sync()
    session = open_engine(chosen, parts(embedder), {}, tell_nobody, ready_seconds)
    with closing(session):
        session.start()
        yield session


def test_the_first_search_of_a_process_goes_by_meaning_too(tmp_path: Path) -> None:
    with opened_again(tmp_path, LetterEmbedder(), SOON_SECONDS) as session:
        found = session.search("orchard", 5, None, "hybrid")
    assert found.passages[0].cosine is not None
    assert found.note == ""


def test_an_embedder_that_takes_too_long_to_start_is_named_as_what_is_missing(
    tmp_path: Path,
) -> None:
    embedder = LetterEmbedder()
    embedder.starting.clear()
    with opened_again(tmp_path, embedder, ready_seconds=0) as session:
        assert eventually(lambda: session.cache is not None and session.cache.store is not None)
        found = session.search("orchard", 5, None, "hybrid")
        assert session.search("orchard", 5, None, "words").note == ""
        embedder.starting.set()
        assert eventually(lambda: not session.search("orchard", 5, None, "hybrid").note)
    assert found.passages[0].file == "apple.md"
    assert found.note == f"Searched by words alone: {STILL_STARTING}."


def test_words_alone_load_no_vectors(tmp_path: Path) -> None:
    with opened_again(tmp_path, LetterEmbedder(), 0) as started:
        parts = Parts(PlainExtractor(), LetterEmbedder(), cut_by_structure, "plain")
        with closing(open_engine(options(tmp_path), parts, {}, tell_nobody)) as session:
            assert started.index.counts().chunks == 1
            assert session.search("orchard", 5, None, "words").note == ""
            assert session.cache is not None
            assert session.cache.store is None
            assert STILL_LOADING not in session.search("orchard", 5, None, "hybrid").note
