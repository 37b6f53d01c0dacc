"""Cuts a request into tokens: numbers, words, quoted text, symbols.

Numbers follow Python's decimal literals plus thousands commas (`1,000`). Text that is none of these
becomes an unknown token, which no rule of the grammar takes; so do dates (`2026-11-21`), which only
look like arithmetic. One pass, linear in the text. `Cursor` reads the tokens, and `NumberReader`
the numbers in them: digits, digits with a scale ("2 million"), number words, ordinals.
"""

import math
import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

from core.base.text import lazy_pattern
from modules.models.offline.arithmetic.tree import Number
from modules.models.offline.arithmetic.vocabulary import Phrases
from modules.models.offline.refusal import Ambiguous, Misfit, Refusal, quoted

NUMBER_WANTED: Final = "where a number is expected"


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
_TOKEN: Final = lazy_pattern(
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
_THOUSANDS: Final = lazy_pattern(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")


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
        return Misfit(f"it does not understand {quoted(word)} {where}".rstrip())


def _counted(names: str, start: int = 0, step: int = 1) -> dict[str, int]:
    return {name: start + place * step for place, name in enumerate(names.split())}


UNITS: Final = _counted("zero one two three four five six seven eight nine")
TEENS: Final = _counted(
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10
)
TENS: Final = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MULTIPLIERS: Final = {"hundred": 100, "dozen": 12, **SCALES}
ORDINALS: Final = _counted(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", 1
)
_PARTS: Final = {"half": 2, "quarter": 4, **{w: v for w, v in ORDINALS.items() if v > 2}}
FRACTIONS: Final = {**_PARTS, "halves": 2, **{f"{w}s": v for w, v in _PARTS.items() if v > 2}}
_ORDINAL_ENDINGS: Final = ("st", "nd", "rd", "th")
NUMBER_WORDS: Final = {**UNITS, **TEENS, **TENS}


class NumberReader(Cursor):
    """Adds the reading of numbers to the cursor."""

    list_depth: int = 0
    """How many lists are being read: there "and" separates items."""

    def at_number(self, ahead: int = 0) -> bool:
        """Whether a number starts here, in digits or words."""
        token = self.peek(ahead)
        if token.kind is not Kind.WORD:
            return token.kind is Kind.NUMBER
        if token.text == "a":
            return self.peek(ahead + 1).text in MULTIPLIERS
        return token.text in NUMBER_WORDS

    def read_number(self) -> Number | None:
        """The number here, taken; None if there is none.

        Raises:
            Refusal: a number word can be read in two ways, or a number is too large.
        """
        if not self.at_number():
            return None
        if self.peek().kind is Kind.NUMBER:
            value = number_value(self.take().text)
            while self.at_word(*MULTIPLIERS):
                value = value * MULTIPLIERS[self.take().text]
            if isinstance(value, float) and math.isinf(value):
                raise Refusal("a number is too large")
            return Number(value)
        return Number(self._number_words())

    def read_ordinal(self) -> int | None:
        """The ordinal here ("third", "10th"), taken; None if there is none."""
        if self.at_word(*ORDINALS):
            return ORDINALS[self.take().text]
        token, ending = self.peek(), self.peek(1)
        is_number = token.kind is Kind.NUMBER and token.text.isdigit()
        is_ending = ending.kind is Kind.WORD and ending.text in _ORDINAL_ENDINGS
        if is_number and is_ending and self.glued(1):
            self.position += 2
            return int(token.text)
        return None

    def _number_words(self) -> int | float:
        start = self.position
        total = 0
        smallest_scale = 10**15
        while True:
            group = self._below_hundred()
            group = self._hundreds(start, 1 if group is None else group)
            if not self.at_word(*SCALES):
                total += group
                break
            scale = SCALES[self.peek().text]
            if scale >= smallest_scale:
                raise self.misfit("in a number")
            self.take()
            smallest_scale = scale
            total += group * scale
            if not self._joined(start) and not self.at_number():
                break
        return self._decimals(total)

    def _below_hundred(self) -> int | None:
        """0 to 99; None for the "a" of "a hundred", which is taken."""
        if self.accept("a"):
            return None
        word = self.take().text
        ahead = 1 if self.at("-") and self.glued() and self.glued(1) else 0
        unit = self.peek(ahead)
        if word in TENS and unit.kind is Kind.WORD and UNITS.get(unit.text):
            self.position += ahead + 1
            return TENS[word] + UNITS[unit.text]
        return NUMBER_WORDS[word]

    def _hundreds(self, start: int, group: int) -> int:
        if self.accept("dozen"):
            return group * 12
        if not self.accept("hundred"):
            return group
        group *= 100
        if self._joined(start) or (self.at_number() and self.at_word()):
            group += self._below_hundred() or 0
        return group

    def _joined(self, start: int) -> bool:
        """Take the "and" of "two hundred and five", where it can mean nothing else."""
        if not (self.at("and") and self.peek(1).text in NUMBER_WORDS):
            return False
        if self.peek(2).text == "hundred":
            return False  # "five hundred and three hundred" are two numbers
        self.take()
        if self.list_depth:
            text = f"{self.span(start)} {self.peek().text}"
            raise Ambiguous(f"{quoted(text)} can be one number or two; write it in digits")
        return True

    def _decimals(self, whole: int) -> int | float:
        if not (self.at("point") and self.peek(1).text in UNITS):
            return whole
        self.take()
        digits = ""
        while self.at_word(*UNITS):
            digits += str(UNITS[self.take().text])
        return float(f"{whole}.{digits}")
