"""The index in memory: it keeps the contract in each of its kinds, and goes from one to another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_ident
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from servers.rag.vectors import Filled, fill, open_vectors
from servers.rag.vectors.errors import VectorsSettingError
from servers.rag.vectors.faiss_index import ROWS_A_TURN, FaissIndex
from servers.rag.vectors.faiss_kinds import Limits
from servers.rag.vectors.faiss_types import IdMap, Index, Library, load_faiss
from tests.servers.rag.vectors.contract import CHECKS, DIMENSION, Open, unit_vectors
from tests.servers.rag.vectors.exact_index import ExactIndex

WAIT_SECONDS = 5.0

STORES: dict[str, Open] = {
    "exact": lambda: ExactIndex(DIMENSION),
    "flat": lambda: FaissIndex(DIMENSION),
    "fp16": lambda: FaissIndex(DIMENSION, Limits(flat=0)),
    "ivf-sq8": lambda: FaissIndex(DIMENSION, Limits(flat=0, fp16=0)),
    "changing": lambda: FaissIndex(DIMENSION, Limits(flat=15, fp16=45)),
}


class FaissWith:
    """FAISS, with one of its functions replaced."""

    def __init__(self, **replaced: Callable[..., object]) -> None:
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> object:
        """What is not replaced."""
        return getattr(load_faiss(), name)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_contract_of_an_index_of_vectors(check: str, store: str) -> None:
    CHECKS[check](STORES[store])


def test_it_grows_and_shrinks_between_its_kinds_and_still_finds_everything() -> None:
    vectors = unit_vectors(400)
    index = FaissIndex(DIMENSION, Limits(flat=100, fp16=200))
    kinds: list[str] = []

    def look(held: range) -> None:
        kinds.append(index.description.removeprefix("faiss, "))
        assert sorted(index.chunk_ids().tolist()) == list(held)
        for place in (held[0], held[-1]):
            ((best, cosine),) = index.search(vectors[place][None], 1)
            assert (best, cosine) == (place, pytest.approx(1, abs=0.02))

    for start, stop in ((0, 100), (100, 101), (101, 200), (200, 201), (201, 400)):
        index.add(range(start, stop), vectors[start:stop])
        look(range(stop))
    for start, stop in ((0, 210), (210, 250), (250, 310), (310, 330)):
        index.remove(range(start, stop))
        look(range(stop, 400))
    grown = ["flat", "fp16", "fp16", "ivf-sq8", "ivf-sq8"]
    shrunk = ["ivf-sq8", "fp16", "fp16", "flat"]  # 190 and 90 are near the limits: it stays
    assert kinds == grown + shrunk


def test_clusters_are_found_anew_when_there_are_many_times_more() -> None:
    made: list[int] = []

    def counted(*arguments: object) -> object:
        made.append(cast("int", arguments[2]))
        make = cast("Callable[..., object]", load_faiss().IndexIVFScalarQuantizer)
        return make(*arguments)

    faiss = cast("Library", FaissWith(IndexIVFScalarQuantizer=counted))
    index = FaissIndex(DIMENSION, Limits(flat=0, fp16=0), faiss)
    vectors = unit_vectors(450)
    index.add(range(100), vectors[:100])
    index.add(range(100, 400), vectors[100:400])
    assert len(made) == 1
    index.add(range(400, 450), vectors[400:])
    assert len(made) == 2
    assert made[1] > made[0]
    assert index.search(vectors[3][None], 1)[0][0] == 3
    index.remove([3])
    assert len(index) == 449


def test_filling_puts_off_the_clusters_until_it_is_settled() -> None:
    vectors = unit_vectors(300)
    index = FaissIndex(DIMENSION, Limits(flat=100, fp16=200))
    batches = [(range(i, i + 50), vectors[i : i + 50]) for i in range(0, 300, 50)]
    assert fill(index, batches) == Filled(added=300, removed=0)
    assert index.description == "faiss, fp16"
    assert index.search(vectors[299][None], 1)[0][0] == 299
    index.settle()
    assert index.description == "faiss, ivf-sq8"
    assert sorted(index.chunk_ids().tolist()) == list(range(300))
    assert fill(index, batches[1:]) == Filled(added=0, removed=50)
    assert (index.description, len(index)) == ("faiss, ivf-sq8", 250)


def test_a_search_goes_on_while_another_kind_is_built() -> None:
    building, searched = Event(), Event()

    def slowly(*arguments: object) -> object:
        building.set()
        assert searched.wait(WAIT_SECONDS), "the search waited for what is built"
        return cast("Callable[..., object]", load_faiss().IndexScalarQuantizer)(*arguments)

    faiss = cast("Library", FaissWith(IndexScalarQuantizer=slowly))
    index = FaissIndex(DIMENSION, Limits(flat=50), faiss)
    vectors = unit_vectors(60)
    with ThreadPoolExecutor(1) as pool:
        added = pool.submit(index.add, range(60), vectors)
        assert building.wait(WAIT_SECONDS)
        assert index.search(vectors[55][None], 1)[0][0] == 55
        assert index.description == "faiss, flat"
        searched.set()
        added.result(WAIT_SECONDS)
    assert index.description == "faiss, fp16"


def test_a_large_addition_is_taken_up_part_by_part() -> None:
    sizes: list[int] = []

    class Watched:
        def __init__(self, index: IdMap) -> None:
            self._index = index

        def __getattr__(self, name: str) -> object:
            """All else."""
            return getattr(self._index, name)

        def add_with_ids(self, x: NDArray[np.float32], ids: NDArray[np.int64]) -> None:
            sizes.append(len(ids))
            self._index.add_with_ids(x, ids)

    def watched(rows: Index) -> Watched:
        return Watched(load_faiss().IndexIDMap(rows))

    index = FaissIndex(DIMENSION, faiss=cast("Library", FaissWith(IndexIDMap=watched)))
    count = 2 * ROWS_A_TURN + 5
    index.add(range(count), unit_vectors(count))
    assert sizes == [ROWS_A_TURN, ROWS_A_TURN, 5]


def test_each_thread_that_searches_is_held_to_one_thread_of_faiss() -> None:
    bounds: list[tuple[int, int]] = []

    def bound(threads: int) -> None:
        bounds.append((get_ident(), threads))
        load_faiss().omp_set_num_threads(threads)

    index = FaissIndex(DIMENSION, faiss=cast("Library", FaissWith(omp_set_num_threads=bound)))
    vectors = unit_vectors(5)
    index.add(range(5), vectors)
    bounds.clear()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(index.search, vectors[:1], 1).result(WAIT_SECONDS)
        assert bounds == [(pool.submit(get_ident).result(WAIT_SECONDS), 1)]


def test_a_closed_index_holds_nothing() -> None:
    index = FaissIndex(DIMENSION)
    index.add([4], unit_vectors(1))
    index.close()
    assert (len(index), index.search(unit_vectors(1), 1)) == (0, [])


def test_the_setting_faiss_opens_it_and_an_unknown_one_is_refused_with_those_there_are() -> None:
    store = open_vectors("faiss", DIMENSION, {})
    store.add([1], unit_vectors(1))
    assert store.search(unit_vectors(1), 1) == [(1, pytest.approx(1, abs=1e-6))]
    with pytest.raises(VectorsSettingError, match="'hnsw' is not known; say faiss, milvus:"):
        open_vectors("hnsw", DIMENSION, {})


def test_a_vector_of_nothing_is_near_to_nothing() -> None:
    index = FaissIndex(DIMENSION)
    index.add([1, 2], np.stack([unit_vectors(1)[0], np.zeros(DIMENSION, dtype=np.float32)]))
    assert index.search(unit_vectors(1), 2)[1] == (2, 0.0)
