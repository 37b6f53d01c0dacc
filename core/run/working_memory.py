"""Working memory: values by name that the plans of one run leave for later plans of the run.

A plan has them as the dict `memory`. When it has ended, what stands there is read back as plain
JSON (`modules.sandbox.memory`), and when the run has ended it is gone. Text that a step is given to
read is there too, all of it, where a prompt has room for its beginning only.

A value from here is no more trusted than what a tool gave: each call that it goes into is checked
as any other (`core.provenance`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import starmap

from core.base.json_text import json_start
from core.provenance.borders import Borders
from core.run.observation import SHORT_ANSWER_CHARACTERS, bordered, shorten
from core.values import Json, JsonObject

MEMORY = "memory"
"""What a plan calls it."""

TEXT = "text"
"""Under this name stands the text that the last step found."""

MEMORY_BYTES = 500_000
"""Size of all values, in bytes of JSON."""

TEXT_BYTES = MEMORY_BYTES // 2
"""How much of a step's text is kept, in bytes of UTF-8; its JSON is seldom much larger."""

NAMES_MAX = 50
"""How many values there may be."""

NAME_CHARACTERS = 100
"""Longest name of one."""

SHOWN_CHARACTERS = 4_000
"""How much of a prompt may tell of all of it."""

VALUE_CHARACTERS = 100
"""How much of each value is shown, its beginning."""

_HELD = (
    f"Earlier plans left these values in the dict `{MEMORY}`, which this plan has: compute with "
    "them, don't copy them."
)
_LOST = f"This could not be kept in `{MEMORY}`:"


@dataclass(slots=True)
class WorkingMemory:
    """What a run's plans have left: `values` by name, and what of the last plan's was `lost`."""

    values: JsonObject = field(default_factory=dict[str, Json])
    lost: tuple[str, ...] = ()

    def take(self, left: "WorkingMemory | None") -> None:
        """Hold what a plan has left; None of a plan that left everything as it was."""
        self.values, self.lost = (self.values, ()) if left is None else (left.values, left.lost)

    def keep_text(self, text: str) -> None:
        """Hold the text that a step found, in place of an earlier one that it is no part of."""
        if len(text) > SHORT_ANSWER_CHARACTERS and text in str(self.values.get(TEXT)):
            return
        kept = text.encode("utf-8", "replace")[:TEXT_BYTES].decode(errors="ignore")
        self.values = {**self.values, TEXT: shorten(text, len(kept))}

    def described(self, borders: Borders | None = None) -> str:
        """What a prompt says of it; nothing while there is nothing to say.

        `borders` go around names and values, where a page or the like may have had a hand in them.
        """
        parts: list[str] = []
        if self.values:
            parts += (_HELD, _bordered_list(starmap(_shown, self.values.items()), borders))
        if self.lost:
            parts += (_LOST, _bordered_list(iter(self.lost), borders))
        if parts and borders is not None:
            parts.insert(0, borders.note)
        return "\n".join(parts)


def _bordered_list(lines: Iterator[str], borders: Borders | None) -> str:
    """The lines that a prompt has room for, and how many more there are."""
    shown: list[str] = []
    room = SHOWN_CHARACTERS
    for line in lines:
        room -= len(line)
        if room < 0:
            shown.append(f"({1 + sum(1 for _ in lines)} more)")
        else:
            shown.append(line)
    return bordered("\n".join(f"- {line}" for line in shown), borders)


def _shown(name: str, value: Json) -> str:
    """A value's name, type and size, and how it begins."""
    return f"{item(name)}: {_kind(value)}, {json_start(value, VALUE_CHARACTERS)}"


def item(name: str) -> str:
    """A value as a plan writes it: `memory["rates"]`."""
    return f"{MEMORY}[{json_start(name, NAME_CHARACTERS)}]"


def _kind(value: Json) -> str:
    kind = type(value).__name__
    match value:
        case str():
            return f"{kind} of {len(value):,} characters"
        case list() | dict():
            return f"{kind} of {len(value):,}"
        case _:
            return kind
