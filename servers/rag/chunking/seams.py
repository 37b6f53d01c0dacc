"""Where a text can be cut, and what a cut there costs.

Costs compare with the 1 that each chunk costs (see `packing`): a block is rather given a chunk of
its own than cut, and a table rather between its rows than inside one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from servers.rag.chunking.blocks import BlockKind

SECTION = -0.5
"""Before a heading: the best place of all."""
BLOCK = 0.0
INTRODUCTION = 1.0
"""After a block that ends in a colon."""
UNDER_HEADING = 6.0
"""Between a heading and what it is above."""
CHARACTERS = 20.0
"""Inside a word, between what may be tokens."""

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[^\W\d_]|[ap]\.m|e\.g|i\.e|al|approx|ca|cf|Dr|Drs|Eqs?|etc|Figs?|Mrs?|Ms|Nos?"
    r"|pp|Profs?|Refs?|resp|Secs?|Sr|Sra|St|Tabs?|Vol|vs|Abb|bzw|d\.h|Nr|u\.a|z\.B)$"
)
_ABBREVIATION_CHARACTERS_MAX = 9

_FULL_STOP = re.compile(
    r"[.!?…।؟۔]{1,6}[\"'”’»)\]*_]{0,4}\s|[。！？｡]{1,6}[\"'」』”’）】]{0,4}"  # bounded: linear
)
_PAUSE = re.compile(r"[;:,]\s|[，、；：､]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_SPACE = re.compile(r"(?<=\S)\s+")
_ITEM = re.compile(r"^[ \t]{0,3}(?:[-+*]|\d{1,9}[.)])(?!\S)", re.MULTILINE)
_NESTED_ITEM = re.compile(r"^[ \t]*(?:[-+*]|\d{1,9}[.)])(?!\S)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Seam:
    """A kind of places to cut at: `cuts` gives the offsets inside `text[start:end]`, in order."""

    cost: float
    cuts: Callable[[str, int, int], Iterator[int]]


def _sentences(text: str, start: int, end: int) -> Iterator[int]:
    """After a full stop, unless it is an abbreviation's or what follows is in lower case."""
    for stop in _FULL_STOP.finditer(text, start, end):
        if text[stop.start()] == ".":
            before = text[max(start, stop.start() - _ABBREVIATION_CHARACTERS_MAX) : stop.start()]
            if text[stop.end() : stop.end() + 1].islower() or _ABBREVIATION.search(before):
                continue
        yield stop.end()


def _rows(text: str, start: int, end: int) -> Iterator[int]:
    """Between a table's rows; its head stays with its first row."""
    for count, row in enumerate(_LINE_END.finditer(text, start, end), 1):
        if count > 2:
            yield row.end()


def _after(pattern: re.Pattern[str]) -> Callable[[str, int, int], Iterator[int]]:
    return lambda text, start, end: (found.end() for found in pattern.finditer(text, start, end))


def _before(pattern: re.Pattern[str]) -> Callable[[str, int, int], Iterator[int]]:
    return lambda text, start, end: (found.start() for found in pattern.finditer(text, start, end))


def _between_words(step: int) -> Callable[[str, int, int], Iterator[int]]:
    """After every `step` words."""
    after_each = _after(_SPACE)
    return lambda text, start, end: islice(after_each(text, start, end), step - 1, None, step)


_WORDS = (Seam(8.0, _between_words(8)), Seam(8.0, _between_words(1)))
"""Some words at a time first, for there may be millions in a sentence."""

_PROSE = (
    Seam(2.0, _sentences),
    Seam(3.0, _after(_LINE_END)),
    Seam(4.0, _after(_PAUSE)),
    *_WORDS,
)

SEAMS: dict[BlockKind, tuple[Seam, ...]] = {
    "heading": _PROSE,
    "paragraph": _PROSE,
    "quote": _PROSE,
    "list": (Seam(1.5, _before(_ITEM)), Seam(1.8, _before(_NESTED_ITEM)), *_PROSE),
    "table": (Seam(1.5, _rows), Seam(3.0, _after(_LINE_END)), *_WORDS),
    "code": (
        Seam(1.5, _after(_BLANK_LINE)),
        Seam(2.0, _after(_LINE_END)),
        *_WORDS,
    ),
}
"""The seams of each kind of block, in the order in which they are tried."""
