"""What "it" means at the start of a request: the last number that the session answered."""

import math
import re
from typing import Final

from core.turn import Exchange
from modules.offline.tools.pieces import number_of

MAX_ANSWER_CHARACTERS: Final = 500
"""Longer answers are texts, not numbers."""

_NUMBER: Final = r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?"
_ANSWER: Final = re.compile(
    rf"""
    (?: (?P<sentence> \D* \b(?:is|was|be|are|equals|gives|get|answer|result|total):? \s+)
      | (?P<equation> [^=]* =\s*) )?
    (?P<number> {_NUMBER})
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""A number, with nothing before it but a sentence or an equation that ends in it."""


def last_number(history: tuple[Exchange, ...]) -> int | float | None:
    """The latest answer that is one number or ends in one, as a value; None if there is none.

    Answers in words alone are passed over; one with other numbers in it is not, as "it" may
    mean those.
    """
    for exchange in reversed(history):
        if exchange.answer is None:
            continue
        if (number := number_in(exchange.answer)) is not None:
            return number
        if any(char.isdigit() for char in exchange.answer):
            return None
    return None


def number_in(answer: str) -> int | float | None:
    """The number that an answer is, or ends in: "The result is 21.", "2^10 = 1024"."""
    text = answer.strip().removesuffix(".").strip()
    if not text or len(text) > MAX_ANSWER_CHARACTERS:
        return None
    match = _ANSWER.fullmatch(text)
    if match is None:
        return None
    value = number_of(match["number"].replace("−", "-"))
    # Only a float can be infinite; `isinf` of an int beyond the range of floats raises.
    return None if isinstance(value, float) and math.isinf(value) else value
