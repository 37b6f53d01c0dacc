"""Cuts a document into chunks that follow its own structure.

A chunk lies within one section (small ones are joined), holds whole paragraphs, lists, tables and
code where they fit, and has about 180 words. Chunks neither overlap nor leave anything out but
white space between them, so that the document can be shown from its chunks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from servers.rag.chunking.atoms import Atom, AtomMaker
from servers.rag.chunking.blocks import markdown_blocks
from servers.rag.chunking.packing import pack
from servers.rag.chunking.sections import sections
from servers.rag.chunking.tokens import TokenCounter
from servers.rag.passages import Chunk, Extracted

CHUNKER_VERSION = "1"
"""Part of the index's fingerprint: changes whenever the same text gives other chunks."""

CHUNK_WORDS = 180
CHUNK_TOKENS_MAX = 250
"""All-MiniLM-L6-v2 sees 256, two of them its own."""

TINY = 0.15
"""A section of less than this part of a chunk is joined to the next one beside or below it."""

_LINE_END = re.compile(r"\r\n|\r|\n")


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
    heading: with it); see `topic_split`. `headings` of a chunk that begins with a heading include
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
