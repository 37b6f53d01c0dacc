"""Vectors: kept, streamed, followed from another process, dropped when made by something else."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from servers.rag.index.connections import connect
from servers.rag.index.index import Index
from servers.rag.index.schema import cut_log
from servers.rag.ports import Vectors
from tests.servers.rag.index.made import FINGERPRINT, put

DIMENSION = 384


def unit_vectors(count: int, seed: int = 1) -> Vectors:
    """Random vectors of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_vectors_come_back_by_id_with_hardly_a_loss(index: Index) -> None:
    ids = put(index, "a.md", "one", "two", "three")
    vectors = unit_vectors(3)
    index.set_vectors(ids[:2], vectors[:2])
    known, read = index.vectors([ids[1], 999, ids[2], ids[0]])
    assert known == [ids[1], ids[0]]
    assert read.dtype == np.float32
    asked = unit_vectors(50, seed=2)
    assert float(np.abs(asked @ read.T - asked @ vectors[[1, 0]].T).max()) < 1e-4
    assert index.chunks_without_vectors(10) == [(ids[2], "three")]
    assert index.counts().chunks_without_vectors == 1


def test_nothing_asked_gives_nothing(index: Index) -> None:
    known, read = index.vectors([])
    assert (known, len(read)) == ([], 0)
    assert list(index.all_vectors()) == []


def test_chunks_that_stay_keep_their_vectors(index: Index) -> None:
    ids = put(index, "a.md", "one", "two")
    index.set_vectors(ids, unit_vectors(2))
    new = put(index, "a.md", "two", "three")
    assert [text for _, text in index.chunks_without_vectors(10)] == ["three"]
    index.rename_document("a.md", "b.md", "/b.md", 5)
    assert index.vectors(new)[0] == [new[0]]


def test_vectors_that_do_not_fit_are_refused_and_change_nothing(index: Index) -> None:
    ids = put(index, "a.md", "one", "two")
    with pytest.raises(ValueError, match="as many vectors"):
        index.set_vectors(ids, unit_vectors(3))
    broken = unit_vectors(2)
    broken[1, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        index.set_vectors(ids, broken)
    assert index.counts().chunks_without_vectors == 2


def test_all_vectors_are_streamed_in_order(index: Index) -> None:
    ids = put(index, "a.md", *(f"text {number}" for number in range(10)))
    vectors = unit_vectors(10)
    index.set_vectors(ids, vectors)
    index.set_vectors([999], vectors[:1])
    batches = list(index.all_vectors(batch=4))
    assert [len(each) for each, _ in batches] == [4, 4, 2]
    assert np.concatenate([each for each, _ in batches]).tolist() == ids
    assert np.allclose(np.concatenate([rows for _, rows in batches]), vectors, atol=1e-3)


def test_another_process_can_follow_what_happens(tmp_path: Path, index: Index) -> None:
    ids = put(index, "a.md", "one", "two", "three")
    reader = Index.open(tmp_path, FINGERPRINT, writer=False)
    seen = reader.counter
    index.set_vectors(ids, unit_vectors(3))
    first = reader.changes_since(seen)
    assert (first.changed, first.removed, first.complete) == (tuple(ids), (), True)
    new = put(index, "a.md", "one", "four")
    second = reader.changes_since(first.counter)
    assert (second.changed, second.removed) == ((), (ids[1], ids[2]))
    index.set_vectors([new[1]], unit_vectors(1))
    index.remove_document("a.md")
    third = reader.changes_since(second.counter)
    assert (third.changed, third.removed) == ((), (ids[0], new[1]))
    assert reader.changes_since(third.counter) == third.__class__(third.counter, (), ())
    assert not reader.changes_since(third.counter + 1).complete
    reader.close()


def test_who_is_behind_the_log_of_changes_is_told_to_start_anew(index: Index) -> None:
    ids = put(index, "a.md", "one", "two")
    start = index.counter
    for _ in range(5):
        index.set_vectors(ids, unit_vectors(2))
    assert index.changes_since(start).complete
    with closing(connect(index.path)) as connection:
        cut_log(connection, kept=4)
    assert not index.changes_since(start).complete
    recent = index.changes_since(index.counter - 1)
    assert (recent.changed, recent.complete) == (tuple(ids), True)


def test_another_embedder_drops_the_vectors_and_says_so(tmp_path: Path, index: Index) -> None:
    ids = put(index, "a.md", "one", "two")
    index.set_vectors(ids, unit_vectors(2))
    seen = index.counter
    other = Index.open(tmp_path, "nomic-2")
    assert "from counting-1 to nomic-2" in other.notice
    assert "2 chunks are embedded again" in other.notice
    assert other.counts().chunks_without_vectors == 2
    assert other.chunk_ids("a.md") == ids
    # Whoever has the old embedder is not given vectors of the new one.
    other.set_vectors(ids, unit_vectors(2, seed=3))
    assert index.vectors(ids)[0] == []
    assert list(index.all_vectors()) == []
    assert not index.changes_since(seen).complete
    assert other.vectors(ids)[0] == ids
    other.close()


def test_without_an_embedder_the_vectors_wait(tmp_path: Path, index: Index) -> None:
    ids = put(index, "a.md", "one")
    index.set_vectors(ids, unit_vectors(1))
    index.close()
    without = Index.open(tmp_path, "")
    assert without.notice == ""
    without.close()
    again = Index.open(tmp_path, FINGERPRINT)
    assert again.vectors(ids)[0] == ids
    again.close()


def test_another_recipe_has_all_documents_read_again(tmp_path: Path) -> None:
    first = Index.open(tmp_path, "", "chunks-1")
    put(first, "a.md", "one")
    first.close()
    second = Index.open(tmp_path, "", "chunks-2")
    assert "from chunks-1 to chunks-2" in second.notice
    assert second.content_hash("a.md") == ""
    assert [each.modified_ns for each in second.documents()] == [-1]
    assert len(second.search_words("one", 5)) == 1
    second.close()
    third = Index.open(tmp_path, "", "chunks-2")
    assert third.notice == ""
    third.close()
