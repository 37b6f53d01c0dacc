"""Everyday requests about a text that came with them: `how many lines does this have?`.

The text takes the place of "this" in the request. The tables then read it like one in quotes, and
the plan has it as a variable; numbers alone are read as if they stood in the request.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from core.ports import DecisionInputs, TextInput
from modules.offline.everyday.rule import MAX_ITEMS, first_match
from modules.offline.everyday.texts import TEXTS
from modules.offline.plan_source import filled, literal
from modules.offline.quotes.asking import QUESTION_CHARACTERS_MAX, bare

_STAND_IN: Final = "\ue000"
"""Of private use (Unicode): no request holds it."""

_REFERENCE: Final = re.compile(
    r"\b(?:(?:the|this|that|these|those|all|all the|all these) "
    r"(?:file|text|input|log|list|document|data|output|page|numbers?|values?|figures)"
    r"|this|that|these|those|it|them|stdin|standard input)\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[\s,;]+[-+]?\d+(?:\.\d+)?)*")
_NUMBERS_CHARACTERS_MAX: Final = 4_000


def lines_about_given(inputs: DecisionInputs) -> list[str] | None:
    """The lines of a plan for a question about the text, if a table knows it."""
    request = bare(inputs.user_input)
    if not inputs.texts or len(request) > QUESTION_CHARACTERS_MAX or _STAND_IN in request:
        return None
    given = inputs.texts[0]
    for text in (*_with_reference(request, f'"{_STAND_IN}"'), f'{request} in "{_STAND_IN}"'):
        if (found := first_match(TEXTS, text)) is not None:
            rule, values = found
            about = literal(_STAND_IN)
            if about in values.values():
                named = {slot: given.name if v == about else v for slot, v in values.items()}
                return filled(rule.lines, named)
    return None


def with_given_numbers(inputs: DecisionInputs) -> DecisionInputs | None:
    """The same with the numbers of the text in the request, where it holds nothing else."""
    if not inputs.texts or (listed := _numbers(inputs.texts[0])) is None:
        return None
    request = next(_with_reference(inputs.user_input, listed), None)
    return None if request is None else replace(inputs, user_input=request)


def _with_reference(request: str, what: str) -> Iterator[str]:
    """The request with `what` in the place of each word that may mean the text, the last first."""
    for found in reversed([*_REFERENCE.finditer(request)]):
        yield f"{request[: found.start()]}{what}{request[found.end() :]}"


def _numbers(given: TextInput) -> str | None:
    text = given.text.strip()
    if len(text) > _NUMBERS_CHARACTERS_MAX or not _NUMBERS.fullmatch(text):
        return None
    numbers = re.split(r"[\s,;]+", text)
    return ", ".join(numbers) if 1 < len(numbers) <= MAX_ITEMS else None
