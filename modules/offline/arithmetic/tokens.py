"""Cuts a request into tokens: numbers, words, quoted text, symbols.

Numbers follow Python's decimal literals plus thousands commas (`1,000`). Text that is none of these
becomes an unknown token, which no rule of the grammar takes; so do dates (`2026-11-21`), which only
look like arithmetic. One pass, linear in the text. `Cursor` reads the tokens.
"""

import math
import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

from modules.offline.arithmetic.vocabulary import Phrases
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

_YEAR: Final = r"(?:19|20)[0-9][0-9]"
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_TOKEN: Final = re.compile(
    rf"""
    (?P<space> \s+ )
  | (?P<no_number>  # digits that are no decimal number: other bases, dates
        0[xXbBoO][0-9A-Fa-f]+
      | (?<![\w.]) (?: {_YEAR} (?P<ymd>[-/]) {_DAY} (?P=ymd) {_DAY}
                    | {_DAY} (?P<dmy>[-/]) {_DAY} (?P=dmy) {_YEAR} ) (?!\w)
    )
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


def tokenize(source: str) -> tuple[Token, ...]:
    """The tokens of `source`, ended by one of kind END."""
    tokens = [token for match in _TOKEN.finditer(source) for token in _tokens_of(match)]
    return (*tokens, Token(Kind.END, "", len(source), len(source)))


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
    group, text, (start, end) = match.lastgroup, match[0], match.span()
    match group:
        case "space":
            return []
        case "number":
            return _numbers(text, start)
        case "double" | "curly" | "tick" | "single":
            return [Token(Kind.QUOTED, match[group], start, end)]
        case "symbol":
            return [Token(Kind.SYMBOL, SYMBOLS.get(text, text), start, end)]
        case "word":
            return [Token(Kind.WORD, text.lower().replace("’", "'"), start, end)]
        case _:
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


Result = TypeVar("Result")


class Cursor:
    """Reads tokens one after the other and can go back to an earlier position."""

    def __init__(self, source: str) -> None:
        """Cut the text into tokens and start at the first."""
        self.source = source
        self.tokens = tokenize(source)
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

    def at_word(self, *texts: str) -> bool:
        """Whether a word is here; one of these, if any are given."""
        token = self.peek()
        return token.kind is Kind.WORD and (not texts or token.text in texts)

    def at_phrase(self, *tables: Phrases) -> bool:
        """Whether a phrase of one of these tables starts here."""
        return any(self.find(table) is not None for table in tables)

    def accept(self, *texts: str) -> bool:
        """Take the token here if it is one of these words or symbols."""
        if self.at(*texts):
            self.position += 1
            return True
        return False

    def skip(self, *options: tuple[str, ...]) -> None:
        """Take one word of each of these options in turn, where it is here."""
        for texts in options:
            self.accept(*texts)

    def expect(self, *texts: str) -> None:
        """Take one of these words or symbols.

        Raises:
            Refusal: something else is here.
        """
        if not self.accept(*texts):
            raise self.misfit(f"where {quoted(texts[0])} is expected")

    def find(self, phrases: Phrases) -> tuple[int, str] | None:
        """The longest phrase that starts here: its number of tokens and its meaning."""
        token = self.peek()
        if token.kind is not Kind.WORD:
            return None
        for words, meaning in phrases.get(token.text, ()):
            if all(self.at(word, ahead=n) for n, word in enumerate(words)):
                return len(words), meaning
        return None

    def accept_phrase(self, *tables: Phrases) -> str | None:
        """Take the longest phrase that starts here, of the first table that has one."""
        for table in tables:
            if (found := self.find(table)) is not None:
                self.position += found[0]
                return found[1]
        return None

    def attempt(self, rule: Callable[[], Result | None]) -> Result | None:
        """What the rule reads; nothing is taken where that is nothing."""
        start = self.position
        if (found := rule()) is None:
            self.position = start
        return found

    def look_ahead(self, rule: Callable[[], Result]) -> Result:
        """What the rule would read here; nothing is taken."""
        start = self.position
        found = rule()
        self.position = start
        return found

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
