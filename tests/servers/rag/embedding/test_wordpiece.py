"""The tokenizer: the ids that Hugging Face's `tokenizers` 0.23 gives, bounds, hostile text."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.embedding.wordpiece import WordPiece, read_vocabulary
from servers.rag.errors import EmbedderUnavailable

BEGIN_ID, UNKNOWN_ID, END_ID = 101, 100, 102
TOKENS_MAX = 256

SAME_AS_TOKENIZERS: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("The pump starts at 12 cm.", "1996 10216 4627 2012 2260 4642 1012"),
    ("UNAFFABLE embeddings, naïve café", "14477 20961 3468 7861 8270 4667 2015 1010 15743 7668"),
    ("don't  stop\tnow\nplease!", "2123 1005 1056 2644 2085 3531 999"),
    (
        "C++ & C# cost $5^2 = £4",
        "1039 1009 1009 1004 1039 1001 3465 1002 1019 1034 1016 1027 1069 2549",
    ),
    ("水泵在水位达到时启动。", "1893 100 100 1893 100 100 100 100 100 100 1636"),
    ("Größe: İstanbul ΟΔΟΣ straße", "24665 2080 17499 1024 9960 1169 29722 29730 29733 2358 27807"),
    (
        "한국어 문서 검색",
        "1469 30006 30021 29991 30014 30020 29999 30008 1459 30014 30021 29997 30008 "
        "1455 30008 30023 29997 30007 30020",
    ),
    ("a\u200bb\xadc\x00d\ufffde\x1cf\x0bg", "5925 3207 2546 2290"),
    ("x\u2260y; q\u037ez", "1060 1027 1061 1025 1053 1025 1062"),
    ("🦊 jumps — “quoted” …", "100 14523 1517 1523 9339 1524 1529"),
    (
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "100",
    ),
    ("\ue000\uf8ff private", "2797"),
    (
        "日本語のテキストとカタカナ",
        "1864 1876 1950 1671 30239 30227 30233 30240 30192 30226 30235 30226 30241",
    ),
    ("नमस्ते दुनिया", "1327 29867 29874 29859 1325 29863 29877 29868 29876"),
)
"""Texts and their ids without begin and end, from `tokenizers` 0.23.3 and the model's own file.

All 53,072 texts of XQuAD (en, de, es, zh), SciFact and this program were compared when it was made.
"""


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(read_vocabulary(), TOKENS_MAX)


@pytest.mark.parametrize(("text", "ids"), SAME_AS_TOKENIZERS)
def test_a_text_gets_the_ids_of_the_reference(tokenizer: WordPiece, text: str, ids: str) -> None:
    assert tokenizer.ids(text) == [BEGIN_ID, *map(int, ids.split()), END_ID]


def test_a_word_of_a_hundred_characters_is_the_longest_that_is_known(tokenizer: WordPiece) -> None:
    assert UNKNOWN_ID not in tokenizer.ids("x" * 100)
    assert tokenizer.ids("x" * 101) == [BEGIN_ID, UNKNOWN_ID, END_ID]


def test_special_tokens_in_a_text_are_plain_text(tokenizer: WordPiece) -> None:
    ids = tokenizer.ids("a [SEP] b [CLS]")
    assert END_ID not in ids[:-1]
    assert BEGIN_ID not in ids[1:]


def test_a_long_text_is_cut_and_still_ends_as_it_should(tokenizer: WordPiece) -> None:
    ids = tokenizer.ids("unaffable words " * 100_000)
    assert len(ids) == TOKENS_MAX
    assert (ids[0], ids[-1]) == (BEGIN_ID, END_ID)
    assert ids[:-1] == tokenizer.ids("unaffable words " * 100)[:-1]


@pytest.mark.parametrize("unit", ["x", "水", "\u0301", "\x00", " ", "+", "\ud800", "\U0001f98a"])
def test_a_megabyte_of_one_character_is_no_burden(tokenizer: WordPiece, unit: str) -> None:
    ids = tokenizer.ids(unit * 1_000_000)
    assert 2 <= len(ids) <= TOKENS_MAX


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=6))
def test_texts_beside_each_other_keep_their_ids(tokenizer: WordPiece, texts: list[str]) -> None:
    apart = [id_ for text in texts for id_ in tokenizer.ids(text)[1:-1]]
    together = tokenizer.ids(" ".join(texts))
    assert together == [BEGIN_ID, *apart[: TOKENS_MAX - 2], END_ID]


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "vocabulary.txt.gz"
    other.write_bytes(gzip.compress(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n"))
    with pytest.raises(EmbedderUnavailable, match="not the one that belongs to the weights"):
        read_vocabulary(other)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"no gzip", gzip.compress(b"[PAD]\n" * 9, mtime=0)[:-9]],
    ids=["missing", "empty", "no gzip", "cut"],
)
def test_a_vocabulary_that_cannot_be_read_is_an_embedder_that_is_not_there(
    tmp_path: Path, content: bytes | None
) -> None:
    broken = tmp_path / "vocabulary.txt.gz"
    if content is not None:
        broken.write_bytes(content)
    with pytest.raises(EmbedderUnavailable, match="install Cortex-R anew"):
        read_vocabulary(broken)
