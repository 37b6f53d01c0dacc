"""Reads numbers: digits, digits with a scale ("2 million"), number words, ordinals."""

import math
from typing import Final

from modules.offline.arithmetic.tokens import Cursor, Kind, number_value
from modules.offline.arithmetic.tree import Number
from modules.offline.refusal import Ambiguous, Refusal, quoted


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
