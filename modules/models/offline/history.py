"""What a request means by what came before it: "it", "again", "what did I ask first?"."""

import math
import re
from typing import Final

from core.base.text import lazy_pattern
from core.turn import Exchange
from modules.models.offline.plan_source import literal
from modules.models.offline.quotes.asking import bare
from modules.models.offline.tools.pieces import number_of

MAX_ANSWER_CHARACTERS: Final = 500
"""Longer answers are texts, not numbers."""

_NUMBER: Final = r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?"
_ANSWER: Final = lazy_pattern(
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
        answer = exchange.answer or ""
        text = answer.strip().removesuffix(".").strip()
        match = _ANSWER.fullmatch(text) if len(text) <= MAX_ANSWER_CHARACTERS else None
        number = None if match is None else number_of(match["number"].replace("−", "-"))
        # Only a float can be infinite; `isinf` of an int beyond the range of floats raises.
        if number is not None and not (isinstance(number, float) and math.isinf(number)):
            return number
        if any(char.isdigit() for char in answer):
            return None
    return None


_AGAIN: Final = lazy_pattern(
    r"(?:try )?again"
    r"|(?:do|say|run|repeat|ask) (?:it|that|this|the (?:same|last (?:one|request|question)))"
    r"(?: again| once more| one more time)?|once more|one more time|same again|repeat(?: please)?",
    re.IGNORECASE,
)
_ASKED: Final = lazy_pattern(
    r"what (?:was|is) (?:the |my )(?P<which>first|last|previous|second|third)"
    r" (?:thing|question|request)(?: (?:that )?i (?:asked|said|wanted|typed))?(?: you)?"
    r"|what did i (?:ask|say|want)(?: you)?(?: (?P<when>first|last|before|just now))?"
    r"|what (?:have|did) i just (?:asked|ask|said|say)",
    re.IGNORECASE,
)
_ANSWERED: Final = lazy_pattern(
    r"what was (?:the |your )(?P<which>first|last|previous|second|third) (?:answer|result)"
    r"|what did you (?:answer|say)(?: (?P<when>first|last|before|just now))?",
    re.IGNORECASE,
)
NO_ANSWER: Final = "There was no answer."
NOTHING_BEFORE: Final = "Nothing was asked in this session before this."

_PLACES: Final = {"first": 0, "second": 1, "third": 2}


def repeated(request: str, history: tuple[Exchange, ...]) -> tuple[str, tuple[Exchange, ...]]:
    """What "again" asks for once more, with what came before it; other requests as they are."""
    while history and _AGAIN.fullmatch(bare(request)):
        request, history = history[-1].request, history[:-1]
    return request, history


def recalled(text: str, history: tuple[Exchange, ...]) -> str | None:
    """The lines of a plan that tells what was asked or answered; None for other requests."""
    asked, answered = _ASKED.fullmatch(text), _ANSWERED.fullmatch(text)
    found = asked or answered
    if found is None:
        return None
    if not history:
        return f"answer = {literal(NOTHING_BEFORE)}"
    place = _PLACES.get((found["which"] or found["when"] or "last").lower(), len(history) - 1)
    if place >= len(history):
        return None
    exchange = history[place]
    told = exchange.request if asked else exchange.answer
    return f"answer = {literal(NO_ANSWER if told is None else told)}"
