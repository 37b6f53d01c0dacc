"""Cuts a request into tokens: numbers, words, quoted text, symbols.

Numbers follow Python's decimal literals plus thousands commas (`1,000`). Text that is none of these
becomes an unknown token, which no rule of the grammar takes; so do dates (`2026-11-21`), which only
look like arithmetic. One pass, linear in the text.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, NamedTuple, TypeVar

from modules.offline.refusal import Refusal, quoted


class Kind(Enum):
    """What a token is."""

    NUMBER = auto()
    WORD = auto()
    QUOTED = auto()
    SYMBOL = auto()
    UNKNOWN = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the request: `text` normalised, `start` and `end` its place in the source.

    Words are lower case, symbols in their canonical form, quoted text without its quotes.
    """

    kind: Kind
    text: str
    start: int
    end: int


SYMBOLS: Final = {
    "**": "^",
    "×": "*",
    "·": "*",
    "⋅": "*",
    "∙": "*",
    "÷": "/",
    "∕": "/",
    "−": "-",
    "–": "-",
    "⁄": "/",
}
"""Other ways to write a symbol, and the one that the grammar knows."""

_TOKEN: Final = re.compile(
    r"""
    (?P<space> \s+ )
  | (?P<number>
        [0-9]+ (?:,[0-9]+)+ (?:\.[0-9]+)?
      | (?: [0-9]+ (?:\.[0-9]+)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?
    )
  | "(?P<double> [^"\n]* )" | “(?P<curly> [^”\n]* )” | `(?P<tick> [^`\n]* )`
  | (?<!\w) ['‘](?P<single> [^'‘’\n]+ )['’] (?!\w)
  | (?P<symbol> \*\* | [-+*/%^()\[\],;:.?!=√∛°²³&×·⋅∙÷∕−–⁄] )
  | (?P<word> [^\W\d]+ (?: ['’] [^\W\d]+ )* )
  | (?P<unknown> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_YEAR: Final = r"(?:19|20)[0-9][0-9]"
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_NO_NUMBER: Final = re.compile(
    rf"""
    0[xXbBoO][0-9A-Fa-f]+
  | (?<![\w.]) (?: {_YEAR} (?P<ymd>[-/]) {_DAY} (?P=ymd) {_DAY}
                | {_DAY} (?P<dmy>[-/]) {_DAY} (?P=dmy) {_YEAR} ) (?!\w)
    """,
    re.VERBOSE,
)
"""Digits that are no decimal number: other bases, dates."""

_QUOTED_GROUPS: Final = ("double", "curly", "tick", "single")


def tokenize(source: str) -> tuple[Token, ...]:
    """The tokens of `source`, ended by one of kind END."""
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        if other := _NO_NUMBER.match(source, position):
            tokens.append(Token(Kind.UNKNOWN, other[0], position, other.end()))
            position = other.end()
            continue
        match = _TOKEN.match(source, position)
        if match is None:  # can't happen: the last alternative takes anything
            break
        tokens.extend(_tokens_of(match))
        position = match.end()
    tokens.append(Token(Kind.END, "", len(source), len(source)))
    return tuple(tokens)


def number_value(text: str) -> int | float:
    """The value of a number token: an int without point or exponent, else a float.

    Raises:
        Refusal: it is beyond the range of a float.
    """
    plain = text.replace(",", "")
    if plain.isdigit():
        return int(plain)
    value = float(plain)
    if math.isinf(value):
        raise Refusal(f"the number {quoted(text)} is too large")
    return value


def _tokens_of(match: re.Match[str]) -> list[Token]:
    group = match.lastgroup or "unknown"
    text, start, end = match[0], match.start(), match.end()
    if group == "space":
        return []
    if group == "number":
        return _numbers(text, start)
    if group in _QUOTED_GROUPS:
        return [Token(Kind.QUOTED, match[group], start, end)]
    if group == "symbol":
        return [Token(Kind.SYMBOL, SYMBOLS.get(text, text), start, end)]
    if group == "word":
        return [Token(Kind.WORD, text.lower().replace("’", "'"), start, end)]
    return [Token(Kind.UNKNOWN, text, start, end)]


def _numbers(text: str, start: int) -> list[Token]:
    """One number, or the items of `1,2,300`, whose commas can't be thousands commas."""
    if "," not in text or _THOUSANDS.fullmatch(text):
        return [Token(Kind.NUMBER, text, start, start + len(text))]
    tokens: list[Token] = []
    for piece in text.split(","):
        if tokens:
            tokens.append(Token(Kind.SYMBOL, ",", start - 1, start))
        tokens.append(Token(Kind.NUMBER, piece, start, start + len(piece)))
        start += len(piece) + 1
    return tokens


# Reading tokens: a place among them, and the tables of phrases that are looked up there.

Meaning = TypeVar("Meaning", covariant=True)


@dataclass(frozen=True, slots=True)
class Phrases(Generic[Meaning]):
    """Phrases of one or more words with what they mean, indexed by their first word."""

    by_first: Mapping[str, tuple[tuple[tuple[str, ...], Meaning], ...]]

    @classmethod
    def of(cls, table: Mapping[Meaning, str]) -> "Phrases[Meaning]":
        """From a table that gives for each meaning its phrases, separated by `|`."""
        index: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
        for meaning, phrases in table.items():
            for phrase in phrases.split("|"):
                words = tuple(phrase.split())
                index.setdefault(words[0], []).append((words, meaning))
        return cls(
            {
                first: tuple(sorted(entries, key=lambda entry: -len(entry[0])))
                for first, entries in index.items()
            }
        )


class Cursor:
    """Reads tokens one after the other and can go back to an earlier position."""

    def __init__(self, source: str, tokens: tuple[Token, ...]) -> None:
        """Start at the first token; `tokens` end with one of kind END."""
        self.source = source
        self.tokens = tokens
        self.position: int = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` places on, the END token past the end."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    @property
    def previous(self) -> Token:
        """The token taken last."""
        return self.tokens[max(self.position - 1, 0)]

    def take(self) -> Token:
        """The token here; goes on by one."""
        token = self.peek()
        self.position += 1
        return token

    def at(self, *texts: str, ahead: int = 0) -> bool:
        """Whether a word or symbol token with one of these texts is here."""
        token = self.peek(ahead)
        return token.kind in (Kind.WORD, Kind.SYMBOL) and token.text in texts

    def accept(self, *texts: str) -> bool:
        """Take the token here if it is one of these words or symbols."""
        if self.at(*texts):
            self.position += 1
            return True
        return False

    def expect(self, *texts: str) -> None:
        """Take one of these words or symbols.

        Raises:
            Refusal: something else is here.
        """
        if not self.accept(*texts):
            raise self.misfit(f"where {quoted(texts[0])} is expected")

    def find(self, phrases: Phrases[Meaning]) -> tuple[int, Meaning] | None:
        """The longest phrase that starts here: its number of tokens and its meaning."""
        token = self.peek()
        if token.kind is not Kind.WORD:
            return None
        for words, meaning in phrases.by_first.get(token.text, ()):
            if all(self.at(word, ahead=n) for n, word in enumerate(words)):
                return len(words), meaning
        return None

    def accept_phrase(self, phrases: Phrases[Meaning]) -> Meaning | None:
        """Take the longest phrase that starts here, if there is one."""
        found = self.find(phrases)
        if found is None:
            return None
        self.position += found[0]
        return found[1]

    def glued(self, ahead: int = 0) -> bool:
        """Whether no space stands between the token here and the one before it."""
        index = self.position + ahead
        return 0 < index < len(self.tokens) and (
            self.tokens[index - 1].end == self.tokens[index].start
        )

    def span(self, start: int) -> str:
        """The source text from token `start` up to the token taken last."""
        if self.position <= start:
            return ""
        return self.source[self.tokens[start].start : self.tokens[self.position - 1].end]

    def misfit(self, where: str = "") -> Refusal:
        """The refusal for the token here, which no rule takes; `where` says what was expected."""
        token = self.peek()
        if token.kind is Kind.END:
            return Refusal(f"the request ends {where or 'too early'}")
        word = self.source[token.start : token.end]
        return Refusal(f"it does not understand {quoted(word)} {where}".rstrip())
