"""Models that were recorded: `record:FILE` writes down what any model says, `replay:FILE` says it.

A replay needs no key and no network, so it stands for a real model in tests, demonstrations and
bug reports. Requests are told apart by what is asked, after secrets have been taken out.
"""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from core.base.redaction import Redactor
from core.errors import ModelUnavailable
from core.ports import (
    ModelRequest,
    ModelTraits,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    TextModel,
    ThinkingDelta,
)
from core.provenance.borders import renamed
from core.values import JsonObject
from modules.models.recorded.file import (
    MAX_RECORDING_BYTES,
    Asked,
    RecordedError,
    RecordedRequest,
    append_line,
    check_writable,
    difference,
    read_requests,
)
from modules.models.serving.watched import LONGEST_PAUSE_SECONDS, deltas_of


class RecordingModel:
    """Passes requests on to a model, and writes down each with its reply or its error.

    A reply that was not waited for is not written. In a recorded chain, each model writes to the
    same file.

    Attributes:
        recorded: the model that answers.
    """

    def __init__(
        self,
        model: TextModel,
        path: str | Path,
        redactor: Redactor | None = None,
        max_bytes: int = MAX_RECORDING_BYTES,
    ) -> None:
        """Record to `path`, behind what it holds, until it has `max_bytes`.

        `redactor` goes over all that is written; by default it knows the secrets of the
        process's environment.

        Raises:
            UsageError: the file can't be written.
        """
        self.recorded = model
        self._path = Path(path)
        self._redactor = redactor or Redactor(os.environ)
        self._max_bytes = max_bytes
        check_writable(self._path)

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self.recorded.name

    @property
    def traits(self) -> ModelTraits:
        """What that model can do; prompts are written for each, to know its requests by."""
        return replace(self.recorded.traits, reads_text=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The model's reply as it is written; it is on disk before its end is told.

        Raises:
            ModelUnavailable: the model's own.
            StorageError: the recording can't be written.
        """
        heard: list[ReplyDelta] = []
        end: ReplyEnd | None = None
        try:
            async with contextlib.aclosing(self.recorded.stream(request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, ReplyEnd):
                        end = delta
                    else:
                        heard.append(delta)
                        yield delta
        except ModelUnavailable as error:
            await self._write(request, _error_fields(error))
            if end is not None:  # a reply that is of no use has its price, too
                yield end
            raise
        if end is not None:
            await self._write(request, _reply_fields(heard, end))
            yield end

    async def aclose(self) -> None:
        """Release the model's connections."""
        await self.recorded.aclose()

    async def _write(self, request: ModelRequest, outcome: JsonObject) -> None:
        """Add a line, off the event loop: it may be long, and the disk slow."""
        await asyncio.to_thread(self._write_line, request, outcome)

    def _write_line(self, request: ModelRequest, outcome: JsonObject) -> None:
        asked = Asked.of(request, self._redactor)
        append_line(
            self._path,
            {
                "key": asked.key,
                "purpose": asked.purpose,
                "model": self.name,
                "traits": asdict(self.traits),
                "prompt": asked.prompt,
                "borders": list(asked.borders),
                "images": list(asked.images),
                "schema": asked.schema,
                "outcome": self._redactor.object(outcome),
            },
            self._max_bytes,
        )


class ReplayedModel:
    """Gives what was recorded; the same request made again gets the next of its outcomes.

    When these are used up, the last one stays. Errors of a model that another stood in for are
    passed over: this one model says what the chain said in the end.
    """

    def __init__(self, path: str | Path, redactor: Redactor | None = None) -> None:
        """Read a recording; `redactor` is as that of `RecordingModel`.

        Raises:
            UsageError: it can't be read, or holds no request.
        """
        self.name = f"replay:{path}"
        self._redactor = redactor or Redactor(os.environ)
        requests, self._damaged = read_requests(Path(path))
        self.traits = requests[0].traits  # what it could do: prompts differ by it
        self._asked = [request.asked for request in requests]
        self._queues: dict[str, deque[RecordedRequest]] = {}
        self._without_memories: dict[str, str] = {}
        for request in requests:
            asked = request.asked
            queue = self._queues.setdefault(asked.key, deque())
            self._without_memories[asked.key_without_memories] = asked.key
            while queue and _stands_in(request, queue[-1]):
                queue.pop()
            queue.append(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The recorded reply, each part in one piece.

        Raises:
            ModelUnavailable: it was recorded; or the request was not, and the message says where
                it differs from what was.
        """
        asked = await asyncio.to_thread(Asked.of, request, self._redactor)
        key = asked.key
        if key not in self._queues:
            key = self._without_memories.get(asked.key_without_memories, "")
        if (queue := self._queues.get(key)) is None:
            raise await asyncio.to_thread(self._unknown, asked)
        found = queue.popleft() if len(queue) > 1 else queue[0]
        if isinstance(outcome := found.outcome, RecordedError):
            raise _without_short_pause(outcome.error())
        reply = outcome.reply()
        names = dict(zip(found.asked.borders, asked.borders, strict=False))
        for delta in deltas_of(replace(reply, text=renamed(reply.text, names))):
            yield delta

    async def aclose(self) -> None:
        """Nothing to release."""

    def _unknown(self, asked: Asked) -> ModelUnavailable:
        """The error of a request that was not recorded."""
        lost = f" ({self._damaged} of its lines can't be read)" if self._damaged else ""
        return ModelUnavailable(
            f"{self.name} holds no such {asked.purpose} request{lost}: "
            f"{difference(asked, self._asked)}; record it anew with --model record:FILE"
        )


def _stands_in(request: RecordedRequest, before: RecordedRequest) -> bool:
    """Whether this model was asked because the one before it in the chain failed."""
    return isinstance(before.outcome, RecordedError) and before.model != request.model


def _reply_fields(deltas: Sequence[ReplyDelta], end: ReplyEnd) -> JsonObject:
    """A reply in the form of `RecordedReply`."""
    return {
        "text": "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
        "thinking": "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta)),
        "tool_calls": [asdict(delta) for delta in deltas if isinstance(delta, NativeToolCall)],
        "finish": end.finish,
        "usage": asdict(end.usage),
    }


def _error_fields(error: ModelUnavailable) -> JsonObject:
    """An error in the form of `RecordedError`."""
    return {
        "kind": "unavailable",
        "message": str(error),
        "transient": error.transient,
        "retry_after_seconds": error.retry_after_seconds,
    }


def _without_short_pause(error: ModelUnavailable) -> ModelUnavailable:
    """The error without the pause that its service asked for, unless that ends all tries.

    There is nobody to wait for.
    """
    if (error.retry_after_seconds or 0.0) <= LONGEST_PAUSE_SECONDS:
        error.retry_after_seconds = None
    return error
