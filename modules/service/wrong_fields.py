"""What is wrong with the fields of a request, in words for whoever wrote the program that sent it.

`core/tools/findings.py` tells the same of a validator of JSON Schema, to who writes Python.
"""

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from core.base.text import clause, counted, one_line

WRONG_SHOWN_MAX: Final = 5
"""So many wrong fields are named."""

PLACE_CHARACTERS_MAX: Final = 120
WORDS_CHARACTERS_MAX: Final = 300

_KINDS: Final = frozenset({"str", "int", "float", "bool"})
"""Steps of a place that are none: Pydantic tells so which of several types it has tried."""

_MUST_BE: Final = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "dataclass": "an object",
}
"""What is wanted, by the first word of Pydantic's name for the error."""

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is unknown; leave it out",
    "json_invalid": "is no JSON: {error}",
    "value_error": "{error}",
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt:,.10g}",
    "greater_than_equal": "must be at least {ge:,.10g}",
    "less_than": "must be below {lt:,.10g}",
    "less_than_equal": "must be at most {le:,.10g}",
    "string_too_short": "must have a length of at least {min_length:,}",
    "string_too_long": "must have at most {max_length:,} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have a length of at least {min_length:,}",
    "too_long": "must have at most {max_length:,} items",
}
"""The sentence behind the field, by Pydantic's name for the error."""


def wrong_fields(error: ValidationError) -> str:
    """The mistakes in one sentence: "`message` is missing; `messages[0].role` must be a text".

    Values are not quoted: one may be a secret.
    """
    wrong: dict[str, list[str]] = {}
    for each in error.errors(include_url=False, include_input=False):
        place = one_line(place_of(each), PLACE_CHARACTERS_MAX)
        words = wrong.setdefault(f"`{place}`" if place else "the body", [])
        if (said := _words(each)) not in words:
            words.append(said)
    told = [f"{field} {' or '.join(words)}" for field, words in wrong.items()]
    more = len(told) - WRONG_SHOWN_MAX
    rest = [f"and {counted(more, 'more mistake')}"] if more > 0 else []
    return "; ".join([*told[:WRONG_SHOWN_MAX], *rest])


def place_of(each: ErrorDetails) -> str:
    """The wrong field as a program would name it, `messages[0].content`; empty for the whole."""
    steps = [*each["loc"]]
    if each["type"] != "extra_forbidden":  # there the last step is a name, whatever it is
        steps = [step for step in steps if step not in _KINDS]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return place.removeprefix(".")


def _words(each: ErrorDetails) -> str:
    kind = each["type"]
    if kind in _WORDS:
        said = _WORDS[kind].format_map(each.get("ctx", {}))
    elif (first := kind.partition("_")[0]) in _MUST_BE:
        said = f"must be {_MUST_BE[first]}"
    else:
        said = f"can't be taken: {each['msg']}"
    return clause(one_line(said, WORDS_CHARACTERS_MAX))
