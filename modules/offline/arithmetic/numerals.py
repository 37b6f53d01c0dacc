"""Reads numbers: digits, digits with a scale ("2 million"), number words, ordinals."""

import math
from typing import Final

from modules.offline.arithmetic.tokens import Cursor, Kind, number_value
from modules.offline.arithmetic.tree import Number
from modules.offline.refusal import Ambiguous, Refusal, quoted


def _words(text: str) -> list[str]:
    return text.split()


UNITS: Final = {
    word: value
    for value, word in enumerate(_words("zero one two three four five six seven eight nine"))
}
TEENS: Final = {
    word: value
    for value, word in enumerate(
        _words("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"),
        start=10,
    )
}
TENS: Final = {
    word: value * 10
    for value, word in enumerate(
        _words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2
    )
}
SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MULTIPLIERS: Final = {"hundred": 100, "dozen": 12, **SCALES}
ORDINALS: Final = {
    word: value
    for value, word in enumerate(
        _words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
        start=1,
    )
}
ORDINAL_ENDINGS: Final = ("st", "nd", "rd", "th")
FRACTIONS: Final = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{f"{word}": value for word, value in ORDINALS.items() if value > 2},
    **{f"{word}s": value for word, value in ORDINALS.items() if value > 2},
}
NUMBER_WORDS: Final = frozenset({**UNITS, **TEENS, **TENS})


class NumberReader(Cursor):
    """Adds the reading of numbers to the cursor."""

    list_depth: int = 0
    """How many lists are being read: there "and" separates items."""

    def at_number(self, ahead: int = 0) -> bool:
        """Whether a number starts here, in digits or words."""
        token = self.peek(ahead)
        if token.kind is Kind.NUMBER:
            return True
        if token.text == "a" and token.kind is Kind.WORD:
            return self.peek(ahead + 1).text in MULTIPLIERS
        return token.kind is Kind.WORD and token.text in NUMBER_WORDS

    def read_number(self) -> Number | None:
        """The number here, taken; None if there is none.

        Raises:
            Refusal: a number word can be read in two ways, or a number is too large.
        """
        if not self.at_number():
            return None
        if self.peek().kind is Kind.NUMBER:
            value = number_value(self.take().text)
            while self.peek().kind is Kind.WORD and (scale := MULTIPLIERS.get(self.peek().text)):
                self.take()
                value = value * scale
            if isinstance(value, float) and math.isinf(value):
                raise Refusal("a number is too large")
            return Number(value)
        return Number(self._number_words())

    def read_ordinal(self) -> int | None:
        """The ordinal here ("third", "10th"), taken; None if there is none."""
        token = self.peek()
        if token.kind is Kind.WORD and token.text in ORDINALS:
            self.take()
            return ORDINALS[token.text]
        if token.kind is Kind.NUMBER and token.text.isdigit() and self.glued(1):
            ending = self.peek(1)
            if ending.kind is Kind.WORD and ending.text in ORDINAL_ENDINGS:
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
            scale = SCALES.get(self.peek().text)
            if scale is None or self.peek().kind is not Kind.WORD:
                total += group
                break
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
        if word in UNITS or word in TEENS:
            return UNITS.get(word, TEENS.get(word, 0))
        ahead = 1 if self.at("-") and self.glued() and self.glued(1) else 0
        unit = self.peek(ahead)
        if unit.kind is Kind.WORD and UNITS.get(unit.text):
            self.position += ahead + 1
            return TENS[word] + UNITS[unit.text]
        return TENS[word]

    def _hundreds(self, start: int, group: int) -> int:
        if self.accept("dozen"):
            return group * 12
        if not self.at("hundred"):
            return group
        self.take()
        group *= 100
        if self._joined(start) or (self.at_number() and self.peek().kind is Kind.WORD):
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
        while self.peek().kind is Kind.WORD and self.peek().text in UNITS:
            digits += str(UNITS[self.take().text])
        return float(f"{whole}.{digits}")
