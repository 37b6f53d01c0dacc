"""JSON of strangers: read as far as it says something, in bounded time; the arguments of calls."""

import json
import math
import re
from contextlib import suppress

from pydantic_core import from_json, to_json

from core.ports import NativeToolCall, TextDelta
from core.values import Json
from modules.models.serving.watched import MAX_NATIVE_CALLS

JSON_MARKS_MAX = 100_000
"""Opening brackets and braces, commas and colons in one piece of JSON, those in texts too: each
may stand for a value, and a value costs up to a microsecond in which nothing else can run."""

MENDED_BYTES_MAX = 128 * 1024
"""In longer JSON nothing but bad UTF-8 is put right; it would take too long."""

ARGUMENT_CHARACTERS_MAX = 200_000
"""So much of the arguments of all tool calls of a reply is kept."""

COUNT_MAX = 2**53
"""A larger number is no count."""

_HUGE = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")
"""What a number holds that is larger than a float."""


def json_value(data: bytes, *, keep_halves: bool = False) -> Json:
    """What a piece of JSON says; None where it says nothing.

    Bytes that are no UTF-8 and halves of surrogate pairs are replaced; NaN and what is larger
    than a float are null. What is nested or filled beyond all measure says nothing.
    `keep_halves` leaves the halves, for a stream whose next piece may have the other.
    """
    if sum(map(data.count, (b"[", b"{", b",", b":"))) > JSON_MARKS_MAX:
        return None
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError:
        value = _mended(data, keep_halves)
    return _finite(value) if _HUGE.search(data) else value


def whole_characters(text: str) -> str:
    """The text with the halves of surrogate pairs that follow each other as one character.

    A half that stands alone becomes a question mark.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "replace").decode()
    return text


def without_half(text: str) -> tuple[str, str]:
    """The text without the first half of a surrogate pair at its end, and that half."""
    if text and "\ud800" <= text[-1] <= "\udbff":
        return text[:-1], text[-1]
    return text, ""


def with_whole_characters(call: NativeToolCall) -> NativeToolCall:
    """The call without halves of surrogate pairs in its name and arguments."""
    try:
        to_json([call.name, call.arguments])
    except ValueError:
        written = json.dumps(call.arguments, ensure_ascii=True).encode()
        arguments = json_value(written)
        return NativeToolCall(
            whole_characters(call.name), arguments if isinstance(arguments, dict) else {}
        )
    return call


def _mended(data: bytes, keep_halves: bool) -> Json:
    text = data.decode("utf-8-sig", "replace")
    with suppress(ValueError):
        return from_json(text, allow_inf_nan=False)
    if len(data) > MENDED_BYTES_MAX:
        return None
    try:
        value: Json = json.loads(text, parse_constant=_nothing)
        if keep_halves:
            return value
        # Through text once more, which makes each half of a surrogate pair a question mark.
        return from_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _nothing(_: str) -> None:
    """Stands for a number that JSON lacks."""


def _finite(value: Json) -> Json:
    """The value without infinities, which numbers such as 1e999 become."""
    if isinstance(value, list):
        return [_finite(element) for element in value]
    if isinstance(value, dict):
        return {name: _finite(element) for name, element in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value


def count_of(value: object) -> int | None:
    """A number of tokens or bytes; None if there is none that can be."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < COUNT_MAX else None


class ToolCalls:
    """The calls of one reply, by their places in it."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._texts: dict[int, list[str]] = {}
        self._begun = 0
        self._room = ARGUMENT_CHARACTERS_MAX

    def begin(self, index: int, name: str) -> None:
        """A call of this name; some servers repeat the name in every piece of it."""
        if index not in self._names:
            self._begun += 1
            if self._begun > MAX_NATIVE_CALLS:
                return
            self._names[index], self._texts[index] = "", []
        self._names[index] = self._names[index] or name

    def add(self, index: int, text: str) -> None:
        """A further piece of its arguments."""
        if index in self._texts and len(text) <= self._room:
            self._room -= len(text)
            self._texts[index].append(text)

    def after(self) -> int:
        """The place behind the last call."""
        return max(self._names, default=-1) + 1

    def take(self, index: int) -> NativeToolCall | TextDelta | None:
        """The call, which is whole now; None if there is none."""
        name = self._names.pop(index, None)
        return None if name is None else tool_call(name, "".join(self._texts.pop(index)))

    def take_all(self) -> list[NativeToolCall | TextDelta]:
        """All that are left, in order."""
        taken = map(self.take, sorted(self._names))
        return [call for call in taken if call is not None]


def tool_call(name: str, arguments: str) -> NativeToolCall | TextDelta:
    """A call with its arguments; as text, as it stands, where they are no object."""
    arguments = whole_characters(arguments)
    value = json_value(arguments.encode()) if arguments.strip() else {}
    if isinstance(value, str):  # some models quote the object once more
        value = json_value(value.encode("utf-8", "replace"))
    return NativeToolCall(name, value) if isinstance(value, dict) else TextDelta(name + arguments)
