"""A model that answers from a script: for tests, demonstrations and bug reports.

It stands behind the same protocol as every other backend and can be named on the command line
(`--model scripted:FILE`), so that all of these take the path of a real run.
"""

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.errors import ModelUnavailable, UsageError
from core.ports import ModelReply, ModelRequest, ModelTraits, NativeToolCall, ReplyDelta, TextDelta
from core.turn import ModelPurpose, Usage
from core.values import JsonObject
from modules.models.serving.watched import deltas_of

MAX_SCRIPT_BYTES = 16 * 1024 * 1024
"""Largest script file that is read."""

SECONDS_MAX = 3_600.0
"""So long a reply may take to begin, and to come."""

_WORD = lazy_pattern(r"\s*\S+\s*")

FILE_FORM = (
    'a JSON list of replies, or an object of lists such as {"perception": […], "decision": […]}; '
    'a reply is a string, {"error": "why the model is down"}, {"declined": "why no plan"}, or an '
    'object of "text", "thinking" and "tool_calls": [{"name": "add", "arguments": {…}}], which '
    'has "usage": {"input_tokens": 900, "output_tokens": 40, "cost": 0.02}, begins "after" so many '
    'seconds and has its text come, word by word, within "seconds"'
)
"""The form of a script file, as error messages give it."""


@frozen
class PacedReply:
    """A reply that takes its time: it begins `after` seconds, and its words take `seconds`."""

    reply: ModelReply
    after: float = 0.0
    seconds: float = 0.0


_Said: TypeAlias = ModelReply | PacedReply

Reply: TypeAlias = str | _Said | Exception | Callable[[ModelRequest], str | ModelReply]
"""What one request gets: text, a whole reply, an exception to raise, or a function to ask."""

_SHARED: tuple[ModelPurpose, ...] = ("decision", "text", "summary")
"""The purposes that a plain sequence of replies serves."""


class ScriptedModel:
    """Gives its replies in order and records what it was asked.

    A plain sequence serves plans, free text and summaries alike; a mapping has one queue a
    purpose. Perception without a queue of its own is answered `{}`, which selects every
    server, so that a script of plans need not say how often perception happens.
    """

    def __init__(
        self,
        replies: Sequence[Reply] | Mapping[ModelPurpose, Sequence[Reply]],
        name: str = "scripted",
        traits: ModelTraits | None = None,
        *,
        keeps_requests: bool = True,
    ) -> None:
        """Queue the replies; `traits` are those of the model that this one stands for.

        What it was asked is in `requests`, unless it may be asked for days.
        """
        self.requests: list[ModelRequest] = []
        self._keeps_requests = keeps_requests
        self._asked = Counter[ModelPurpose]()
        self.name = name
        self.traits = traits or ModelTraits()
        self._queues: dict[ModelPurpose, deque[Reply]]
        if isinstance(replies, Mapping):
            self._queues = {purpose: deque(queue) for purpose, queue in replies.items()}
        else:
            shared = deque(replies)
            self._queues = dict.fromkeys(_SHARED, shared)

    @classmethod
    def from_file(cls, path: str | Path) -> "ScriptedModel":
        """The script in a JSON file; see `FILE_FORM`.

        Raises:
            UsageError: the file can't be read or is not of that form.
        """
        replies = _parse_script(_read_script(path), path)
        return cls(replies, f"scripted:{path}", keeps_requests=False)

    @property
    def leftover(self) -> int:
        """How many replies nobody has asked for."""
        return sum(len(queue) for queue in {id(q): q for q in self._queues.values()}.values())

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The next reply for the request's purpose; each part in one piece, unless it is paced.

        Raises:
            UsageError: the script is exhausted.
            Exception: whatever the script says.
        """
        reply = self._next(request)
        if isinstance(reply, PacedReply):
            await asyncio.sleep(reply.after)
            began, words = time.monotonic(), _WORD.findall(reply.reply.text) or [""]
            for number, word in enumerate(words, 1):
                yield TextDelta(word)
                due = began + reply.seconds * number / len(words)
                await asyncio.sleep(max(due - time.monotonic(), 0.0))
            reply = replace(reply.reply, text="")
        for delta in deltas_of(reply):
            yield delta

    def _next(self, request: ModelRequest) -> _Said:
        self._asked[request.purpose] += 1
        if self._keeps_requests:
            self.requests.append(request)
        queue = self._queues.get(request.purpose)
        if queue is None and request.purpose == "perception":
            return ModelReply("{}")
        if not queue:
            asked = self._asked[request.purpose]
            raise UsageError(
                f"{self.name} has no reply left for {request.purpose} request {asked}: "
                "add one to the script"
            )
        reply = queue.popleft()
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(request)
        return ModelReply(reply) if isinstance(reply, str) else reply

    async def aclose(self) -> None:
        """Nothing to release."""


def _read_script(path: str | Path) -> object:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_SCRIPT_BYTES + 1)
        if len(data) > MAX_SCRIPT_BYTES:
            raise UsageError(f"script {path} is larger than {MAX_SCRIPT_BYTES:,} bytes")
        return json.loads(data)
    except OSError as error:
        raise UsageError(
            f"script {path} can't be read: {error.strerror or error}; --model scripted:FILE "
            f"takes {FILE_FORM}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"script {path} is not JSON ({error}); it should be {FILE_FORM}"
        ) from error


def _parse_script(
    document: object, path: str | Path
) -> list[Reply] | dict[ModelPurpose, Sequence[Reply]]:
    if isinstance(document, list):
        return _parse_replies(cast("list[object]", document), path)
    if not isinstance(document, dict):
        raise UsageError(f"script {path} should be {FILE_FORM}")
    queues: dict[ModelPurpose, Sequence[Reply]] = {}
    for key, value in cast("dict[str, object]", document).items():
        if key not in get_args(ModelPurpose) or not isinstance(value, list):
            raise UsageError(f"script {path}, key {key!r}: it should be {FILE_FORM}")
        queues[cast("ModelPurpose", key)] = _parse_replies(cast("list[object]", value), path)
    return queues


def _parse_replies(elements: list[object], path: str | Path) -> list[Reply]:
    return [_parse_reply(element, path, number) for number, element in enumerate(elements, 1)]


def _parse_reply(element: object, path: str | Path, number: int) -> Reply:
    try:
        part = _ELEMENT.validate_python(element)
    except ValidationError:
        raise UsageError(f"script {path}, reply {number}: it should be {FILE_FORM}") from None
    match part:
        case str():
            return part
        case _Down():
            return ModelUnavailable(part.error)
        case _Declined():
            return ModelReply(part.declined, declined=True)
        case _Whole():
            calls = tuple(NativeToolCall(call.name, call.arguments) for call in part.tool_calls)
            used = part.usage
            usage = Usage(1, used.input_tokens, used.output_tokens, cost=used.cost)
            reply = ModelReply(part.text, usage, thinking=part.thinking, tool_calls=calls)
            is_paced = part.after > 0 or part.seconds > 0
            return PacedReply(reply, part.after, part.seconds) if is_paced else reply


class _Part(BaseModel):
    """Base of what a reply in a script may be: exactly this, and built at first use."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class _Down(_Part):
    error: str


class _Declined(_Part):
    declined: str


class _Call(_Part):
    name: str
    arguments: JsonObject


class _Usage(_Part):
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)


class _Whole(_Part):
    text: str = ""
    thinking: str = ""
    tool_calls: list[_Call] = Field(default_factory=list[_Call])
    usage: _Usage = Field(default_factory=lambda: _Usage())
    after: float = Field(default=0.0, ge=0, le=SECONDS_MAX)
    seconds: float = Field(default=0.0, ge=0, le=SECONDS_MAX)

    @model_validator(mode="after")
    def _says_something(self) -> "_Whole":
        if not self.model_fields_set:
            raise ValueError("it is empty")
        return self


_ELEMENT = TypeAdapter[str | _Down | _Declined | _Whole](
    str | _Down | _Declined | _Whole, config=ConfigDict(defer_build=True)
)
