"""Atoms: what a chunk is packed from. A block that fits is one; a larger one is cut at its seams.

A seam is a place where a text can be cut; the kinds of seams are tried one after the other, from
those that hurt least (between the rows of a table, between sentences) to the last resort (inside
a word), and only in parts that don't fit yet.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from servers.rag.chunking.blocks import Block
from servers.rag.chunking.seams import (
    BLOCK,
    CHARACTERS,
    INTRODUCTION,
    SEAMS,
    SECTION,
    UNDER_HEADING,
    Seam,
)
from servers.rag.chunking.tokens import TokenCounter

GRAINS = 12
"""Neighbouring atoms that together have less than this part of a chunk become one."""

INDENTATION_CHARACTERS_MAX = 40

_NOT_BLANK = re.compile(r"\S")


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
