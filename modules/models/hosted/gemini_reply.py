"""Reads the pieces of a Gemini reply: what each one adds, and how the whole of it ended.

Follows GenerateContentResponse, Candidate and FinishReason of the Gemini API. Heavy: imports
google.genai (0.6 s).
"""

import json
from collections.abc import Iterator
from typing import cast

from google.genai.types import (
    Candidate,
    FinishReason,
    GenerateContentResponse,
    GenerateContentResponseUsageMetadata,
    Part,
)

from core.ports import NativeToolCall, ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta
from core.turn import Usage
from core.values import JsonObject
from modules.models.http.errors import ServiceErrors

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


class GeminiReply:
    """Reads one reply (`ReplyReader`); it is complete once the model has said why it stops."""

    def __init__(self, errors: ServiceErrors) -> None:
        """Nothing is there yet."""
        self._errors = errors
        self._has_content = False
        self._usage = Usage(model_calls=1)
        self._reason: FinishReason | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing of it is to come."""
        return self._reason is not None

    def feed(self, piece: GenerateContentResponse, /) -> Iterator[ReplyDelta]:
        """What one more piece adds.

        Raises:
            ModelUnavailable: the service refuses the prompt.
        """
        feedback = piece.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            raise self._errors.refused_prompt(feedback.block_reason.value)
        if piece.usage_metadata is not None:
            self._usage = _usage(piece.usage_metadata, self._usage)
        if piece.candidates:
            yield from self._take_candidate(piece.candidates[0])

    def so_far(self) -> ReplyEnd:
        """What it has taken up to here."""
        return ReplyEnd(self._usage)

    def end(self) -> Iterator[ReplyDelta]:
        """What is left when no piece comes any more.

        Raises:
            ModelUnavailable: the reply is empty, was stopped, or is not whole; behind `ReplyEnd`,
                as it is billed.
        """
        was_cut = self._reason in _AT_THE_LIMIT
        yield ReplyEnd(self._usage, "length" if was_cut else "stop")
        if not self._has_content:
            raise self._errors.without_text(
                self._reason.value if self._reason is not None else "empty",
                was_cut=was_cut,
                transient=self._reason in _TOOL_SLIPS,
            )
        if self._reason is None:
            raise self._errors.broke_off()
        if self._reason not in _MODELS_OWN:  # a filter
            raise self._errors.stopped(self._reason.value)

    def _take_candidate(self, candidate: Candidate) -> Iterator[ReplyDelta]:
        if candidate.finish_reason is not None:
            self._reason = candidate.finish_reason
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
            yield NativeToolCall(part.function_call.name, _json_object(part.function_call.args))


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


def _json_object(arguments: dict[str, object] | None) -> JsonObject:
    """Arguments of a call, which come from JSON but are typed as anything."""
    return cast("JsonObject", json.loads(json.dumps(arguments or {})))
