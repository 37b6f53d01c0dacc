"""Models and a clock that tests of the model manager hold in their hands."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from core.errors import ModelUnavailable
from core.events import Event
from core.ports import ModelRequest, ModelTraits, ReplyDelta


def transient(reason: str = "overloaded", wait_seconds: float | None = None) -> ModelUnavailable:
    """A failure that may pass."""
    return ModelUnavailable(reason, transient=True, retry_after_seconds=wait_seconds)


@dataclass
class HeldModel:
    """Writes what the test puts into `deltas`, and tells when its stream was closed."""

    name: str = "held"
    traits: ModelTraits = field(default_factory=ModelTraits)
    deltas: asyncio.Queue[ReplyDelta | Exception | None] = field(
        default_factory=asyncio.Queue["ReplyDelta | Exception | None"]
    )
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    under_way: int = 0
    most_under_way: int = 0
    closed: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """Give on what is put; None ends the stream, an exception is raised."""
        self.requests.append(request)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            while (delta := await self.deltas.get()) is not None:
                if isinstance(delta, Exception):
                    raise delta
                yield delta
        finally:
            self.under_way -= 1

    def put(self, *deltas: ReplyDelta | Exception | None) -> None:
        """Have these written next."""
        for delta in deltas:
            self.deltas.put_nowait(delta)

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


@dataclass
class Heard:
    """A listener that keeps what it is told, and may be kept busy with each event."""

    events: list[Event] = field(default_factory=list[Event])
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Begin idle."""
        self.idle.set()

    async def __call__(self, event: Event) -> None:
        """Keep the event, and be done with it when `idle` is set."""
        self.events.append(event)
        await self.idle.wait()

    @property
    def names(self) -> list[str]:
        """The kinds of what was told."""
        return [type(event).__name__ for event in self.events]
