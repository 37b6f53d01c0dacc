"""What every index of vectors must do, whichever it is.

Plain functions without pytest: `tests/real` runs them over Milvus Lite in an environment of its
own. Each takes a function that opens a new, empty store for vectors of `DIMENSION` numbers.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from servers.rag.errors import VectorsRefused
from servers.rag.vectors.store import VectorStore, fill
from tests.servers.rag.vectors.exact_index import ExactIndex

Vectors: TypeAlias = NDArray[np.float32]
Open: TypeAlias = Callable[[], VectorStore]

DIMENSION = 16
COSINE_TOLERANCE = 0.02
"""What 8 bits a number may change in so short a vector."""


def unit_vectors(count: int, seed: int = 1) -> Vectors:
    """Random directions, shape (count, DIMENSION)."""
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSION), dtype=np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def found_ids(store: VectorStore, query: Vectors, count: int) -> list[int]:
    return [chunk_id for chunk_id, _ in store.search(query, count)]


def the_nearest_are_found_best_first(open_store: Open) -> None:
    vectors, ids = unit_vectors(300), range(1000, 1300)
    store, exact = open_store(), ExactIndex(DIMENSION)
    for index in (store, exact):
        index.add(ids, vectors)
    for query in unit_vectors(5, seed=2):
        found = store.search(query[None], 10)
        reference = dict(exact.search(query[None], 300))
        best = sorted(reference.values(), reverse=True)[:10]
        assert [cosine for _, cosine in found] == sorted((c for _, c in found), reverse=True)
        assert np.allclose([cosine for _, cosine in found], best, atol=COSINE_TOLERANCE)
        assert np.allclose([reference[i] for i, _ in found], best, atol=COSINE_TOLERANCE)


def a_known_id_gets_its_new_vector(open_store: Open) -> None:
    vectors = unit_vectors(40)
    store = open_store()
    store.add(range(40), vectors)
    store.add([7, 90], np.stack([vectors[8], vectors[9]]))
    assert len(store) == 41
    assert set(found_ids(store, vectors[8][None], 2)) == {7, 8}
    assert 7 not in found_ids(store, vectors[7][None], 5)


def an_id_that_comes_twice_gets_its_last_vector(open_store: Open) -> None:
    vectors = unit_vectors(3)
    store = open_store()
    store.add([5, 6, 5], vectors)
    assert len(store) == 2
    assert found_ids(store, vectors[2][None], 1) == [5]


def what_was_removed_is_not_found(open_store: Open) -> None:
    vectors = unit_vectors(40)
    store = open_store()
    store.add(range(40), vectors)
    store.remove([3, 4, 12_345])
    store.remove([])
    assert len(store) == 38
    assert not {3, 4} & set(found_ids(store, vectors[3][None], 40))
    store.remove(range(40))
    assert len(store) == 0
    assert store.search(vectors[:1], 5) == []


def a_search_among_some_gives_only_those(open_store: Open) -> None:
    vectors = unit_vectors(60)
    store = open_store()
    store.add(range(60), vectors)
    found = store.search(vectors[:1], 50, among=[59, 0, 30, 777])
    assert found[0][0] == 0
    assert {chunk_id for chunk_id, _ in found} == {0, 30, 59}
    assert len(store.search(vectors[:1], 2, among=[59, 0, 30])) == 2
    assert store.search(vectors[:1], 5, among=[]) == []
    assert store.search(vectors[:1], 5, among=[777]) == []


def more_than_there_are_gives_all_and_none_gives_none(open_store: Open) -> None:
    store = open_store()
    assert (len(store), store.search(unit_vectors(1), 5)) == (0, [])
    store.add([1, 2], unit_vectors(2))
    assert len(store.search(unit_vectors(1), 50)) == 2
    assert store.search(unit_vectors(1), 0) == []
    store.add([], unit_vectors(0))
    assert len(store) == 2


def ids_of_any_size_are_kept(open_store: Open) -> None:
    store = open_store()
    store.add([0, 2**40, 2**62], unit_vectors(3))
    assert sorted(store.chunk_ids().tolist()) == [0, 2**40, 2**62]
    assert sorted(found_ids(store, unit_vectors(1), 3)) == [0, 2**40, 2**62]


def vectors_that_cannot_be_compared_are_refused(open_store: Open) -> None:
    store, good = open_store(), unit_vectors(2)
    holed = good.copy()
    holed[1, 3] = np.nan
    endless = good.copy()
    endless[0, 0] = np.inf
    wrong: list[tuple[Sequence[int], Vectors]] = [
        ([1, 2], holed),
        ([1, 2], endless),
        ([1, 2], good * 2),
        ([1, 2], good[:, :-1]),
        ([1, 2], good[0]),
        ([1, 2, 3], good),
        ([1, -2], good),
    ]
    for ids, vectors in wrong:
        assert _refuses(lambda ids=ids, vectors=vectors: store.add(ids, vectors)), (ids, vectors)
    assert len(store) == 0
    for query in (holed[1:], good, good[0], good[:1, :-1]):
        assert _refuses(lambda query=query: store.search(query, 1)), query


def it_is_brought_up_to_the_truth(open_store: Open) -> None:
    vectors = unit_vectors(50)
    store = open_store()
    store.add([*range(20), 900, 901], vectors[:22])
    batches = [
        (range(start, start + 10), vectors[start : start + 10]) for start in range(0, 50, 10)
    ]
    for _ in range(2):
        fill(store, batches)
        assert sorted(store.chunk_ids().tolist()) == list(range(50))
    fill(store, [])
    assert len(store) == 0


def several_threads_change_and_search_at_once(open_store: Open) -> None:
    vectors = unit_vectors(400)
    store = open_store()
    store.add(range(100), vectors[:100])

    def change(start: int) -> None:
        for place in range(start, start + 100, 20):
            store.add(range(place, place + 20), vectors[place : place + 20])
            store.remove([place])

    def search(_: int) -> int:
        return store.search(vectors[50:51], 1)[0][0]

    with ThreadPoolExecutor(4) as pool:
        changes = [pool.submit(change, start) for start in (100, 200, 300)]
        assert set(pool.map(search, range(30))) == {50}
        for change_made in changes:
            change_made.result()
    assert len(store) == 400 - 15


def _refuses(call: Callable[[], object]) -> bool:
    try:
        call()
    except VectorsRefused:
        return True
    return False


CHECKS: dict[str, Callable[[Open], None]] = {
    check.__name__: check
    for check in (
        the_nearest_are_found_best_first,
        a_known_id_gets_its_new_vector,
        an_id_that_comes_twice_gets_its_last_vector,
        what_was_removed_is_not_found,
        a_search_among_some_gives_only_those,
        more_than_there_are_gives_all_and_none_gives_none,
        ids_of_any_size_are_kept,
        vectors_that_cannot_be_compared_are_refused,
        it_is_brought_up_to_the_truth,
        several_threads_change_and_search_at_once,
    )
}
