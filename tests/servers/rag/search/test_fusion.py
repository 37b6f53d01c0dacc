"""Scores as one: normalised, weighted, fair to chunks that one side doesn't know; and feedback."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.passages import WordHit
from servers.rag.search.fusion import (
    FULL_MATCH_SHARE,
    Candidate,
    Candidates,
    by_vectors,
    by_words,
    fuse,
    fuse_with_feedback,
    only_words,
)

COSINES = st.none() | st.floats(-1, 1)
WORDS = st.none() | st.floats(0, 50)

QUESTION = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
ROWS = np.array([[0.6, 0.8, 0.0], [0.5, 0.0, 0.866], [0.45, 0.893, 0.0]], dtype=np.float32)
"""The first is what words have found; the third lies beside it, the second does not."""


def scores(ranked: list[Candidate]) -> dict[int, float]:
    return {each.chunk_id: each.score for each in ranked}


def test_scores_are_normalised_and_weighted():
    found = [Candidate(1, 10.0, 0.2), Candidate(2, 5.0, 0.6), Candidate(3, None, 0.4)]
    assert scores(fuse(found, 0.55)) == pytest.approx({1: 0.55, 2: 0.275 + 0.45, 3: 0.225})


def test_words_are_held_against_what_a_full_match_would_score():
    found = [Candidate(1, 3.0, 0.2), Candidate(2, None, 0.6)]
    assert scores(fuse(found, 0.5, full_match=3.0 / FULL_MATCH_SHARE))[1] == pytest.approx(0.5)
    assert scores(fuse(found, 0.5, full_match=12.0 / FULL_MATCH_SHARE))[1] == pytest.approx(0.125)
    assert scores(fuse(found, 0.5, full_match=0.1))[1] == pytest.approx(0.5)


def test_a_weight_of_one_ranks_by_words_and_of_none_by_vectors():
    found = [Candidate(1, 10.0, 0.2), Candidate(2, 5.0, 0.6), Candidate(3, 1.0, 0.4)]
    assert [each.chunk_id for each in fuse(found, 1)] == [1, 2, 3]
    assert [each.chunk_id for each in fuse(found, 0)] == [2, 3, 1]


def test_a_chunk_without_a_vector_counts_as_near_as_the_average():
    found = [Candidate(1, 1.0, 0.1), Candidate(2, 1.0, 0.3), Candidate(3, 1.0, None)]
    assert scores(fuse(found, 0.5)) == pytest.approx({2: 1.0, 3: 0.75, 1: 0.5})


def test_equal_scores_keep_the_order_of_the_index():
    found = [Candidate(3, 1.0, 0.5), Candidate(1, 1.0, 0.5), Candidate(2, 1.0, 0.5)]
    assert [each.chunk_id for each in fuse(found, 0.5)] == [1, 2, 3]


def test_one_candidate_alone_is_fully_what_found_it():
    assert scores(fuse([Candidate(1, None, 0.4)], 0.55)) == pytest.approx({1: 0.45})
    assert scores(fuse([Candidate(1, 3.0, None)], 0.55)) == pytest.approx({1: 0.55})


def test_words_alone_are_scored_by_the_best_of_them():
    found = [Candidate(1, 2.0, None), Candidate(2, 8.0, None), Candidate(3, None, 0.9)]
    assert scores(by_words(found)) == {2: 1.0, 1: 0.25}


def test_vectors_alone_are_scored_by_the_cosine():
    found = [Candidate(1, 2.0, -0.3), Candidate(2, 8.0, None), Candidate(3, None, 0.9)]
    assert scores(by_vectors(found)) == {3: 0.9, 1: 0.0}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(WORDS, COSINES), max_size=30), st.floats(0, 1))
def test_scores_lie_between_0_and_1_and_no_candidate_is_lost(
    pairs: list[tuple[float | None, float | None]], weight: float
):
    found = [Candidate(number, words, cosine) for number, (words, cosine) in enumerate(pairs)]
    ranked = fuse(found, weight)
    assert {replace(each, score=0.0) for each in ranked} == {*found}
    assert all(-1e-9 <= each.score <= 1 + 1e-9 for each in ranked)
    assert ranked == sorted(ranked, key=lambda each: -each.score)


def found() -> Candidates:
    cosines: list[float] = (ROWS @ QUESTION[0]).tolist()
    every = tuple(
        Candidate(number, 5.0 if number == 1 else None, cosine)
        for number, cosine in enumerate(cosines, 1)
    )
    return Candidates(every, frozenset(), {1: 0, 2: 1, 3: 2}, ROWS, QUESTION)


def test_a_chunk_beside_the_first_passes_one_that_is_a_little_nearer_to_the_question() -> None:
    assert [each.chunk_id for each in fuse(found().all, 0.4)] == [1, 2, 3]
    assert [each.chunk_id for each in fuse_with_feedback(found(), 0.4)] == [1, 3, 2]


def test_passages_keep_their_cosine_to_the_question_itself() -> None:
    cosines = {each.chunk_id: each.cosine for each in fuse_with_feedback(found(), 0.4)}
    assert cosines == pytest.approx({1: 0.6, 2: 0.5, 3: 0.45})


def test_without_vectors_the_words_decide() -> None:
    words = only_words([WordHit(7, 2.0, False), WordHit(8, 3.0, False)])
    assert [each.chunk_id for each in fuse_with_feedback(words, 0.4)] == [8, 7]
    assert words.cosines_towards([8], 0.5) == {}


def test_chunks_that_are_gone_give_no_feedback() -> None:
    assert found().cosines_towards([99], 0.5) == {}
