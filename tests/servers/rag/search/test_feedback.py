"""Pseudo-relevance feedback: what lies near the first of a ranking rises in it."""

import numpy as np
import pytest

from servers.rag.search.fusion import (
    Candidate,
    Candidates,
    Ranked,
    fuse,
    fuse_with_feedback,
    only_words,
)
from tests.servers.rag.search.memory_index import WordHit

QUESTION = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
ROWS = np.array([[0.6, 0.8, 0.0], [0.5, 0.0, 0.866], [0.45, 0.893, 0.0]], dtype=np.float32)
"""The first is what words have found; the third lies beside it, the second does not."""


def found() -> Candidates:
    cosines: list[float] = (ROWS @ QUESTION[0]).tolist()
    every = tuple(
        Candidate(number, 5.0 if number == 1 else None, cosine)
        for number, cosine in enumerate(cosines, 1)
    )
    return Candidates(every, frozenset(), {1: 0, 2: 1, 3: 2}, ROWS, QUESTION)


def test_a_chunk_beside_the_first_passes_one_that_is_a_little_nearer_to_the_question() -> None:
    assert [each.candidate.chunk_id for each in fuse(found().all, 0.4)] == [1, 2, 3]
    assert [each.candidate.chunk_id for each in fuse_with_feedback(found(), 0.4)] == [1, 3, 2]


def test_passages_keep_their_cosine_to_the_question_itself() -> None:
    cosines = {each.candidate.chunk_id: each.candidate.cosine for each in _ranked()}
    assert cosines == pytest.approx({1: 0.6, 2: 0.5, 3: 0.45})


def test_without_vectors_the_words_decide() -> None:
    words = only_words([WordHit(7, 2.0, False), WordHit(8, 3.0, False)])
    assert [each.candidate.chunk_id for each in fuse_with_feedback(words, 0.4)] == [8, 7]
    assert words.cosines_towards([8], 0.5) == {}


def test_chunks_that_are_gone_give_no_feedback() -> None:
    assert found().cosines_towards([99], 0.5) == {}


def _ranked() -> list[Ranked]:
    return fuse_with_feedback(found(), 0.4)
