"""What the reader of a format is given, and what it leaves notes on."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from servers.reading.limits import Clock, Limits
from servers.reading.pictures.pictures import Pictures
from servers.reading.source import Extracted, ExtractionError, Source

PartT = TypeVar("PartT")

ENCLOSED_DEPTH_MAX = 4
"""How deep files are read that stand in files: mails in mails."""

NOTES_MAX = 20
"""Lines a file; a damaged one would fill the status otherwise."""


def _refuse(source: Source, reading: "Reading") -> Extracted:
    raise ExtractionError("files inside it are not read")


@dataclass(slots=True)
class Reading:
    """One file's reading: its bounds, its pictures, and the notes for its status.

    `is_careful` is set for a file that ended the process at the first attempt: what may have done
    so is left out. Of a page's pictures without a description up to `pictures_named` are named in
    the result. `read_enclosed` reads a file of any kind inside this one, at a `depth` that whoever
    calls it counts.
    """

    limits: Limits
    clock: Clock
    pictures: Pictures
    is_careful: bool = False
    pictures_named: int = 0
    read_enclosed: "Reader" = _refuse
    depth: int = 0
    notes: list[str] = field(default_factory=list[str])

    def note(self, line: str) -> None:
        """Keep a line for the status, once."""
        if len(self.notes) < NOTES_MAX and line not in self.notes:
            self.notes.append(line)

    def in_time(self, parts: Iterable[PartT], what: str) -> Iterator[PartT]:
        """The parts, as long as there is time for more; a note says how many were read."""
        for number, part in enumerate(parts):
            if self.clock.left() < 0:
                self.note(f"only the first {number:,} {what} are read: it takes too long")
                return
            yield part

    def all_notes(self) -> tuple[str, ...]:
        """The notes, those on pictures last."""
        return tuple(dict.fromkeys([*self.notes, *self.pictures.notes()]))


Reader: TypeAlias = Callable[[Source, Reading], Extracted]
"""Reads one format; raises ExtractionError where it can't."""
