"""Replies of OpenAI's chat completions protocol as deltas: streamed chunks, or one whole body.

Follows OpenAI's API reference, "The chat completion chunk object" (2026-11), and what others add:
thinking as `reasoning_content` (DeepSeek, vLLM, llama.cpp) or `reasoning` (OpenRouter, Groq,
Ollama), or as parts of the content (Mistral). All of it is untrusted: what has another form than
the protocol gives it is passed over.
"""

import json
from collections.abc import Iterator

from core.base.json_text import json_start
from core.ports import (
    FinishReason,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.json_text import ToolCalls, count_of
from modules.models.http.reply import ReplyReader, ServiceReply
from modules.models.thinking import ThinkingSplitter

WITHHELD = "[The service's content filter stopped the reply.]"

_FINISHES: dict[str, FinishReason] = {
    **dict.fromkeys(("length", "model_length", "max_tokens", "max_output_tokens"), "length"),
    **dict.fromkeys(("context_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "sensitive", "safety"), "refused"),
}
"""In small letters, as OpenAI, Mistral, Gemini's compatible service, GLM and others say it. All
other reasons, `stop` and `tool_calls` above all, say that the model was done."""


class OpenAIReply(ReplyReader):
    """Reads one reply; once the model has said why it stops, only the count of tokens may come."""

    def __init__(self, reply: ServiceReply) -> None:
        super().__init__(reply)
        self._finish: FinishReason = "stop"
        self._splitter = ThinkingSplitter()
        self._calls = ToolCalls()
        self._declined = False
        self._filtered = False
        self._is_whole = self._has_choice = False
        self._other: JsonObject | None = None  # what came in place of a reply

    def feed(self, chunk: JsonObject, /) -> list[ReplyDelta]:
        """What a chunk adds, or a whole body.

        Raises:
            ModelUnavailable: the choice reports an error, as OpenRouter does, or that the service
                broke the reply off.
        """
        self.usage = usage_in(chunk.get("usage")) or self.usage
        choice = first_choice(chunk)
        if choice is None:
            self._other = chunk
            return []
        self._has_choice = True
        if choice.get("error") and (error := self.errors.reported(choice)) is not None:
            raise error
        deltas = self._written(choice)
        reason = choice.get("finish_reason")
        self._is_whole = isinstance(choice.get("message"), dict) and "delta" not in choice
        if isinstance(reason, str) and reason:
            self.check_finish("finish_reason", reason)
            kind = reason.lower()
            self._finish, self.is_complete = _FINISHES.get(kind, "stop"), True
            self._filtered = self._finish == "refused"
        return deltas

    def end(self) -> Iterator[ReplyDelta]:
        """What is known only at the end: the rest of the text, tool calls, and the end itself.

        Raises:
            ModelUnavailable: nobody said that this is the end, or nothing of it was a reply.
        """
        is_over = self.is_complete or self.reply.is_done or self._is_whole
        if not (is_over and self._has_choice):
            yield ReplyEnd(self.usage)
            if self._other is not None and not self._has_choice:
                raise self.reply.unreadable(json_start(self._other, 200).encode())
            raise self.errors.broke_off()
        yield from self._splitter.end()
        yield from self._calls.take_all()
        if self._filtered:
            yield TextDelta(WITHHELD)
        yield ReplyEnd(self.usage, "refused" if self._declined else self._finish)

    def _written(self, choice: JsonObject) -> list[ReplyDelta]:
        message = choice.get("delta")
        message = message if isinstance(message, dict) else choice.get("message")
        if message is None and isinstance(choice.get("text"), str):  # of completions, no chat
            return self._content(choice["text"])
        if not isinstance(message, dict):
            return []
        deltas: list[ReplyDelta] = []
        if thought := _text(message.get("reasoning_content")) or _text(message.get("reasoning")):
            deltas.append(ThinkingDelta(thought))
        deltas += self._content(message.get("content"))
        if refusal := _text(message.get("refusal")):
            self._declined = True
            deltas.append(TextDelta(refusal))
        if isinstance(call := message.get("function_call"), dict):  # before tool_calls there was
            self._call(None, call)
        calls = message.get("tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            if isinstance(piece, dict) and isinstance(function := piece.get("function"), dict):
                self._call(piece.get("index"), function)
        return deltas

    def _call(self, index: Json, function: JsonObject) -> None:
        """A piece of a call: it names its place, or follows the last."""
        name, arguments = _text(function.get("name")), function.get("arguments")
        behind = self._calls.after()
        last = behind if name or not behind else behind - 1
        place = index if isinstance(index, int) and not isinstance(index, bool) else last
        self._calls.begin(place, name)
        if isinstance(arguments, str):
            self._calls.add(place, arguments)
        elif isinstance(arguments, dict):
            self._calls.add(place, json.dumps(arguments))

    def _content(self, content: Json) -> list[ReplyDelta]:
        if isinstance(content, str):
            return [*self._splitter.feed(content)]
        if isinstance(content, dict) and not _part_text(content):
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            return [TextDelta(text)]  # it is what was asked for, as JSON
        deltas: list[ReplyDelta] = []
        for part in content if isinstance(content, list) else [content]:
            match part:
                case str() as text if text:
                    deltas.append(TextDelta(text))
                case {"type": "reasoning", **rest} if thought := _part_text(rest):
                    deltas.append(ThinkingDelta(thought))
                case {"type": "thinking", "thinking": str() as thought} if thought:
                    deltas.append(ThinkingDelta(thought))
                case {"type": "thinking", "thinking": list() as thoughts}:
                    deltas += [ThinkingDelta(text) for text in map(_part_text, thoughts) if text]
                case dict() if text := _part_text(part):
                    deltas.append(TextDelta(text))
                case _:
                    continue
        return deltas


def first_choice(chunk: JsonObject) -> JsonObject | None:
    """The one reply that was asked for, or what a chunk says of it."""
    match chunk.get("choices"):
        case [dict() as choice, *_]:
            return choice
        case _:
            return None


def usage_in(raw: Json) -> Usage | None:
    """The tokens of a `usage` object; None where it is none.

    What is written counts as it is billed: where thinking is left out of `completion_tokens`
    (xAI, Gemini's compatible service), `total_tokens` has it.
    """
    if not isinstance(raw, dict):
        return None
    read, written = _tokens(raw.get("prompt_tokens")), _tokens(raw.get("completion_tokens"))
    details = raw.get("prompt_tokens_details")
    cached = _tokens(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = cached or _tokens(raw.get("prompt_cache_hit_tokens"))  # DeepSeek's name for it
    return Usage(
        model_calls=1,
        input_tokens=read,
        output_tokens=max(written, _tokens(raw.get("total_tokens")) - read),
        cached_tokens=min(cached, read),
    )


def _tokens(value: Json) -> int:
    return count_of(value) or 0


def _part_text(part: Json) -> str:
    """The text of a part: of type `text` or `output_text`, or without a type."""
    match part:
        case {"text": {"value": str() as text}} | {"text": str() as text}:
            return text
        case _:
            return ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
