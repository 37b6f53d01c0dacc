"""Reads the pieces of a Gemini reply: what each one adds, and how the whole of it ended.

Follows GenerateContentResponse, Candidate and FinishReason of the Gemini API. The SDK makes an
object of each JSON value in 80 µs, which holds up all tasks: so events are bounded before
(`few_values`). Heavy: imports google.genai (0.6 s).
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import cast

from google.genai.types import (
    Candidate,
    FinishReason,
    GenerateContentResponse,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic_core import from_json

from core.ports import NativeToolCall, ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.client import TooLong
from modules.models.http.errors import ServiceErrors
from modules.models.http.reply import ReplyReader

EVENT_VALUES_MAX = 500
"""JSON values in one event: a piece of a reply has some 50."""

EVENT_BYTES_MAX = 256 * 1024
"""Longest event: a delta has some hundred bytes."""

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA_FIELD = re.compile(rb"^data: ?", re.MULTILINE)
_BEFORE_A_VALUE = (b",", b"{", b"[")

_AT_THE_LIMIT = (FinishReason.MAX_TOKENS, FinishReason.CONTINUATION)
"""The reply goes on, but there is no room for it."""

_TOOL_SLIPS = (
    FinishReason.MALFORMED_FUNCTION_CALL,
    FinishReason.UNEXPECTED_TOOL_CALL,
    FinishReason.TOO_MANY_TOOL_CALLS,
)
"""The model called tools in a form of its own. It does so now and then, hence another try."""


_MODELS_OWN = (FinishReason.STOP, *_AT_THE_LIMIT, *_TOOL_SLIPS)
"""The model itself came to an end, or to its limit."""


class GeminiReply(ReplyReader[GenerateContentResponse]):
    """Reads one reply; it is complete once the model has said why it stops."""

    def __init__(self, errors: ServiceErrors) -> None:
        """Nothing is there yet."""
        super().__init__(errors)
        self._has_content = False
        self._reason: FinishReason | None = None

    def feed(self, piece: GenerateContentResponse, /) -> Iterator[ReplyDelta]:
        """What one more piece adds.

        Raises:
            ModelUnavailable: the service refuses the prompt.
        """
        feedback = piece.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            raise self.errors.refused_prompt(feedback.block_reason.value)
        if piece.usage_metadata is not None:
            self.usage = _usage(piece.usage_metadata, self.usage)
        if piece.candidates:
            yield from self._take_candidate(piece.candidates[0])

    def end(self) -> Iterator[ReplyDelta]:
        """What is left when no piece comes any more.

        Raises:
            ModelUnavailable: the reply is empty, was stopped, or is not whole; behind `ReplyEnd`,
                as it is billed.
        """
        was_cut = self._reason in _AT_THE_LIMIT
        yield ReplyEnd(self.usage, "length" if was_cut else "stop")
        if not self._has_content:
            raise self.errors.without_text(
                self._reason.value if self._reason is not None else "empty",
                was_cut=was_cut,
                transient=self._reason in _TOOL_SLIPS,
            )
        if self._reason is None:
            raise self.errors.broke_off()
        if self._reason not in _MODELS_OWN:  # a filter
            raise self.errors.stopped(self._reason.value)

    def _take_candidate(self, candidate: Candidate) -> Iterator[ReplyDelta]:
        if candidate.finish_reason is not None:
            self._reason, self.is_complete = candidate.finish_reason, True
        parts = candidate.content.parts if candidate.content is not None else None
        for part in parts or ():
            yield from self._take_part(part)

    def _take_part(self, part: Part) -> Iterator[ReplyDelta]:
        if part.text:
            if part.thought:
                yield ThinkingDelta(part.text)
            else:
                self._has_content = True
                yield TextDelta(part.text)
        if part.function_call is not None and part.function_call.name:
            self._has_content = True
            arguments = cast("JsonObject", part.function_call.args or {})  # from JSON, typed as any
            yield NativeToolCall(part.function_call.name, arguments)


def _usage(counts: GenerateContentResponseUsageMetadata, before: Usage) -> Usage:
    """Tokens as they are billed: thoughts count as output, what was cached is part of the input.

    Every piece may tell the sums so far; what the last does not tell stands as it was.
    """
    read, cached = counts.prompt_token_count, counts.cached_content_token_count
    written, thought = counts.candidates_token_count, counts.thoughts_token_count
    return Usage(
        model_calls=1,
        input_tokens=before.input_tokens if read is None else read,
        output_tokens=max(before.output_tokens, (written or 0) + (thought or 0)),
        cached_tokens=before.cached_tokens if cached is None else cached,
    )


async def few_values(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Pass whole events on; the beginning of one waits for its end.

    Raises:
        TooLong: an event is too long, or has too many values.
    """
    waiting = b""
    async for piece in pieces:
        # A blank line that the last piece began ends in this one.
        begin, block = max(0, len(waiting) - 3), waiting + piece
        end = max((blank.end() for blank in _BLANK_LINE.finditer(block, begin)), default=0)
        block, waiting = block[:end], block[end:]
        if len(waiting) > EVENT_BYTES_MAX:
            raise TooLong(f"an event of more than {EVENT_BYTES_MAX:,} bytes")
        if block:
            yield _checked(block)
    if waiting:
        yield _checked(waiting)


def _checked(block: bytes) -> bytes:
    """Whole events, if each holds few values."""
    if _has_few_signs(block):
        return block  # the usual case, told without reading it
    for event in _BLANK_LINE.split(block):
        if not _has_few_signs(event) and _holds_too_many(event):
            raise TooLong(f"an event of more than {EVENT_VALUES_MAX:,} values")
    return block


def _has_few_signs(text: bytes) -> bool:
    """Whether JSON holds too few commas and brackets for so many values, in texts too."""
    return sum(map(text.count, _BEFORE_A_VALUE)) < EVENT_VALUES_MAX


def _holds_too_many(event: bytes) -> bool:
    """Whether the JSON of an event has too many values, keys aside, or is none."""
    try:
        document: Json = from_json(_DATA_FIELD.sub(b"", event))
    except ValueError:
        return True
    waiting, count = [document], 0
    while waiting and count <= EVENT_VALUES_MAX:
        value = waiting.pop()
        count += 1
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    return count > EVENT_VALUES_MAX
