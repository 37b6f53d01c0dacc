"""Pasted blocks: shown as `[pasted 500 lines]` while a request is typed, and sent whole."""

from typing import Final

from core.base.text import with_line_feeds

LINES_SHOWN: Final = 8
"""A block of more lines is folded."""

CHARACTERS_SHOWN: Final = 1_000
"""So is one with more characters."""


class Pastes:
    """The blocks that were folded in this process, by what stands for each."""

    def __init__(self) -> None:
        """Know none."""
        self._blocks: dict[str, str] = {}

    def shown(self, block: str) -> str:
        """A block as it is put into the line: as it is, or what stands for it."""
        block = with_line_feeds(block)
        lines = block.count("\n") + (not block.endswith("\n"))
        if lines <= LINES_SHOWN and len(block) <= CHARACTERS_SHOWN:
            return block
        size = f"{lines:,} lines" if lines > 1 else f"{len(block):,} characters"
        mark, number = f"[pasted {size}]", 1
        while self._blocks.get(mark, block) != block:
            number += 1
            mark = f"[pasted {size}, {number}]"
        self._blocks[mark] = block
        return mark

    def whole(self, text: str) -> str:
        """A text with all blocks in the places of what stands for them."""
        for mark, block in self._blocks.items():
            text = text.replace(mark, block)
        return text

    def folded(self, text: str) -> str:
        """A text with what stands for its blocks in their places."""
        for mark, block in self._blocks.items():
            text = text.replace(block, mark)
        return text

    def mark_before(self, text: str) -> str:
        """What stands for a block at the end of a text; empty where it ends otherwise."""
        return next((mark for mark in self._blocks if text.endswith(mark)), "")
