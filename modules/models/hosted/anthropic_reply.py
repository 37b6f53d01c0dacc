"""Reads the events of a reply from Anthropic's Messages API: what each adds, how all of it ended.

Follows platform.claude.com, "Streaming messages" and "Handling stop reasons". Events and kinds of
content that are not known here are passed over, as the documentation asks.
"""

from collections.abc import Iterator

from core.ports import ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.errors import ServiceErrors
from modules.models.http.json_text import ToolCalls
from modules.models.http.reply import ReplyReader

_AT_THE_LIMIT = ("max_tokens", "model_context_window_exceeded")

_COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


class AnthropicReply(ReplyReader[JsonObject]):
    """Reads one reply; it is complete with the event that ends the message."""

    def __init__(self, errors: ServiceErrors) -> None:
        """Nothing is there yet."""
        super().__init__(errors)
        self._has_content = False
        self._stop_reason: str | None = None
        self._refusal = ""
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._calls = ToolCalls()

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

    def end(self) -> Iterator[ReplyDelta]:
        """What is left when no event comes any more.

        Raises:
            ModelUnavailable: the reply is empty, or not whole; behind `ReplyEnd`, as it is billed.
        """
        reason = self._stop_reason
        if reason is None:
            yield ReplyEnd(self.usage)
            raise self.errors.broke_off()
        if reason == "refusal":
            yield TextDelta(self._refusal or "The model declines to answer this request.")
            yield ReplyEnd(self.usage, "refused")
            return
        is_cut = reason in _AT_THE_LIMIT
        yield ReplyEnd(self.usage, "length" if is_cut else "stop")
        if not self._has_content:
            raise self.errors.without_text(reason, was_cut=is_cut)

    def _count(self, counts: JsonObject) -> None:
        """Sums so far; those that an event does not tell stand as they were.

        Input is told in three parts, of which the caches' are not in `input_tokens`.
        """
        for name in self._counts:
            count = counts.get(name)
            if isinstance(count, int) and count >= 0:
                self._counts[name] = count
        fresh, kept, cached, written = self._counts.values()
        self.usage = Usage(1, fresh + kept + cached, written, cached)

    def _take_block(self, index: int, block: JsonObject) -> Iterator[ReplyDelta]:
        match block:
            case {"type": "text", "text": str() as text}:
                yield from self._text(text)
            case {"type": "tool_use", "name": str() as name}:
                self._calls.begin(index, name)
            case _:
                return

    def _take_delta(self, index: int, delta: JsonObject) -> Iterator[ReplyDelta]:
        match delta:
            case {"type": "text_delta", "text": str() as text}:
                yield from self._text(text)
            case {"type": "thinking_delta", "thinking": str() as thought} if thought:
                yield ThinkingDelta(thought)
            case {"type": "input_json_delta", "partial_json": str() as piece}:
                self._calls.add(index, piece)
            case _:
                return

    def _text(self, text: str) -> Iterator[ReplyDelta]:
        if text:
            self._has_content = True
            yield TextDelta(text)

    def _close_call(self, index: int) -> Iterator[ReplyDelta]:
        if (call := self._calls.take(index)) is not None:
            self._has_content = True
            yield call

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
