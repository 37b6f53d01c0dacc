"""What the reader of a format is given, and what it leaves notes on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeAlias

from servers.rag.extraction.limits import Clock, Limits
from servers.rag.extraction.pictures import Pictures
from servers.rag.passages import Extracted

NOTES_MAX = 20
"""Lines a file; a damaged one would fill the status otherwise."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file in memory. `charset` is what its mail or its server says of it, else empty."""

    name: str
    data: bytes
    charset: str = ""

    @property
    def suffix(self) -> str:
        """`.pdf`, in lower case; empty without one."""
        return PurePath(self.name).suffix.lower()


@dataclass(slots=True)
class Reading:
    """One file's reading: its bounds, its pictures, and the notes for its status.

    `is_careful` is set for a file that ended the process at the first attempt: what may have done
    so is left out.
    """

    limits: Limits
    clock: Clock
    pictures: Pictures
    is_careful: bool = False
    notes: list[str] = field(default_factory=list[str])

    def note(self, line: str) -> None:
        """Keep a line for the status, once."""
        if len(self.notes) < NOTES_MAX and line not in self.notes:
            self.notes.append(line)

    def all_notes(self) -> tuple[str, ...]:
        """The notes, those on pictures last."""
        return tuple(dict.fromkeys([*self.notes, *self.pictures.notes()]))


Reader: TypeAlias = Callable[[Source, Reading], Extracted]
"""Reads one format; raises ExtractionError where it can't."""
