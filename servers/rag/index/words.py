"""Text as words: what is put into FTS5, and what people ask as a query that it understands.

FTS5's own tokenizer (porter unicode61) cuts at everything that is no letter or digit, folds case
and accents, and stems English. Before it, this module folds compatibility forms (ligatures of PDF
files, full-width letters; Unicode NFKC) and writes Chinese, Japanese and Korean, which have no
spaces or long inflected words, as overlapping pairs of characters: 東京都 → 東京 京都 都. The last
character stands alone too, so that each one begins some word and a question of one character finds
it by prefix.

A change of `indexed` changes what the index must be told to forget: see `schema.FORMAT`.
"""

import unicodedata
from collections.abc import Iterator
from itertools import islice

from core.base.text import lazy_pattern

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each few for from further "
    "had has have having he her here hers him his how i if in into is it its itself just me might "
    "more most my no nor not of off on once only or other our out over own same she should so "
    "some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that tell little about what a text is on: left out of questions."""

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

_RUN = lazy_pattern(f"[{_EAST_ASIAN}]+")
_WORD = lazy_pattern(f"[^\\W_](?:[^\\W_]|[{_MARKS}])*")
_QUOTED = lazy_pattern('["“”„«»]([^"“”„«»]+)["“”„«»]')
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


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
