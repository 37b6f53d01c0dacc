"""JSON values at the sandbox's border, in both directions.

Whatever a plan hands out was made by hostile code, whatever a tool hands in by a server that
we don't control: both are rebuilt here as plain JSON, under bounds on size and depth, so
that no later `json.dumps` or `str` on the host can fail or run long.
"""

import json
import math
from collections.abc import Iterable
from typing import cast

from core.base.json_text import INTEGER_DIGITS_MAX
from core.base.text import shorten
from core.values import Json
from modules.sandbox.language import MAX_MESSAGE_CHARACTERS

MAX_DEPTH_LEVELS = 100
"""Containers within containers; far below where CPython's own recursion would end."""

MAX_VALUES = 150_000
"""Values and names in one value, lists and objects counted twice. Each costs some tenths of a
microsecond in which nothing else runs, when the interpreter takes it over or Python counts what is
still in use: 50 ms in all, and the event loop would notice."""

MAX_NAME_CHARACTERS = 100
"""Longest class name that a message quotes."""

BITS_PER_DIGIT = math.log2(10)


class NotJson(Exception):
    """A value that JSON can't hold; the message starts with its kind, as in "a set"."""


class NotFinite(Exception):
    """A value holds an infinity or NaN, which Python has and JSON lacks (RFC 8259, section 6).

    They come from a plan's `float('inf')`, and from servers whose JSON was written by Python.
    Whatever they reached would have to refuse them: a request on the wire, the session's memory.
    """


class TooLarge(Exception):
    """A value beyond a bound on size, number, depth or digits; the message says which."""


def to_json(value: object, *, max_bytes: int, finite: bool = False) -> Json:
    """Rebuild `value` as plain JSON: tuples become lists, scalar keys become strings.

    Args:
        value: Anything; it is not changed.
        max_bytes: Bound on the size as compact JSON, in bytes of UTF-8 (escapes not counted).
        finite: Whether infinities and NaN are refused, as values; JSON lacks them.

    Raises:
        NotJson: there is no JSON for it.
        NotFinite: with `finite`, some number in it is infinite or none at all.
        TooLarge: it is too big or too deep, or has more than `MAX_VALUES` parts.
    """
    return JsonRebuilder(max_bytes, finite=finite).rebuild(value)


class JsonRebuilder:
    """`to_json` for values that share the bounds on size and number."""

    def __init__(self, max_bytes: int, *, finite: bool = False) -> None:
        """Leave room for `max_bytes` in all."""
        self._max_bytes = max_bytes
        self._left_bytes = max_bytes
        self._left_values = MAX_VALUES
        self._finite = finite

    def rebuild(self, value: object, levels: int = MAX_DEPTH_LEVELS) -> Json:
        """One more value, at most so many levels deep; raises what `to_json` does."""
        if value is None or isinstance(value, bool):
            self._spend(4)
            return value
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float):
            if self._finite and not math.isfinite(value):
                raise NotFinite(f"holds the number {value}, which JSON lacks")
            return self._float(value)
        if isinstance(value, str):
            return self._text(value)
        return self._container(value, levels)

    def _container(self, value: object, levels: int) -> Json:
        if levels == 0:
            raise TooLarge(f"it is nested deeper than {MAX_DEPTH_LEVELS} levels")
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), levels)
        if isinstance(value, list | tuple):
            return self._list(cast("Iterable[object]", value), levels)
        raise NotJson(_kind_of(value))

    def _object(self, value: dict[object, object], levels: int) -> Json:
        self._spend(2, values=2)
        rebuilt: dict[str, Json] = {}
        for key, item in value.items():
            if not (key is None or isinstance(key, str | int | float)):
                raise NotJson(f"a dict with {_kind_of(key)} as key")
            name = self._text(key if isinstance(key, str) else json.dumps(self._scalar(key)))
            self._spend(2, values=0)
            if name in rebuilt:
                shown = shorten(json.dumps(name), MAX_MESSAGE_CHARACTERS)
                raise NotJson(f"a dict with two keys that are {shown} in JSON")
            rebuilt[name] = self.rebuild(item, levels - 1)
        return rebuilt

    def _list(self, items: Iterable[object], levels: int) -> list[Json]:
        self._spend(2, values=2)
        rebuilt: list[Json] = []
        for item in items:
            self._spend(1, values=0)
            rebuilt.append(self.rebuild(item, levels - 1))
        return rebuilt

    def _scalar(self, key: float | None) -> Json:
        """A key that is no text; as one, an infinity is as good a name as any other."""
        return self._float(key) if isinstance(key, float) else self.rebuild(key, 1)

    def _float(self, value: float) -> float:
        self._spend(len(repr(value)))
        return value

    def _integer(self, value: int) -> int:
        digits = int(abs(value).bit_length() / BITS_PER_DIGIT) + 1
        if digits > INTEGER_DIGITS_MAX:
            raise TooLarge(f"it holds an integer of more than {INTEGER_DIGITS_MAX} digits")
        self._spend(digits)
        return int(value)

    def _text(self, value: str) -> str:
        encoded = value.encode("utf-8", "replace")  # lone surrogates can't cross the border
        self._spend(len(encoded) + 2)
        return encoded.decode()

    def _spend(self, count_bytes: int, values: int = 1) -> None:
        self._left_bytes -= count_bytes
        if self._left_bytes < 0:
            raise TooLarge(f"it is larger than {self._max_bytes:,} bytes of JSON")
        self._left_values -= values
        if self._left_values < 0:
            raise TooLarge(f"it holds more than {MAX_VALUES:,} values")


def _kind_of(value: object) -> str:
    """What to call a value in a message: "a set"."""
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
