"""Ranked chunks to passages: neighbours as one text, and no text twice."""

from collections.abc import Iterable, Sequence

import pytest

from servers.rag.passages import Chunk, Passage, StoredChunk
from servers.rag.search.merging import (
    PASSAGE_WORDS_MAX,
    Hit,
    count_words,
    fingerprint,
    says_the_same,
    select,
)

WORDS = tuple(f"{letter}eta" for letter in "abcdefghijk")


class Documents:
    """Their chunks, numbered from 1."""

    def __init__(self) -> None:
        self.stored: list[StoredChunk] = []

    def put(self, file: str, texts: Sequence[str], headings: tuple[str, ...] = ()) -> None:
        """Chunks of one document, ten lines apart."""
        start = 0
        for ordinal, text in enumerate(texts):
            chunk = Chunk(text, start, start + len(text), 10 * ordinal + 1, None, headings)
            self.stored.append(StoredChunk(len(self.stored) + 1, file, ordinal, chunk))
            start += len(text) + 2


def sentences(count: int) -> list[str]:
    """Texts that are all different."""
    return [" ".join(f"{word}{number}" for word in WORDS) for number in range(count)]


def ranked(index: Documents, order: Iterable[int]) -> list[Hit]:
    """The chunks with these ids, best first."""
    by_id = {each.chunk_id: each for each in index.stored}
    return [Hit(by_id[number], 1 - place / 100, 0.5) for place, number in enumerate(order)]


def shown(index: Documents, order: Sequence[int], top_k: int = 5) -> tuple[Passage, ...]:
    return select(ranked(index, order), top_k, lambda _one, _other: None).passages


@pytest.fixture(name="index")
def _index() -> Documents:
    index = Documents()
    index.put("a.md", sentences(6), ("Part", "One"))
    index.put("b.md", [f"b {text}b" for text in sentences(6)])
    return index


def test_neighbours_become_one_passage_in_the_order_of_the_document(index: Documents):
    first, second = shown(index, [3, 9, 2])
    a = [each.chunk.text for each in index.stored]
    assert first.text == f"{a[1]}\n\n{a[2]}"
    assert (first.chunk_id, first.score, first.line, first.headings) == (
        3,
        1.0,
        11,
        ("Part", "One"),
    )
    assert (second.file, second.chunk_id) == ("b.md", 9)


def test_a_neighbour_takes_no_place_from_others(index: Documents):
    assert [p.chunk_id for p in shown(index, [3, 2, 9, 4, 12], top_k=2)] == [3, 9]
    assert [p.chunk_id for p in shown(index, [3, 2, 9, 4, 12], top_k=3)] == [3, 9, 12]


def test_neighbours_that_rank_behind_what_is_shown_stay_away(index: Documents):
    (only,) = shown(index, [3, 9, 2], top_k=1)
    assert only.text == index.stored[2].chunk.text


def test_a_chunk_between_two_passages_joins_them(index: Documents):
    passages = shown(index, [2, 4, 9, 3], top_k=4)
    assert [p.chunk_id for p in passages] == [2, 9]
    assert passages[0].text.split()[0] == "aeta1"
    assert passages[0].text.split()[-1] == "keta3"


def test_other_sections_and_other_files_are_not_joined():
    index = Documents()
    index.put("a.md", sentences(2)[:1], ("One",))
    index.put("a.md", sentences(2)[1:], ("Two",))
    index.stored[1] = type(index.stored[1])(2, "a.md", 1, index.stored[1].chunk)
    assert len(shown(index, [1, 2])) == 2


def test_a_passage_is_no_longer_than_it_may_be():
    index = Documents()
    long = [" ".join(f"{word}{number}" for word in WORDS * 15) for number in range(9)]
    index.put("a.md", long)
    passages = shown(index, range(1, 10), top_k=9)
    assert all(count_words(p.text) <= PASSAGE_WORDS_MAX for p in passages)
    assert sum(count_words(p.text) for p in passages) == 9 * 165


def test_words_are_counted_in_every_script():
    assert count_words("one, two three") == 3
    assert count_words("月の海を見る") == 3


def test_an_overlap_of_neighbours_is_shown_once():
    index = Documents()
    index.put("a.md", ["one two three", "three four"])
    one, two = index.stored
    late = type(two.chunk)("three four", 8, 18, 1)
    index.stored = [one, type(two)(2, "a.md", 1, late)]
    assert shown(index, [1, 2])[0].text == "one two three four"


def test_a_repeated_text_is_dropped_and_its_file_named(index: Documents):
    index.put("copy.md", [sentences(3)[2].upper() + "!"])
    result = select(ranked(index, [3, 13, 9]), 5, lambda _one, _other: None)
    assert [p.chunk_id for p in result.passages] == [3, 9]
    assert result.repeated_in == ("copy.md",)


REPORT = "In the {} quarter the firm sold {} machines to customers in Spain, more than ever before."


@pytest.mark.parametrize(
    ("one", "other", "cosine", "same"),
    [
        ("The cat sat.", "the  CAT — sat", None, True),
        (REPORT.format("first", "5"), REPORT.format("first", "7"), 0.999, False),
        (REPORT.format("first", "5"), REPORT.format("first", "5") + " Really.", None, True),
        (REPORT.format("first", "5"), REPORT.format("first", "5") + " So they said.", None, False),
        (REPORT.format("first", "5"), REPORT.format("first", "5") + " So they said.", 0.98, True),
        (REPORT.format("first", "5"), REPORT.format("first", "5") + " So they said.", 0.5, False),
        ("+++", "---", 1.0, False),
        ("", "", None, True),
        ("月の海を見る", "月の海を見る。", None, True),
        ("ﬁle №1", "file no1", None, True),
    ],
)
def test_near_duplicates_agree_in_words_and_numbers(
    one: str, other: str, cosine: float | None, same: bool
):
    assert says_the_same(fingerprint(one), fingerprint(other), cosine) is same
