"""The index in memory: it keeps the contract in each of its kinds, and goes from one to another."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import faiss
import numpy as np
import pytest

from servers.rag.vectors.faiss_index import ROWS_AT_ONCE, ClustersInFaiss, FaissIndex
from servers.rag.vectors.store import Rows, VectorStore, fill
from tests.servers.rag.vectors.contract import CHECKS, DIMENSION, Open, Vectors, unit_vectors
from tests.servers.rag.vectors.exact_index import ExactIndex

WAIT_SECONDS = 5.0


def clusters_from_the_start() -> VectorStore:
    """Trained on what is removed at once."""
    index = FaissIndex(DIMENSION, rows_max=-1)
    index.add(range(400), unit_vectors(400))
    index.settle()
    assert index.description == "faiss, ivf-sq8"
    index.remove(range(400))
    return index


class Restless(FaissIndex):
    """Settles after each change, as `VectorCache` has it."""

    def add(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        super().add(chunk_ids, vectors)
        self.settle()

    def remove(self, chunk_ids: Sequence[int]) -> None:
        super().remove(chunk_ids)
        self.settle()


STORES: dict[str, Open] = {
    "exact": lambda: ExactIndex(DIMENSION),
    "fp16": lambda: FaissIndex(DIMENSION),
    "ivf-sq8": clusters_from_the_start,
    "changing": lambda: Restless(DIMENSION, rows_max=45),
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_contract_of_an_index_of_vectors(check: str, store: str) -> None:
    CHECKS[check](STORES[store])


def test_it_grows_and_shrinks_between_its_kinds_and_still_finds_everything() -> None:
    vectors = unit_vectors(400)
    index = Restless(DIMENSION, rows_max=200)
    kinds: list[str] = []

    def look(held: range) -> None:
        kinds.append(index.description.removeprefix("faiss, "))
        assert sorted(index.chunk_ids().tolist()) == list(held)
        for place in (held[0], held[-1]):
            ((best, cosine),) = index.search(vectors[place][None], 1)
            assert (best, cosine) == (place, pytest.approx(1, abs=0.02))

    for start, stop in ((0, 200), (200, 201), (201, 400)):
        index.add(range(start, stop), vectors[start:stop])
        look(range(stop))
    for start, stop in ((0, 210), (210, 250), (250, 330)):
        index.remove(range(start, stop))
        look(range(stop, 400))
    # 190 are near the limit: it stays.
    assert kinds == ["fp16", "ivf-sq8", "ivf-sq8", "ivf-sq8", "fp16", "fp16"]


def test_clusters_are_outgrown_by_many_times_more_and_then_found_anew() -> None:
    vectors = unit_vectors(450)
    trained: list[int] = []

    def train(training: Vectors, expected: int, searched: int) -> ClustersInFaiss:
        trained.append(expected)
        return ClustersInFaiss(training, expected, searched)

    index = Restless(DIMENSION, rows_max=50, train=train)
    for start, stop in ((0, 100), (100, 400), (400, 450)):
        index.add(range(start, stop), vectors[start:stop])
    assert trained == [100, 450]
    assert index.search(vectors[3][None], 1)[0][0] == 3
    index.remove([3])
    assert len(index) == 449


def test_filling_puts_off_the_clusters_until_it_is_settled() -> None:
    vectors = unit_vectors(300)
    index = FaissIndex(DIMENSION, rows_max=200)
    batches = [(range(i, i + 50), vectors[i : i + 50]) for i in range(0, 300, 50)]
    fill(index, batches)
    assert index.description == "faiss, fp16"
    assert index.search(vectors[299][None], 1)[0][0] == 299
    index.settle()
    assert index.description == "faiss, ivf-sq8"
    assert sorted(index.chunk_ids().tolist()) == list(range(300))
    fill(index, batches[1:])
    assert (index.description, len(index)) == ("faiss, ivf-sq8", 250)


def test_a_search_goes_on_while_another_kind_is_built() -> None:
    building, searched = Event(), Event()

    def slowly(training: Vectors, expected: int, clusters: int) -> ClustersInFaiss:
        building.set()
        assert searched.wait(WAIT_SECONDS), "the search waited for what is built"
        return ClustersInFaiss(training, expected, clusters)

    index = FaissIndex(DIMENSION, rows_max=50, train=slowly)
    vectors = unit_vectors(60)
    index.add(range(60), vectors)
    with ThreadPoolExecutor(1) as pool:
        settled = pool.submit(index.settle)
        assert building.wait(WAIT_SECONDS)
        assert index.search(vectors[55][None], 1)[0][0] == 55
        assert index.description == "faiss, fp16"
        searched.set()
        settled.result(WAIT_SECONDS)
    assert index.description == "faiss, ivf-sq8"


def test_a_large_addition_is_taken_up_part_by_part() -> None:
    sizes: list[int] = []

    class Watched(ClustersInFaiss):
        def add(self, rows: Rows) -> None:
            sizes.append(len(rows))
            super().add(rows)

    index = FaissIndex(DIMENSION, rows_max=0, train=Watched)
    index.add([0], unit_vectors(1))
    index.settle()
    count = 2 * ROWS_AT_ONCE + 5
    index.add(range(1, count + 1), unit_vectors(count))
    assert sizes == [1, ROWS_AT_ONCE, ROWS_AT_ONCE, 5]


def test_each_thread_that_searches_is_held_to_one_thread_of_faiss() -> None:
    index = FaissIndex(DIMENSION)
    vectors = unit_vectors(5)
    index.add(range(5), vectors)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(index.search, vectors[:1], 1).result(WAIT_SECONDS)
        assert pool.submit(faiss.omp_get_max_threads).result(WAIT_SECONDS) == 1


def test_a_closed_index_holds_nothing() -> None:
    index = FaissIndex(DIMENSION)
    index.add([4], unit_vectors(1))
    index.close()
    assert (len(index), index.search(unit_vectors(1), 1)) == (0, [])


def test_a_vector_of_nothing_is_near_to_nothing() -> None:
    index = FaissIndex(DIMENSION)
    index.add([1, 2], np.stack([unit_vectors(1)[0], np.zeros(DIMENSION, dtype=np.float32)]))
    assert index.search(unit_vectors(1), 2)[1] == (2, 0.0)
