"""JSON as it is shown: the beginning of a value's text, at the cost of the beginning only."""

import json
from collections.abc import Iterator

from core.base.json_types import Json

_SHOWN_LEVELS = 100  # containers within containers; each shows a bracket at least


def json_start(value: Json, characters: int) -> str:
    """A value as JSON on one line, cut after so many characters, with an ellipsis then.

    However large the value is, no more of it is read than is shown. What is nested deeper than
    100 levels, and integers of more digits than Python writes (4,300), show as an ellipsis.
    """
    shown = ""
    for piece in _pieces(value, characters, _SHOWN_LEVELS):
        shown += piece
        if len(shown) > characters:
            return f"{shown[:characters]}…"
    return shown


def _pieces(value: Json, longest: int, levels: int) -> Iterator[str]:
    """The text of a value, piece by piece; of longer texts only as much as can be shown."""
    if levels == 0:
        yield "…"
    elif isinstance(value, str):
        yield _quoted(value, longest)
    elif isinstance(value, list):
        yield "["
        for number, item in enumerate(value):
            yield ", " if number else ""
            yield from _pieces(item, longest, levels - 1)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for number, (name, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield f"{_quoted(name, longest)}: "
            yield from _pieces(item, longest, levels - 1)
        yield "}"
    else:
        yield _scalar(value)


def _quoted(text: str, longest: int) -> str:
    return json.dumps(text[: longest + 1], ensure_ascii=False)


def _scalar(value: float | None) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # an integer of too many digits
        return "…"
