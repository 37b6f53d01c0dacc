"""JSON: its types, how much one text may hold (counted before it is parsed), how a value begins.

A text is parsed in one go, in which nothing else runs, and its bytes don't tell what that takes:
4.5 million keys fit in 60 MB and need seconds. So values, keys and long integers are counted first,
in slices. What stands in texts does not count: a text of any length is read at the speed of memory.
"""

import json
from collections.abc import Generator, Iterator
from typing import Final, TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
"""For type checkers; `core.values` has the form of both that Pydantic can follow."""

MESSAGE_PARTS_MAX: Final = 200_000
"""Values and keys in one text; each may cost a quarter of a microsecond."""

INTEGER_DIGITS_MAX: Final = 4_300
"""Digits of one integer; Python converts no longer ones (`sys.int_info.default_max_str_digits`)."""

MESSAGE_DIGITS_MAX: Final = 1_000_000
"""Digits of all integers of at least `LONG_DIGITS`, about: those convert slowly, to and fro."""

UNCOUNTED_BYTES_MAX: Final = INTEGER_DIGITS_MAX
"""What is not longer can't hold too much of anything."""

LONG_DIGITS: Final = 20
"""So many digits no longer fit into a word of the machine."""

SLICE_BYTES: Final = 128 * 1024
"""Counted in one go, in some milliseconds at most."""

T = TypeVar("T")

_DIGITS = b"0123456789"
_ALL_ZEROS = bytes.maketrans(_DIGITS, b"0" * len(_DIGITS))
_LONG, _TOO_LONG = b"0" * LONG_DIGITS, b"0" * (INTEGER_DIGITS_MAX + 1)


def excess(data: bytes) -> Generator[None, None, str | None]:
    """What a text holds too much of, as in "more than 200,000 values"; None if all is well.

    Yields after each slice of work.
    """
    parts = digits = 0
    end, in_text, run = 0, False, b""
    while end < len(data):
        piece = data[end : end + SLICE_BYTES]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # no escape may be cut in two
            piece += data[end + len(piece) : end + len(piece) + 1]
        end += len(piece)
        if in_text and b'"' not in piece:
            yield
            continue
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        texts = piece.split(b'"')
        outside = b'"'.join(texts[in_text::2])
        in_text ^= len(texts) % 2 == 0
        parts += len(outside) - len(outside.translate(None, b",:[{"))
        zeros = (run + outside).translate(_ALL_ZEROS)
        if _TOO_LONG in zeros:
            return f"an integer of more than {INTEGER_DIGITS_MAX:,} digits"
        whole = zeros.rstrip(b"0")
        digits += whole.count(_LONG) * LONG_DIGITS
        run = zeros[len(whole) :]
        if parts > MESSAGE_PARTS_MAX:
            return f"more than {MESSAGE_PARTS_MAX:,} values and keys"
        if digits > MESSAGE_DIGITS_MAX:
            return f"integers of more than {MESSAGE_DIGITS_MAX:,} digits in all"
        yield
    return None


def at_once(work: Generator[None, None, T]) -> T:
    """What sliced work comes to, done without a pause: for what is short."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value


def texts_in(value: Json) -> Iterator[str]:
    """The texts in a value, names included, in order; numbers as text."""
    waiting: list[Json] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, list):
            waiting += reversed(inner)
        elif isinstance(inner, dict):
            for name, part in reversed(inner.items()):
                waiting += (part, name)
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            yield _number_text(inner)


def _number_text(number: float) -> str:
    """A number as Python writes it; nothing for one of more digits than that."""
    try:
        return str(number)
    except ValueError:
        return ""


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
