"""Reads the events of a reply from Anthropic's Messages API: what each adds, how all of it ended.

Follows platform.claude.com, "Streaming messages" and "Handling stop reasons". Events and kinds of
content that are not known here are passed over, as the documentation asks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.ports import (
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.errors import ServiceErrors
from modules.models.http.json_text import json_value
from modules.models.serving.reply import MAX_NATIVE_CALLS, MAX_REPLY_CHARACTERS

_AT_THE_LIMIT = ("max_tokens", "model_context_window_exceeded")


@dataclass(slots=True)
class _OpenCall:
    """A tool call while its arguments come."""

    name: str
    arguments: list[str] = field(default_factory=list[str])


class AnthropicReply:
    """Reads one reply (`ReplyReader`); it is complete with the event that ends the message."""

    def __init__(self, errors: ServiceErrors) -> None:
        """Nothing is there yet."""
        self.is_complete = False
        self._errors = errors
        self._has_content = False
        self._stop_reason: str | None = None
        self._refusal = ""
        self._counts: dict[str, int] = {}
        self._calls: dict[int, _OpenCall] = {}
        self._calls_begun = 0
        self._room_characters = MAX_REPLY_CHARACTERS

    def feed(self, event: JsonObject, /) -> Iterator[ReplyDelta]:
        """What one more event adds."""
        match event:
            case {"type": "content_block_delta", "index": int() as index, "delta": dict() as delta}:
                yield from self._take_delta(index, delta)
            case {
                "type": "content_block_start",
                "index": int() as index,
                "content_block": dict() as block,
            }:
                yield from self._take_block(index, block)
            case {"type": "content_block_stop", "index": int() as index}:
                yield from self._close_call(index)
            case {"type": "message_start", "message": {"usage": dict() as counts}}:
                self._count(counts)
            case {"type": "message_delta"}:
                self._take_end(event)
            case {"type": "message_stop"}:
                self.is_complete = True
            case _:
                return

    def so_far(self) -> ReplyEnd:
        """What it has taken up to here."""
        return ReplyEnd(self._usage)

    def end(self) -> Iterator[ReplyDelta]:
        """What is left when no event comes any more.

        Raises:
            ModelUnavailable: the reply is empty, or not whole; behind `ReplyEnd`, as it is billed.
        """
        reason = self._stop_reason
        if reason is None:
            yield self.so_far()
            raise self._errors.broke_off()
        if reason == "refusal":
            yield TextDelta(self._refusal or "The model declines to answer this request.")
            yield ReplyEnd(self._usage, "refused")
            return
        is_cut = reason in _AT_THE_LIMIT
        yield ReplyEnd(self._usage, "length" if is_cut else "stop")
        if not self._has_content:
            raise self._errors.without_text(reason, was_cut=is_cut)

    @property
    def _usage(self) -> Usage:
        """Input is told in three parts, of which the caches' are not in `input_tokens`."""
        cached = self._counts.get("cache_read_input_tokens", 0)
        kept = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            model_calls=1,
            input_tokens=self._counts.get("input_tokens", 0) + kept + cached,
            output_tokens=self._counts.get("output_tokens", 0),
            cached_tokens=cached,
        )

    def _count(self, counts: JsonObject) -> None:
        """Sums so far; those that an event does not tell stand as they were."""
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        ):
            count = counts.get(name)
            if isinstance(count, int) and count >= 0:
                self._counts[name] = count

    def _take_block(self, index: int, block: JsonObject) -> Iterator[ReplyDelta]:
        match block:
            case {"type": "text", "text": str() as text}:
                yield from self._text(text)
            case {"type": "tool_use", "name": str() as name}:
                self._calls_begun += 1
                if self._calls_begun <= MAX_NATIVE_CALLS:
                    self._calls[index] = _OpenCall(name)
            case _:
                return

    def _take_delta(self, index: int, delta: JsonObject) -> Iterator[ReplyDelta]:
        match delta:
            case {"type": "text_delta", "text": str() as text}:
                yield from self._text(text)
            case {"type": "thinking_delta", "thinking": str() as thought} if thought:
                yield ThinkingDelta(thought)
            case {"type": "input_json_delta", "partial_json": str() as piece}:
                self._room_characters -= len(piece)
                if index in self._calls and self._room_characters >= 0:
                    self._calls[index].arguments.append(piece)
            case _:
                return

    def _text(self, text: str) -> Iterator[ReplyDelta]:
        if text:
            self._has_content = True
            yield TextDelta(text)

    def _close_call(self, index: int) -> Iterator[ReplyDelta]:
        if (call := self._calls.pop(index, None)) is not None:
            self._has_content = True
            yield NativeToolCall(call.name, _arguments("".join(call.arguments)))

    def _take_end(self, event: JsonObject) -> None:
        match event:
            case {"usage": dict() as counts}:
                self._count(counts)
            case _:
                pass
        match event.get("delta"):
            case {"stop_reason": str() as reason, **details}:
                self._stop_reason = reason
                self._refusal = _explanation(details.get("stop_details"))
            case _:
                return


def _explanation(details: Json) -> str:
    match details:
        case {"explanation": str() as explanation}:
            return explanation[:1000]
        case _:
            return ""


def _arguments(text: str) -> JsonObject:
    """The arguments of a call; none where what the model wrote is no JSON object."""
    value = json_value(text.encode("utf-8", "replace")) if text.strip() else None
    return value if isinstance(value, dict) else {}
