"""Anthropic's Claude models, over the Messages API.

What a model takes, the service says (its Models API): it is asked where an entry says how to think,
else only once a request was refused, for most requests hold nothing that a current model refuses.

Requests and replies follow platform.claude.com, "Create a Message", "Streaming messages" and
"Handling stop reasons" of API version 2026-10-21, which knows no temperature: a request that names
one is refused. Events and kinds of content that are not known here are passed over, as the
documentation asks.
"""

import base64
import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from config.models_file import ModelEntry, ThinkingEffort
from core.base.frozen import frozen
from core.errors import ModelUnavailable
from core.ports import ImageInput, ModelRequest, ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.hosted.service import THINKING_ROOM_TOKENS, StreamingService
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.json_text import ToolCalls, count_of
from modules.models.http.reply import ReplyReader, ServiceReply
from modules.models.serving.budget import output_limit

API_VERSION: Final = "2026-10-21"

OUTPUT_TOKENS = 32_000
"""`max_tokens` unless an entry says: every model since Claude 4 takes it, thinking included."""

LEAST_OUTPUT_TOKENS = 4096
"""The same where the service does not say, such as with others who speak this protocol."""

LEAST_BUDGET_TOKENS = 1024
"""The least that a model may be given to think, where it is given a number."""

CACHED_CHARACTERS_MIN = 2000
"""A shorter prefix is below the 512 tokens that the least demanding model caches."""

_BUDGETS: Final[dict[ThinkingEffort, int]] = {"low": 2048, "medium": 8192, "high": 16_384}

_OFF: Final = ("disabled", "between_tools")
"""The values of `thinking.type` that turn it off, the better one first."""

_AT_THE_LIMIT = ("max_tokens", "model_context_window_exceeded")

_COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


@frozen
class ClaudeFacts:
    """What a model takes: `output_tokens` at most, schemas, and how its thinking is set.

    `adaptive`: by an effort; `budget`: by a number of tokens; `off`: the `thinking.type` that
    turns it off, None where nothing does. What is said here by default holds of the newest.
    `is_asked`: the service was asked for them, whether or not it said any.
    """

    output_tokens: int | None = None
    schemas: bool = True
    adaptive: bool = True
    budget: bool = False
    off: str | None = "disabled"
    is_asked: bool = True


LEAST = ClaudeFacts(LEAST_OUTPUT_TOKENS, schemas=False, adaptive=False)
"""What every model takes, also of others who speak this protocol."""


class AnthropicService(StreamingService[ClaudeFacts]):
    """One Claude model; its manner is what it takes."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        key = {"authorization": f"Bearer {errors.key.value}"} if errors.key is not None else {}
        headers = {"anthropic-version": API_VERSION, **key}
        unasked = ClaudeFacts(is_asked=False)
        super().__init__(errors, "/v1/messages", AnthropicReply, unasked, headers)
        self._entry = entry

    async def first_manner(self) -> ClaudeFacts:
        """What the model takes, asked for where the entry says how to think."""
        if not self.manner.is_asked and self._entry.thinking is not None:
            self.manner = await self._asked_facts() or ClaudeFacts()
        return self.manner

    async def narrower(
        self, manner: ClaudeFacts, body: JsonObject, error: ServiceError
    ) -> ClaudeFacts | None:
        """What the model takes, if it was not asked before it refused."""
        if error.status != HTTPStatus.BAD_REQUEST or manner.is_asked:
            return None
        self.manner = await self._asked_facts() or LEAST
        return self.manner

    def body(self, request: ModelRequest, manner: ClaudeFacts) -> JsonObject:
        """The JSON to send.

        The prefix of the prompt goes as the system message, with a mark behind it up to which the
        service keeps it for five minutes.
        """
        entry = self._entry
        has_user_text = bool(request.user.strip())
        limit = _output_limit(manner, entry, request)
        text = request.user if has_user_text else request.prompt
        content: list[Json] = [*map(_image, request.images), {"type": "text", "text": text}]
        body: JsonObject = {
            "model": entry.model,
            "max_tokens": limit,
            "messages": [{"role": "user", "content": content}],
            "stream": True,
        }
        if has_user_text and request.system.strip():
            body["system"] = [_system(request.system)]
        if (thinking := _thinking(manner, entry.thinking, limit)) is not None:
            body["thinking"] = thinking
        if output := _output_config(manner, entry, request):
            body["output_config"] = output
        return body

    async def _asked_facts(self) -> ClaudeFacts | None:
        """What the service says of the model (`GET /v1/models/MODEL`); None if it does not.

        Raises:
            ModelUnavailable: it can't be reached (transient).
        """
        try:
            async with self.http.exchange(f"/v1/models/{quote(self._entry.model or '')}") as reply:
                return facts_in(await reply.json())
        except ModelUnavailable as error:
            if error.transient:
                raise
            return None


def facts_in(document: JsonObject) -> ClaudeFacts:
    """The facts in an answer of the Models API ("Get a model"); what is missing is not taken."""
    most, capabilities = document.get("max_tokens"), document.get("capabilities")
    return ClaudeFacts(
        most if isinstance(most, int) and most > 0 else LEAST_OUTPUT_TOKENS,
        schemas=_can(capabilities, "structured_outputs"),
        adaptive=_can(capabilities, "thinking", "types", "adaptive"),
        budget=_can(capabilities, "thinking", "types", "enabled"),
        off=next((t for t in _OFF if _can(capabilities, "thinking", "types", t)), None),
    )


def _can(value: Json, *keys: str) -> bool:
    for key in (*keys, "supported"):
        value = value.get(key) if isinstance(value, dict) else None
    return value is True


def _output_limit(facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest) -> int:
    """`max_tokens`: what the entry says is for all that is written, as it is billed."""
    most = entry.max_output_tokens or OUTPUT_TOKENS
    most = min(most, facts.output_tokens or most)
    room = 0 if entry.thinking == "off" and facts.off is not None else THINKING_ROOM_TOKENS
    return output_limit(request, most, room) or most


def _thinking(
    facts: ClaudeFacts, effort: ThinkingEffort | None, room_tokens: int
) -> JsonObject | None:
    """The value of `thinking`; None leaves it out. `room_tokens` is the output's limit."""
    if effort is None:
        return None
    if effort == "off":
        return {"type": facts.off} if facts.off is not None else None
    if facts.adaptive:
        # By default the newest send their thoughts without a word of text.
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGETS[effort], room_tokens // 2)
    if not facts.budget or budget < LEAST_BUDGET_TOKENS:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _output_config(facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest) -> JsonObject:
    config: JsonObject = {}
    if entry.thinking == "off":
        if facts.off is None:
            config["effort"] = "low"
    elif entry.thinking is not None and facts.adaptive:
        config["effort"] = entry.thinking
    if request.schema is not None and facts.schemas:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return config


def _system(text: str) -> JsonObject:
    block: JsonObject = {"type": "text", "text": text}
    if len(text) >= CACHED_CHARACTERS_MIN:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _image(image: ImageInput) -> JsonObject:
    data = base64.b64encode(image.data).decode("ascii")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": data},
    }


class AnthropicReply(ReplyReader):
    """Reads one reply; it is complete with the event that ends the message."""

    def __init__(self, reply: ServiceReply) -> None:
        super().__init__(reply)
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
            case {"type": "message", "content": list() as blocks}:
                yield from self._take_whole(blocks, event)
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
            if (count := count_of(counts.get(name))) is not None:
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

    def _take_whole(self, blocks: list[Json], message: JsonObject) -> Iterator[ReplyDelta]:
        """A message in one piece, as who does not stream sends it."""
        for index, block in enumerate(blocks):
            match block:
                case {"type": "thinking", "thinking": str() as thought} if thought:
                    yield ThinkingDelta(thought)
                case {"type": "tool_use", "input": dict() as arguments, **rest}:
                    yield from self._take_block(index, {"type": "tool_use", **rest})
                    self._calls.add(index, json.dumps(arguments))
                    yield from self._close_call(index)
                case dict():
                    yield from self._take_block(index, block)
                case _:
                    continue
        self._take_end({"delta": message, "usage": message.get("usage")})
        self.is_complete = True

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
                self.check_finish("stop_reason", reason)
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
