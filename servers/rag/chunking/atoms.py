"""Atoms: what a chunk is packed from. A block that fits is one; a larger one is cut at its seams.

A seam is a place where a text can be cut; the kinds of seams are tried one after the other, from
those that hurt least (between the rows of a table, between sentences) to the last resort (inside
a word), and only in parts that don't fit yet. Costs compare with the 1 that each chunk costs (see
`chunker.pack`): a block is rather given a chunk of its own than cut, and a table rather between its
rows than inside one.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from core.base.frozen import frozen
from servers.rag.chunking.blocks import Block, BlockKind
from servers.rag.chunking.tokens import TokenCounter

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

GRAINS = 12
"""Neighbouring atoms that together have less than this part of a chunk become one."""

INDENTATION_CHARACTERS_MAX = 40

_NOT_BLANK = re.compile(r"\S")


@frozen
class Seam:
    """A kind of places to cut at: `cuts` gives the offsets inside `text[start:end]`, in order."""

    cost: float
    cuts: Callable[[str, int, int], Iterator[int]]


@dataclass(slots=True)
class Atom:
    """`text[start:end]`, which is never cut.

    `gap` is the white space before it in tokens, `cut` what it costs to begin a chunk with it.
    """

    start: int
    end: int
    tokens: int
    words: int
    cut: float
    gap: int = 0
    headings: tuple[str, ...] = ()


class AtomMaker:
    """Makes the atoms of one document."""

    def __init__(self, text: str, counter: TokenCounter, tokens_max: int) -> None:
        """No atom will have more than `tokens_max` by `counter`."""
        self._text = text
        self._counter = counter
        self._tokens_max = tokens_max

    def atoms(
        self, blocks: Iterable[Block], headings: tuple[str, ...], offset: int
    ) -> Iterator[Atom]:
        """The atoms of a section's blocks, in order; what comes before them ends at `offset`."""
        before: Atom | None = None
        for atom in self._cut_blocks(blocks):
            first = _NOT_BLANK.search(self._text, atom.start)
            atom.gap = self._counter.gap(offset, first.start() if first else atom.start)
            atom.headings = headings
            offset = atom.end
            joint = before.tokens + atom.gap + atom.tokens if before else 0
            if before and joint * GRAINS <= self._tokens_max:
                before.end, before.tokens = atom.end, joint
                before.words += atom.words
                continue
            if before:
                yield before
            before = atom
        if before:
            yield before

    def _cut_blocks(self, blocks: Iterable[Block]) -> Iterator[Atom]:
        cut = SECTION
        for block in blocks:
            end = block.start
            for atom in self._fitting(block.start, block.end, cut, SEAMS[block.kind]):
                end = atom.end
                yield atom
            if block.kind == "heading":
                cut = UNDER_HEADING
            else:
                cut = INTRODUCTION if self._text.endswith((":", "："), 0, end) else BLOCK

    def _fitting(self, start: int, end: int, cut: float, seams: tuple[Seam, ...]) -> Iterator[Atom]:
        """The parts of a text that fit; a cut before the first of them costs `cut`."""
        start, end = self._trimmed(start, end)
        if start == end:
            return
        tokens = self._counter.fitting(start, end)
        if tokens is not None:
            yield Atom(start, end, tokens, len(self._text[start:end].split()), cut)
            return
        if seams:
            cost, inner = seams[0].cost, seams[1:]
            offsets = seams[0].cuts(self._text, start, end)
        else:
            cost, inner = CHARACTERS, ()
            offsets = self._counter.cuts(start, end)
        for offset in chain(offsets, (end,)):
            if offset > start:
                yield from self._fitting(start, offset, cut, inner)
                start, cut = offset, cost

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Without blank lines and white space around; the first line keeps its indentation."""
        first = _NOT_BLANK.search(self._text, start, end)
        if first is None:
            return start, start
        end = first.start() + len(self._text[first.start() : end].rstrip())
        margin = max(start, self._text.rfind("\n", start, first.start()) + 1)
        begins_line = margin == 0 or self._text[margin - 1] in "\r\n"
        if begins_line and first.start() - margin <= INDENTATION_CHARACTERS_MAX:
            return margin, end
        return first.start(), end


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
