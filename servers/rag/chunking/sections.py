"""The sections of a text: a heading with the blocks below it, up to the next heading."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from servers.rag.chunking.blocks import Block


@dataclass(frozen=True, slots=True)
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
