"""One run, as its models see it, and the watch over one request of it."""

import asyncio
from typing import assert_never

from core.base.clock import Clock
from core.events import Emit, ModelAnswered, ModelAsked, ModelEvent, ModelWriting
from core.ports import (
    ModelReply,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import ModelPurpose, Usage
from modules.models.serving.budget import NO_LIMITS, Budget, RunLimits


class ModelRun:
    """What requests of one run share.

    Attributes:
        budget: what the run has used, and may use.
        emit: who hears of its requests; None is nobody.
        replaced: why models of the chain can't answer, by their place in it; for the whole run.
    """

    def __init__(self, emit: Emit | None = None, limits: RunLimits = NO_LIMITS) -> None:
        """Begin with nothing used and every model in its place."""
        self.emit = emit
        self.budget = Budget(limits)
        self.replaced: dict[int, str] = {}

    async def tell(self, event: ModelEvent) -> None:
        """Tell one event, and wait until every listener has dealt with it."""
        if self.emit is not None:
            await self.emit(event)


TELLING_SECONDS = 0.1
"""Shortest time between two `ModelWriting` events of a request."""


class RequestWatch:
    """One request that is being sent, from `asked` to `answered`; close it in any case."""

    def __init__(self, model: str, purpose: ModelPurpose, run: ModelRun, now: Clock) -> None:
        """Tell the run; `now` gives seconds."""
        self._model = model
        self._purpose: ModelPurpose = purpose
        self._run = run
        self._now = now
        self._started = 0.0
        self._due = 0.0  # the first piece is told at once
        self._first: float | None = None
        self._pieces = self._characters = self._thinking = 0
        self._end: Usage | None = None
        self._pending = False
        self._telling: asyncio.Task[None] | None = None

    @property
    def usage(self) -> Usage | None:
        """What the request took so far, as far as is known; None if nothing came of it."""
        if self._end is None and self._pieces:
            return Usage(model_calls=1)
        return self._end

    def asked(self) -> None:
        """Tell that the request is sent now, and count its time from here."""
        self._started = self._now()
        if self._run.emit is not None:
            self._telling = asyncio.create_task(self._tell())

    def hear(self, delta: ReplyDelta) -> None:
        """Count a piece of the reply."""
        match delta:
            case TextDelta(text):
                self._characters += len(text)
            case ThinkingDelta(text):
                self._thinking += len(text)
            case NativeToolCall():
                pass
            case ReplyEnd():
                self._end = delta.usage
                return
            case _:
                assert_never(delta)
        self._pieces += 1
        now = self._now()
        if self._first is None:
            self._first = now
        if self._telling is not None and now >= self._due:
            self._due = now + TELLING_SECONDS
            self._pending = True
            if self._telling.done():
                self._telling = asyncio.create_task(self._tell_counts())

    async def told(self) -> None:
        """Tell no more counts, and wait until what was told has been dealt with."""
        self._pending = False
        if self._telling is not None:
            await self._telling
            self._telling = None

    async def answered(self, reply: ModelReply) -> None:
        """Tell that the reply is complete."""
        seconds = self._now() - self._started
        first = None if self._first is None or self._pieces < 2 else self._first - self._started
        await self.told()
        await self._run.tell(ModelAnswered(self._model, self._purpose, reply.usage, seconds, first))

    async def aclose(self) -> None:
        """Tell nothing more; nothing of it runs afterwards."""
        if (telling := self._telling) is not None:
            self._telling = None
            telling.cancel()
            await asyncio.wait({telling})
            if not telling.cancelled():
                telling.exception()  # seen; what ended the request says more

    async def _tell(self) -> None:
        await self._run.tell(ModelAsked(self._model, self._purpose))
        await self._tell_counts()

    async def _tell_counts(self) -> None:
        while self._pending:
            self._pending = False
            await self._run.tell(ModelWriting(self._model, self._characters, self._thinking))
