"""What "it" means at the start of a request: the last number that the session answered."""

import math
import re
from typing import Final

from core.turn import Exchange
from modules.offline.literals import number_of

MAX_ANSWER_CHARACTERS: Final = 500
"""Longer answers are texts, not numbers."""

_NUMBER: Final = re.compile(
    r"(?<![\w.,])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w,]|\.\d)"
)


def last_number(history: tuple[Exchange, ...]) -> int | float | None:
    """The latest answer that is one number or ends in one, as a value; None if there is none."""
    for exchange in reversed(history):
        if (number := number_in(exchange.answer)) is not None:
            return number
    return None


def number_in(answer: str) -> int | float | None:
    """The number that an answer is, or ends in: after "=", or as its only number."""
    text = answer.strip().removesuffix(".").strip()
    if not text or len(text) > MAX_ANSWER_CHARACTERS:
        return None
    numbers = list(_NUMBER.finditer(text))
    if not numbers or numbers[-1].end() != len(text):
        return None
    last = numbers[-1]
    alone = len(numbers) == 1 and len(re.findall(r"\d+", text[: last.start()])) == 0
    result = text.count("=") == 1 and text[: last.start()].rstrip().endswith("=")
    if not (alone or result):
        return None
    value = number_of(last[0].replace("−", "-"))
    return None if value is None or math.isinf(value) else value
