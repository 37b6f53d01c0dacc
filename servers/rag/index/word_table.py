"""Chunks by length, which makes BM25 in FTS5 five times as fast.

FTS5's `bm25()` spends most of its time looking up how long each matching row is. This table is
made without those lengths (`columnsize=0`): every row then counts as -1 word a column, which leaves
the ranking without any normalisation of length. It comes back through the columns: a chunk's words
lie in the column of its class of length, and `bm25()` takes a weight for each column, by which it
multiplies the term frequency f. With K for what it computes for every row,

    (k1 + 1) w f / (w f + K)  =  (k1 + 1) f / (f + K / w)

so that the weight w = K / (k1 (1 - b + b length / average)) gives exactly the BM25 of a chunk of
that length (Robertson and Zaragoza, 2009, section 3.4). Lengths within a class count as its mean.
"""

import re
import sqlite3
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise

from servers.rag.index.schema import LENGTH_COLUMNS

CLASS_LIMITS_WORDS = (20, 40, 60, 80, 100, 120, 145, 175, 210, 255, 320)
"""A class ends below each of these; the last one has no end. With twelve classes the figures are
those of FTS5 with lengths, with eight they lose 0.006 on Cranfield."""

_LAST_CLASS_WORDS = 420

K1, B = 1.2, 0.75
"""FTS5's own constants, which can't be changed there; others gained nothing on SciFact's training
claims, Cranfield's odd questions and XQuAD-es."""

K_MIN = 0.02
"""K falls with the average length, and is below 0 where that is less than 36 words."""

_THERE_OR_NOT = 1_000.0
"""A weight at which a term's frequency and K vanish: in texts as short as that, few words come
twice, and it is enough to ask whether they are there."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many chunks a class holds, and how many words they have together."""

    chunks: int = 0
    words: int = 0


def length_class(words: int) -> int:
    """The class of a chunk of so many words: the number of its column."""
    return bisect_right(CLASS_LIMITS_WORDS, words)


def column_weights(classes: Mapping[int, Lengths]) -> list[float]:
    """The weight of each column, given what the index holds."""
    average = _average_words(classes)
    k = _k(average)
    if k < K_MIN:
        return [_THERE_OR_NOT] * LENGTH_COLUMNS
    means = (
        _mean_words(number, classes.get(number, Lengths())) for number in range(LENGTH_COLUMNS)
    )
    return [k / (K1 * (1 - B + B * mean / average)) for mean in means]


def weight_of_one(classes: Mapping[int, Lengths]) -> float:
    """What BM25 gives for a term that a chunk of average length holds once, per unit of idf."""
    return 1.0 if _k(_average_words(classes)) >= K_MIN else K1 + 1


def _average_words(classes: Mapping[int, Lengths]) -> float:
    chunks = sum(each.chunks for each in classes.values())
    return max(1.0, sum(each.words for each in classes.values()) / max(1, chunks))


def _k(average_words: float) -> float:
    return K1 * (1 - B - B * LENGTH_COLUMNS / average_words)


def _mean_words(number: int, held: Lengths) -> float:
    """The mean length of a class; of an empty one the middle."""
    if held.chunks > 0:
        return held.words / held.chunks
    limits = list(pairwise((0, *CLASS_LIMITS_WORDS, _LAST_CLASS_WORDS)))
    return sum(limits[number]) / 2


# English words that tell little about what a text is on.

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each few for from further "
    "had has have having he her here hers him his how i if in into is it its itself just me might "
    "more most my no nor not of off on once only or other our out over own same she should so "
    "some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Left out of questions."""

_EVERYDAY_WORDS = (
    "able ago almost already also although always among another anything around ask away back bad "
    "become begin best better big bring call came case certain change city come common company "
    "consider country course current day days deal different done early easy else end enough even "
    "ever every everything example explain fact far feel find first follow form found full gave "
    "general get give given go goes going gone good got great group hand happen hard help high "
    "hold home house however idea important information instead keep kind know known large last "
    "late later least leave less let life like likely line list little live long look lot low "
    "made main make makes man many may mean means men mention method move much must name near "
    "need never new next nothing now number often old one open order others part people perhaps "
    "person place point possible problem provide put question quite rather really reason recent "
    "report result right said say says second see seem seen set several show side simple since "
    "small something sometimes soon still system take tell term thing things think three time "
    "times together told took toward try turn two type use used uses using usually want way ways "
    "well went whether whole within without word words work world write year years yes yet young "
    "0 1 2 3 4 5 6 7 8 9"
)
EVERYDAY_WORDS = STOP_WORDS | frozenset(_EVERYDAY_WORDS.split())
"""Found in a text by chance even where they are rare: no evidence that it is on the subject."""


# Text as words: what is put into FTS5, and what people ask as a query that it understands.
#
# FTS5's own tokenizer (porter unicode61) cuts at everything that is no letter or digit, folds
# case and accents, and stems English. Before it, this module folds compatibility forms
# (ligatures of PDF files, full-width letters; Unicode NFKC) and writes Chinese, Japanese and
# Korean, which have no spaces or long inflected words, as overlapping pairs of characters: 東京都
# → 東京 京都 都. The last character stands alone too, so that each one begins some word and a
# question of one character finds it by prefix.
#
# A change of `indexed` changes what the index must be told to forget: see `schema.FORMAT`.

QUERY_CHARACTERS_MAX = 4_000
QUERY_TERMS_MAX = 64
"""More words than a question has; a page pasted as a query is cut here."""

TERM_CHARACTERS_MAX = 64
_PHRASE_WORDS_MAX = 12

_EAST_ASIAN = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
)
"""Han, kana, Hangul and the marks that repeat or lengthen them."""

_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
"""Signs inside words of Hebrew, Arabic, Indian scripts and Thai that count as no letters."""

_RUN = re.compile(f"[{_EAST_ASIAN}]+")
_WORD = re.compile(f"[^\\W_](?:[^\\W_]|[{_MARKS}])*")
_QUOTED = re.compile('["“”„«»]([^"“”„«»]+)["“”„«»]')
_SURROGATE = re.compile("[\ud800-\udfff]")


def indexed(text: str) -> str:
    """The words of a text, as they are given to FTS5."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", _SURROGATE.sub("\ufffd", text))
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} {run[0][-1]} ", plain)


def count_words(words: str) -> int:
    """How many words `indexed` gave; FTS5 counts the same but for rare signs."""
    return sum(1 for _ in _WORD.finditer(words))


def query_terms(query: str) -> list[str]:
    """The terms of a question, each an expression of FTS5 that can't be ill-formed.

    Words that are in all texts are left out where others remain. What stands in quotation marks is
    a term as a whole, besides its words. Empty if there is no word in it at all.
    """
    text = unicodedata.normalize("NFKC", _SURROGATE.sub(" ", query[:QUERY_CHARACTERS_MAX])).lower()
    terms = list(dict.fromkeys([*_phrases(text), *_words(text)]))
    telling = [term for term in terms if term[1:-1] not in STOP_WORDS]
    return list(islice(telling or terms, QUERY_TERMS_MAX))


def _phrases(text: str) -> Iterator[str]:
    for quoted in _QUOTED.finditer(text):
        words = _WORD.findall(indexed(quoted[1]))
        if 1 < len(words) <= _PHRASE_WORDS_MAX:
            yield _term(" ".join(words))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_RUN.sub(lambda run: f" {run[0]} ", text)):
        if _RUN.fullmatch(word) is None:
            yield _term(word[:TERM_CHARACTERS_MAX])
        elif len(word) == 1:
            yield _term(word) + " *"
        else:
            yield from map(_term, _pairs(word))


def _pairs(run: str) -> list[str]:
    """Each character with the one after it; none for a single one."""
    return [run[place : place + 2] for place in range(len(run) - 1)]


def _term(words: str) -> str:
    """A string of FTS5; words have no quotation marks in them, so nothing needs escaping."""
    return f'"{words}"'


# What the table of words is told: chunks that come, and chunks that go.


class WordTable:
    """Adds and removes the words of chunks, and keeps count of lengths; within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._chunks = Counter[int]()
        self._words = Counter[int]()

    def add(self, chunk_id: int, text: str) -> None:
        """Make a chunk findable by the words of its text."""
        words, number = self._counted(text, 1)
        self._connection.execute(
            f"INSERT INTO words (rowid, c{number}) VALUES (?, ?)",  # noqa: S608 - a column's number
            (chunk_id, words),
        )

    def remove(self, chunk_id: int, text: str) -> None:
        """Forget a chunk; `text` must be what it was added with."""
        words, number = self._counted(text, -1)
        self._connection.execute(
            f"INSERT INTO words (words, rowid, c{number}) VALUES ('delete', ?, ?)",  # noqa: S608 - as above
            (chunk_id, words),
        )

    def write_lengths(self) -> None:
        """Write down what the lengths have become; the last thing to do."""
        self._connection.executemany(
            "INSERT INTO lengths (class, chunks, words) VALUES (?, ?, ?) ON CONFLICT (class) "
            "DO UPDATE SET chunks = chunks + excluded.chunks, words = words + excluded.words",
            [(number, self._chunks[number], self._words[number]) for number in self._chunks],
        )

    def _counted(self, text: str, sign: int) -> tuple[str, int]:
        """What FTS5 is given for a text, and the column that it belongs in."""
        words = indexed(text)
        count = count_words(words)
        number = length_class(count)
        self._chunks[number] += sign
        self._words[number] += sign * count
        return words, number


def read_lengths(connection: sqlite3.Connection) -> Mapping[int, Lengths]:
    """How many chunks there are of each class of length."""
    rows: Iterable[tuple[int, int, int]] = connection.execute("SELECT * FROM lengths")
    return {number: Lengths(chunks, words) for number, chunks, words in rows}
