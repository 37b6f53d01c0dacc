"""Whiteboards for tests: what was told of them, and a clock that a test sets."""

from dataclasses import dataclass, field

from core.events import BoardChanged, Event, MessageSent
from core.team.board import BoardEntry
from core.team.messages import Message


@dataclass
class Told:
    """Hears events; its clock stands where a test puts it."""

    now: float = 1.7e9
    events: list[Event] = field(default_factory=list[Event])

    async def emit(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def clock(self) -> float:
        """Unix seconds."""
        return self.now

    @property
    def entries(self) -> list[BoardEntry]:
        """What was written, in order."""
        return [event.entry for event in self.events if isinstance(event, BoardChanged)]

    @property
    def messages(self) -> list[Message]:
        """What was said, in order."""
        return [event.message for event in self.events if isinstance(event, MessageSent)]
