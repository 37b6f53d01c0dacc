"""Scores of words: BM25 as the formula has it, though FTS5 is not told how long rows are."""

import math
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from servers.rag.index.connections import connect
from servers.rag.index.document_rows import find_document
from servers.rag.index.index import Index
from servers.rag.index.schema import LENGTH_COLUMNS
from servers.rag.index.word_table import (
    CLASS_LIMITS_WORDS,
    K1,
    B,
    Lengths,
    column_weights,
    count_words,
    length_class,
    search_words,
)
from tests.servers.rag.index.made import put


def bm25(texts: list[str], query: list[str]) -> dict[str, float]:
    """Robertson's BM25 with FTS5's inverse document frequency."""
    bags = {text: Counter(text.split()) for text in texts}
    average = sum(bag.total() for bag in bags.values()) / len(texts)
    scores = dict.fromkeys(texts, 0.0)
    for word in query:
        holding = sum(1 for bag in bags.values() if bag[word])
        rarity = max(1e-6, math.log((len(texts) - holding + 0.5) / (holding + 0.5)))
        for text, bag in bags.items():
            norm = K1 * (1 - B + B * bag.total() / average)
            scores[text] += rarity * bag[word] * (K1 + 1) / (bag[word] + norm)
    return {text: score for text, score in scores.items() if score}


def filled(words: str, length: int) -> str:
    """A text of so many words that begins with some."""
    return " ".join([*words.split(), *(["xx"] * length)][:length])


def test_scores_are_those_of_bm25(index: Index) -> None:
    # One text in each class of length, so that its class's mean is its own length.
    lengths = [15, 30, 50, 70, 90, 110, 130, 160, 190, 230, 300, 500]
    assert sorted(map(length_class, lengths)) == list(range(LENGTH_COLUMNS))
    start = ["kiwi", "kiwi kiwi kiwi", "kiwi mango", "mango mango", "plum", "plum", *[""] * 6]
    texts = [filled(words, length) for words, length in zip(start, lengths, strict=True)]
    ids = put(index, "a.md", *texts)
    by_id = dict(zip(ids, texts, strict=True))
    expected = bm25(texts, ["kiwi", "mango"])
    hits = index.search_words("kiwi mango", 20)
    scores = {by_id[hit.chunk_id]: hit.score for hit in hits}
    assert scores == pytest.approx(expected, rel=1e-6)


def test_scores_stay_true_when_texts_come_and_go(tmp_path: Path) -> None:
    changed, fresh = (Index.open(tmp_path / name, "") for name in ("changed", "fresh"))
    kept = [filled(f"kiwi word{number}", 50 + number) for number in range(20)]
    put(changed, "gone.md", *(filled(f"kiwi mango {number}", 200) for number in range(30)))
    put(changed, "a.md", "something else", *kept[3:9])
    for index in (changed, fresh):
        put(index, "a.md", *kept)
    changed.remove_document("gone.md")
    scores = [
        [hit.score for hit in index.search_words("kiwi word3 mango", 50)]
        for index in (changed, fresh)
    ]
    assert scores[0] == pytest.approx(scores[1])
    changed.close()
    fresh.close()


def test_weights_fall_with_length_and_fit_the_columns() -> None:
    weights = column_weights({number: Lengths(10, 1_500) for number in (5, 6, 7)})
    assert len(weights) == LENGTH_COLUMNS == len(CLASS_LIMITS_WORDS) + 1
    assert weights[:5] == sorted(weights[:5], reverse=True)
    assert weights[4] > weights[6] > weights[8]


def test_very_short_texts_are_ranked_by_the_words_that_are_there(index: Index) -> None:
    assert len({*column_weights({0: Lengths(5, 10)})}) == 1
    assert len({*column_weights({})}) == 1
    put(index, "a.md", "kiwi kiwi", "kiwi mango", "plum", "fig", "pear", "apple", "grape")
    best, second = index.search_words("kiwi mango", 5)
    assert index.chunks([best.chunk_id])[0].chunk.text == "kiwi mango"
    assert best.score > second.score > 0


def test_a_full_match_scores_the_rarity_of_all_words_also_of_those_that_no_text_holds(
    index: Index,
) -> None:
    texts = ["kiwi mango", "kiwi", *["plum"] * 8, *["fig"] * 9, "pear"]
    put(index, "a.md", *(filled(text, 100) for text in texts))
    rarity = [math.log(ratio) for ratio in (18.5 / 2.5, 19.5 / 1.5, 20.5 / 0.5)]
    assert index.full_match("kiwi, mango and lychee") == pytest.approx(sum(rarity))
    assert index.full_match("xx") == 0  # in nearly all texts
    assert index.full_match("") == 0
    (best,) = index.search_words("mango", 5)
    assert best.score == pytest.approx(index.full_match("mango"), rel=0.01)


def test_in_very_short_texts_a_full_match_is_a_text_with_all_words(index: Index) -> None:
    put(index, "a.md", "kiwi mango", "plum", "fig", "pear", "apple", "grape", "kiwi")
    best, _ = index.search_words("kiwi mango", 5)
    assert index.full_match("kiwi mango") == pytest.approx(best.score, rel=0.01)


def test_words_are_counted_as_fts5_does(index: Index) -> None:
    text = "It's 3.14 o'clock — naïve re-use of snake_case and 東京"
    words = "It s 3 14 o clock naïve re use of snake case and 東京"
    assert count_words(text) == len(words.split())


def test_the_rarest_words_decide_where_all_would_cost_too_much(index: Index) -> None:
    put(index, "a.md", *(f"common text {number}" for number in range(20)), *(["other"] * 30))
    put(index, "b.md", "rare thing", "rare and common common thing")
    assert len(index.search_words("common rare", 50)) == 22
    with closing(connect(index.path)) as connection:
        few = search_words(connection, "common rare", 50, rows_max=5)
        lone = search_words(connection, "common", 50, rows_max=5)
    assert (len(few), len(lone)) == (2, 21)


def test_in_one_document_frequent_words_find_too(index: Index) -> None:
    put(index, "a.md", *(f"common text {number}" for number in range(20)))
    put(index, "b.md", "rare thing")
    with closing(connect(index.path)) as connection:
        document = find_document(connection, "a.md")
        found = search_words(connection, "common rare", 50, document, rows_max=5)
    assert len(found) == 20
