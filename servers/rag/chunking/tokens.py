"""How many tokens a text has at most, for models that cut it into BERT's word pieces.

All-MiniLM-L6-v2 and nomic-embed-text use the vocabulary of BERT-Base, uncased (Devlin et al.
2019): the longest known beginning of a word is a token, then that of its rest; so is every
punctuation mark and every Chinese character. Words of Latin letters are counted so, exactly, and
remembered, for words come again: counting costs a look-up a word.
All else counts one a character, decomposed (three for a Korean syllable): more there never are.
A long gap counts as well, so that a limit on tokens also limits characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from servers.rag.embedding.wordpiece import vocabulary

WORD_CHARACTERS_MAX = 100
"""A longer word is unknown to BERT, which is one token."""

GAP_CHARACTERS = 100
"""As much white space counts as a token."""

CHARACTER_TOKENS_MAX = 4
"""A character never has more, decomposed."""

_REMEMBERED_UNITS = 50_000

_LATIN = "0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff"
"""What words of most European languages are made of."""
_MARKS = "\u0964\u061b\u061f\u06d4\u2000-\u206f\u3000-\u303f\uff00-\uffef"
"""Punctuation of any script that ends a word, beside that of ASCII."""

_LATIN_LETTER = re.compile(f"[{_LATIN}]")


class TokenCounter:
    """Counts in one document."""

    def __init__(self, text: str, limit: int) -> None:
        """Count in `text`, whose parts are named by offsets, where `limit` tokens are too few.

        Raises:
            ValueError: a character can have more than `limit`.
        """
        if limit < 2 * CHARACTER_TOKENS_MAX:
            raise ValueError(f"a limit of {limit} tokens is too low")
        self._text = text
        self._limit = limit
        self._unit = _unit_pattern(min(WORD_CHARACTERS_MAX, limit - CHARACTER_TOKENS_MAX))
        self._units = _Units()

    def count(self, start: int, end: int) -> int:
        """The tokens of `text[start:end]`, or more.

        Parts that meet at white space or punctuation, or as `cuts` says, add up to the whole.
        """
        return sum(map(self._units.__getitem__, self._unit.findall(self._text, start, end)))

    def gap(self, start: int, end: int) -> int:
        """What the white space there counts."""
        return (end - start) // GAP_CHARACTERS

    def fitting(self, start: int, end: int) -> int | None:
        """The tokens there if they are within the limit; looks not far into more."""
        if end - start > GAP_CHARACTERS * (self._limit + 1):
            return None
        tokens = self.count(start, end)
        return tokens if tokens <= self._limit else None

    def cuts(self, start: int, end: int) -> Iterator[int]:
        """Offsets that cut a text without white space into parts that fit."""
        spent = 0
        for unit in self._unit.finditer(self._text, start, end):
            tokens = self._units[unit[0]]
            if spent + tokens > self._limit:
                yield unit.start()
                spent = 0
            spent += tokens


@cache
def _longest_piece() -> int:
    """The length of the longest; thirty thousand are looked at once, not for each file."""
    return max(map(len, vocabulary()))


class _Units(dict[str, int]):
    """The tokens of words and of single characters, by how they stand in the text."""

    def __init__(self) -> None:
        super().__init__()
        self._vocabulary = vocabulary()
        self._longest = _longest_piece()

    def __missing__(self, unit: str) -> int:
        """Work one out, and remember it while there is room."""
        tokens = self._tokens(unit)
        if len(self) < _REMEMBERED_UNITS:
            self[unit] = tokens
        return tokens

    def _tokens(self, unit: str) -> int:
        if unit.isspace():
            return 1
        if len(unit) > 1 and not _LATIN_LETTER.match(unit):
            rest = _plain(unit[1:])
            return self._tokens(unit[0]) + max(self._pieces(rest, ""), self._pieces(rest, "##"))
        return max(1, self._pieces(_plain(unit), ""))

    def _pieces(self, word: str, prefix: str) -> int:
        """The pieces of a word, of which the first is in the vocabulary with `prefix`."""
        pieces = start = 0
        while start < len(word):
            start = self._piece_end(word, start, "##" if start else prefix)
            pieces += 1
        return pieces

    def _piece_end(self, word: str, start: int, prefix: str) -> int:
        """Where the longest known piece ends; a character that is unknown is one by itself."""
        for end in range(min(len(word), start + self._longest), start, -1):
            if prefix + word[start:end] in self._vocabulary:
                return end
        return start + 1


def _plain(word: str) -> str:
    """Decomposed, without accents, in lower case."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").lower()


def _unit_pattern(characters: int) -> re.Pattern[str]:
    """Words, words that begin with a character of another script, gaps, other characters."""
    return re.compile(
        rf"[{_LATIN}]{{1,{characters}}}"
        rf"|[^\x00-\x7f\s{_LATIN}{_MARKS}][{_LATIN}]{{0,{characters - 1}}}"
        rf"|\s{{{GAP_CHARACTERS}}}|\S"
    )
