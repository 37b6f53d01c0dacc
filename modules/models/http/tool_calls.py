"""Tool calls in a provider's own form, whose arguments come as JSON in pieces."""

from core.ports import NativeToolCall, TextDelta
from modules.models.http.json_text import json_value
from modules.models.serving.reply import MAX_NATIVE_CALLS

ARGUMENT_CHARACTERS_MAX = 200_000
"""So much of the arguments of all tool calls of a reply is kept."""


class ToolCalls:
    """The calls of one reply, by their places in it."""

    def __init__(self) -> None:
        """None has come yet."""
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
    value = json_value(arguments.encode("utf-8", "replace")) if arguments.strip() else {}
    if isinstance(value, str):  # some models quote the object once more
        value = json_value(value.encode("utf-8", "replace"))
    return NativeToolCall(name, value) if isinstance(value, dict) else TextDelta(name + arguments)
