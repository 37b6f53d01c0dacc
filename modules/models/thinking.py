"""Tells a reasoning model's thinking from its reply where both come as one text.

DeepSeek-R1, Qwen3 and their like begin with `<think>…</think>`; servers that know the model take
that out themselves, others pass it on. Tags may be cut anywhere by the deltas they come in.
"""

from typing import TypeAlias

from core.ports import TextDelta, ThinkingDelta

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
"""What thinking opens with, and what ends it."""

BLANKS_MAX = 256
"""After more blanks no tag is waited for."""

WrittenDelta: TypeAlias = TextDelta | ThinkingDelta


class ThinkingSplitter:
    """Sorts the pieces of one text; every piece is looked at once.

    Thinking is what stands between the tags at the very beginning, blanks before them aside; a
    tag further on is text. Thinking that never ends is thinking to the last.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """With `opened` the text begins within the thinking: the prompt ended with the tag."""
        self._at_start = not opened
        self._end_tag: str | None = "</think>" if opened else None
        self._after_thinking = False
        self._held = ""

    def feed(self, piece: str) -> list[WrittenDelta]:
        """What is certain with this further piece; the beginning of a tag waits for its rest."""
        text, self._held = self._held + piece, ""
        if self._at_start:
            return self._begin(text)
        if self._end_tag is not None:
            return self._think(text, self._end_tag)
        return self._write(text)

    def end(self) -> list[WrittenDelta]:
        """What still waited when the text ended; nothing may be fed after that."""
        rest, self._held = self._held, ""
        if not rest:
            return []
        return [ThinkingDelta(rest) if self._end_tag is not None else TextDelta(rest)]

    def _begin(self, text: str) -> list[WrittenDelta]:
        start = text.lstrip()
        for tag, end_tag in _TAGS.items():
            if start.startswith(tag):
                self._at_start, self._end_tag = False, end_tag
                return self._think(start[len(tag) :], end_tag)
        if len(text) <= BLANKS_MAX and any(tag.startswith(start) for tag in _TAGS):
            self._held = text
            return []
        self._at_start = False
        return self._write(text)

    def _think(self, text: str, end_tag: str) -> list[WrittenDelta]:
        thought, found, rest = text.partition(end_tag)
        if found:
            self._end_tag, self._after_thinking = None, True
            return [*([ThinkingDelta(thought)] if thought else []), *self._write(rest)]
        held = _begun(text, end_tag)
        self._held = text[len(text) - held :]
        sure = text[: len(text) - held]
        return [ThinkingDelta(sure)] if sure else []

    def _write(self, text: str) -> list[WrittenDelta]:
        if self._after_thinking:  # the blank lines between thinking and reply belong to neither
            text = text.lstrip()
            self._after_thinking = not text
        return [TextDelta(text)] if text else []


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(tag[:n])), 0)
