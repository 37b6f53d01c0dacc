"""The line below the prompt: what is at work, quiet, and never wider than the terminal."""

from collections.abc import Sequence
from typing import Final

from prompt_toolkit.utils import get_cwidth

from core.base.text import one_line
from modules.terminal.input.candidates import Part

GAP: Final = " · "

PART_CHARACTERS: Final = 60


def bottom_text(parts: Sequence[Part], columns: int) -> str:
    """As many of the parts as fit, in their order; of the last that is left, what fits."""
    kept = [Part(one_line(p.text, PART_CHARACTERS), p.rank) for p in parts if p.text]
    while len(kept) > 1 and get_cwidth(GAP.join(part.text for part in kept)) > columns:
        kept.remove(max(kept, key=lambda part: part.rank))
    text = GAP.join(part.text for part in kept)
    while text and get_cwidth(text) > columns:
        text = text[:-1]
    return text
