"""Numbers that Python has and JSON lacks (RFC 8259, section 6): infinities, and NaN.

They come from a plan's `float('inf')`, and from servers whose JSON was written by Python. Whatever
they reached later would have to refuse them: a request on the wire, the session's memory, `--json`.
"""

import math

from core.values import Json


class NotFinite(Exception):
    """A value holds such a number; the message says so without naming the value."""


def refuse_infinite(value: Json) -> None:
    """Look through a value that was rebuilt, and is bounded by that.

    Raises:
        NotFinite: some number in it is infinite or none at all.
    """
    waiting: list[Json] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, float):
            if not math.isfinite(part):
                raise NotFinite(f"holds the number {part}, which JSON lacks")
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
