"""The whiteboard of one run: read by few, suggested to by workers, written by the coordinator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import one_line, shorten
from core.events import BoardChanged, Emit
from core.team.board import BoardEntry, Topic
from core.team.bus import COORDINATOR

KEY_CHARACTERS_MAX: Final = 80
VALUE_CHARACTERS_MAX: Final = 2_000
ENTRIES_MAX: Final = 200
"""So many entries a topic holds; a further one takes the place of the oldest."""

SUGGESTIONS_MAX: Final = 200
"""So many suggestions wait for the coordinator; further ones are refused."""

SuggestedTopic: TypeAlias = Literal["progress", "blockers", "facts"]
"""What a worker may have a say in; mission and decisions are the coordinator's."""

Reader: TypeAlias = Literal["coordinator", "reviewer", "user"]

TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)
"""In the order in which they are shown."""

_VIEWS: Final[Mapping[Reader, tuple[Topic, ...]]] = {
    "coordinator": TOPICS,
    "reviewer": ("mission", "blockers", "decisions", "facts"),  # who worked when sways no verdict
    "user": TOPICS,
}

_Entries: TypeAlias = dict[tuple[Topic, str], BoardEntry]


@frozen
class Suggestion:
    """What a worker would have on the whiteboard.

    Attributes:
        who: the worker: its role, and where several have that role, what tells them apart.
        time: Unix time in seconds at which it was so.
        source: where it comes from; "" for a memory or an opinion.
    """

    topic: SuggestedTopic
    key: str
    value: str
    who: str
    time: float
    source: str = ""


class StaleVersion(Exception):
    """Somebody has written there since it was read; the message says what stands there."""


class Whiteboard:
    """What is read of a whiteboard, and suggested to it."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._entries: _Entries = {}
        self._suggested: list[Suggestion] = []
        self._has_writer = False

    def writer(self, emit: Emit, clock: Clock) -> "BoardWriter":
        """The only handle that writes; `emit` hears of it, `clock` gives Unix seconds.

        Raises:
            RuntimeError: somebody has it.
        """
        if self._has_writer:
            raise RuntimeError("the whiteboard has its writer")
        self._has_writer = True
        return BoardWriter(self._entries, self._suggested, emit, clock)

    def entry(self, topic: Topic, key: str) -> BoardEntry | None:
        """What stands under a key."""
        return self._entries.get((topic, _key(key)))

    def view(self, reader: Reader) -> tuple[BoardEntry, ...]:
        """What one of its readers sees, topic by topic."""
        topics = _VIEWS[reader]
        seen = (entry for entry in self._entries.values() if entry.topic in topics)
        return tuple(sorted(seen, key=lambda entry: topics.index(entry.topic)))

    def suggest(self, suggestion: Suggestion) -> bool:
        """Lay it before the coordinator, cut if it is too long; False where too many wait."""
        if len(self._suggested) >= SUGGESTIONS_MAX:
            return False
        key, value = _key(suggestion.key), shorten(suggestion.value, VALUE_CHARACTERS_MAX)
        self._suggested.append(replace(suggestion, key=key, value=value))
        return True


class BoardWriter:
    """Writes on a whiteboard; `Whiteboard.writer` gives it."""

    def __init__(
        self, entries: _Entries, suggested: list[Suggestion], emit: Emit, clock: Clock
    ) -> None:
        """Write into `entries`."""
        self._entries = entries
        self._suggested = suggested
        self._emit = emit
        self._clock = clock

    async def write(
        self,
        topic: Topic,
        key: str,
        value: str,
        expected_version: int,
        who: str = COORDINATOR,
        source: str = "",
    ) -> BoardEntry:
        """Write under a key, whose version has been `expected_version`; 0 if nothing stood there.

        What is too long is cut.

        Raises:
            StaleVersion: it is at another version by now.
        """
        place = (topic, _key(key))
        before = self._entries.get(place)
        version = 0 if before is None else before.version
        if version != expected_version:
            there = "nothing" if before is None else f"«{one_line(before.value, 80)}»"
            raise StaleVersion(
                f"{topic}/{place[1]} is at version {version}, not {expected_version}: "
                f"{there} stands there; read it again"
            )
        held = [key for key in self._entries if key[0] == topic]
        if before is None and len(held) >= ENTRIES_MAX:
            del self._entries[held[0]]
        entry = BoardEntry(
            topic,
            place[1],
            shorten(value, VALUE_CHARACTERS_MAX),
            one_line(who, KEY_CHARACTERS_MAX),
            version + 1,
            self._clock(),
            one_line(source, VALUE_CHARACTERS_MAX),
        )
        self._entries[place] = entry
        await self._emit(BoardChanged(entry))
        return entry

    async def take_off(self, topic: Topic, key: str) -> None:
        """Remove what stands under a key, if anything does."""
        if (entry := self._entries.pop((topic, _key(key)), None)) is not None:
            off = replace(entry, value="", who=COORDINATOR, source="", time=self._clock())
            await self._emit(BoardChanged(off))

    def take_suggestions(self) -> tuple[Suggestion, ...]:
        """What workers suggest, in their order; each is given once."""
        taken = tuple(self._suggested)
        self._suggested.clear()
        return taken


def board_text(entries: Sequence[BoardEntry]) -> str:
    """Entries as lines of text, each topic with its heading; empty where there are none."""
    lines: list[str] = []
    for topic in TOPICS:
        within = [_line(entry) for entry in entries if entry.topic == topic]
        lines += [topic, *within] if within else []
    return "\n".join(lines)


def _line(entry: BoardEntry) -> str:
    source = f", from {one_line(entry.source, 200)}" if entry.source else ""
    version = f", version {entry.version}" if entry.version > 1 else ""
    said = one_line(entry.value, VALUE_CHARACTERS_MAX)
    return f"  {one_line(entry.key)}: {said} ({one_line(entry.who)}{source}{version})"


def _key(key: str) -> str:
    return one_line(key, KEY_CHARACTERS_MAX)
