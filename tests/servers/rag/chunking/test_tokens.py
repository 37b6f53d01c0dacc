"""Counting tokens: never fewer than BERT's own tokenizer makes, and nearly as many in prose."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.chunking.tokens import TokenCounter
from servers.rag.embedding.wordpiece import WordPiece, read_vocabulary

PROSE = "Immunofluorescence of SARS-CoV-2 (2019) isn't cheap: $1,299.50 each, naïve users say. "


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(read_vocabulary(), tokens_max=100_000)


def counted(text: str, limit: int = 250) -> int:
    return TokenCounter(text, limit).count(0, len(text))


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Donaudampfschifffahrtsgesellschaft größer Straße",
        "¿Cuántos años tenía?",
        "def f(x: int) -> list[str]:\n    return [str(x)] * 3  # café",
        "长江是中国最长的河流，全长6300公里。",
        "カタカナとひらがな",
        "한국어 문장입니다",
        "Привет, мир! Ελληνικά עברית العربية हिन्दी",
        "βeta TNFα 3×4 a→b “quoted”—dash",
        "| a | b |\n|---|---|\n" * 5,
        "d1a2b3c4e5f60718 " * 4,
        "e\u0301te\u0301 im\u00admuno \ufeffbom",
    ],
)
def test_there_are_never_more_tokens_than_counted(text: str, tokenizer: WordPiece) -> None:
    assert len(tokenizer.ids(text)) - 2 <= counted(text)


def test_latin_text_is_counted_exactly(tokenizer: WordPiece) -> None:
    text = PROSE + "Die größte Stadt. Él vivió allí. x = f(a_b[0])\n"

    assert counted(text) == len(tokenizer.ids(text)) - 2


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.sampled_from(("the ", "of", "中", "한", "x", ".", " ", "\n", " " * 60)), max_size=60
    )
)
def test_parts_that_meet_between_characters_of_cuts_add_up(parts: list[str]) -> None:
    text = "".join(parts).strip()
    counter = TokenCounter(text, 8)
    offsets = [0, *counter.cuts(0, len(text)), len(text)]

    counts = [counter.count(a, b) for a, b in pairwise(offsets)]

    assert max(counts) <= 8
    assert sum(counts) == counted(text, 8)


def test_gaps_count_so_that_characters_are_bounded_too() -> None:
    assert counted("a" + " " * 1000 + "b") == 12
    assert TokenCounter("x", 8).gap(0, 350) == 3
    assert TokenCounter(" " * 5000, 8).fitting(0, 5000) is None
