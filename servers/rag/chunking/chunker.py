"""Cuts a document into chunks that follow its own structure.

A chunk lies within one section (small ones are joined), holds whole paragraphs, lists, tables and
code where they fit, and has about 180 words. Chunks neither overlap nor leave anything out but
white space between them, so that the document can be shown from its chunks.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TypeAlias

from core.base.frozen import frozen
from servers.rag.chunking.atoms import Atom, AtomMaker
from servers.rag.chunking.blocks import Block, markdown_blocks
from servers.rag.chunking.tokens import TokenCounter
from servers.rag.passages import Chunk
from servers.reading.source import Extracted

CHUNKER_VERSION = "1"
"""Part of the index's fingerprint: changes whenever the same text gives other chunks."""

CHUNK_WORDS = 180
CHUNK_TOKENS_MAX = 250
"""All-MiniLM-L6-v2 sees 256, two of them its own."""

TINY = 0.15
"""A section of less than this part of a chunk is joined to the next one beside or below it."""

_LINE_END = re.compile(r"\r\n|\r|\n")


@frozen
class Cut:
    """The chunks of a document, and one line for the status if that went less than well."""

    chunks: list[Chunk]
    note: str = ""


CutDocument: TypeAlias = Callable[[Extracted], Cut]


def cut_by_structure(extracted: Extracted) -> Cut:
    """Chunks as headings and paragraphs have it."""
    return Cut(chunk_document(extracted))


def chunk_document(
    extracted: Extracted,
    *,
    words: int = CHUNK_WORDS,
    tokens_max: int = CHUNK_TOKENS_MAX,
    topics: Sequence[int] = (),
) -> list[Chunk]:
    """The chunks of a document, in order; none if it is blank.

    About `words` words each, and never more than `tokens_max` tokens as `TokenCounter` counts.
    No chunk reaches over an offset of `topics` (sorted), where another topic begins (inside a
    heading: with it); see `topics`. `headings` of a chunk that begins with a heading include
    that one. Takes time and memory linear in the length of the text.

    Raises:
        ValueError: less than one word, or too few tokens for a character.
    """
    if words < 1:
        raise ValueError(f"no chunks of {words} words can be made")
    text, places = extracted.markdown, _Places(extracted)
    return [
        Chunk(
            text=text[first.start : last.end],
            start=first.start,
            end=last.end,
            line=places.line(first.start),
            page=places.page(first.start),
            headings=first.headings,
        )
        for atoms in _groups(text, tokens_max, topics)
        for first, last in pack(atoms, words, tokens_max)
    ]


def _groups(text: str, tokens_max: int, topics: Sequence[int]) -> Iterator[list[Atom]]:
    """The atoms of each section, with those of the next as long as there are only few.

    Only what lies beside or below the first section is joined to it, and only of the same topic.
    """
    maker = AtomMaker(text, TokenCounter(text, tokens_max), tokens_max)
    group: list[Atom] = []
    level = tokens = 0
    for section in sections(markdown_blocks(text), topics):
        joins = section.level >= level and not section.new_topic and tokens < TINY * tokens_max
        if group and not joins:
            yield group
            group = []
        if not group:
            level = section.level
        begin = group[-1].end if group else section.blocks[0].start
        group += maker.atoms(section.blocks, section.headings, begin)
        tokens = sum(atom.tokens for atom in group)
    if group:
        yield group


class _Places:
    """Lines and pages of offsets that are asked for in order."""

    def __init__(self, extracted: Extracted) -> None:
        self._text = extracted.markdown
        self._page_starts = extracted.page_starts
        self._offset = 0
        self._line = extracted.first_line

    def line(self, offset: int) -> int:
        """The line of an offset, not before the last one asked for, from 1."""
        self._line += sum(1 for _ in _LINE_END.finditer(self._text, self._offset, offset))
        self._offset = offset
        return max(1, self._line)

    def page(self, offset: int) -> int | None:
        """The page of an offset, from 1; None without pages."""
        if not self._page_starts:
            return None
        return max(1, bisect_right(self._page_starts, offset))


@frozen
class Section:
    """Blocks under one heading, which is the first of them.

    `headings` is the path of titles down to its own; `level` its own level, 0 for what comes
    before the first heading. `new_topic` says that it must not be joined to what comes before.
    """

    level: int
    headings: tuple[str, ...]
    blocks: list[Block]
    new_topic: bool = False


def sections(blocks: Iterable[Block], topics: Sequence[int] = ()) -> Iterator[Section]:
    """The sections in order; another one begins at each offset of `topics`, which is sorted."""
    path: list[tuple[int, str]] = []
    section = Section(0, (), [])
    for block, new_topic in _cut_at_topics(blocks, topics):
        if block.kind == "heading":
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.title))
        if (block.kind == "heading" or new_topic) and section.blocks:
            yield section
            section = Section(section.level, section.headings, [], new_topic)
        if block.kind == "heading":
            headings = tuple(title for _, title in path if title)
            section = replace(section, level=block.level, headings=headings)
        section.blocks.append(block)
    if section.blocks:
        yield section


def _cut_at_topics(blocks: Iterable[Block], topics: Sequence[int]) -> Iterator[tuple[Block, bool]]:
    """The blocks, cut in two where a topic begins inside one; and whether one begins with it."""
    pending = list(reversed(topics))
    for block in blocks:
        start, new_topic = block.start, False
        while pending and pending[-1] < block.end:
            topic = pending.pop()
            if topic > start and block.kind != "heading":
                yield replace(block, start=start, end=topic), new_topic
                start = topic
            new_topic = True
        yield replace(block, start=start) if start > block.start else block, new_topic


def pack(atoms: Sequence[Atom], words: int, tokens_max: int) -> Iterator[tuple[Atom, Atom]]:
    """The first and the last atom of each chunk, in order.

    No chunk has more than `tokens_max` tokens; about `words` words are aimed at. Packed at the
    least cost, as Knuth and Plass (1981) break paragraphs into lines: each chunk costs 1, and more
    the further it is from full; each cut costs what its seam says. The best cuts of a text follow
    from the best cuts of its beginnings, so that one pass finds them.
    """
    least, begins = [0.0], [0]
    for end in range(1, len(atoms) + 1):
        best, begin = inf, end
        for first, cost in _chunks_ending(atoms, end, words, tokens_max):
            if least[first] + cost < best:
                best, begin = least[first] + cost, first
        least.append(best)
        begins.append(begin)
    ends = [len(atoms)]
    while ends[-1] > 0:
        ends.append(begins[ends[-1]])
    for end, begin in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
        yield atoms[begin], atoms[end - 1]


def _chunks_ending(
    atoms: Sequence[Atom], end: int, words: int, tokens_max: int
) -> Iterator[tuple[int, float]]:
    """The chunks that end before the atom `end`: the number of their first atom, and the cost."""
    tokens = counted = gap = 0
    for number in range(end - 1, -1, -1):
        atom = atoms[number]
        tokens += atom.tokens + gap
        if tokens > tokens_max:
            return
        counted, gap = counted + atom.words, atom.gap
        full = max(counted / words, tokens / tokens_max)
        yield number, 1 + (1 - full) ** 2 + (atom.cut if number else 0)
