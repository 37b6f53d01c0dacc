"""What a repair is: edits of a plan's text at the place of a mistake, and words for them."""

from dataclasses import dataclass

from core.base.text import shorten
from modules.planning.names import Place
from modules.sandbox.language.rewriting import Edit

MAX_PHRASE_CHARACTERS = 120
"""Longest phrase about one repair: it quotes names that the plan chose."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One mistake put right: where, in words, and how."""

    place: Place
    words: str
    edits: tuple[Edit, ...]

    @property
    def phrase(self) -> str:
        """What was done, with the line."""
        return f"{shorten(self.words, MAX_PHRASE_CHARACTERS)} (line {self.place.lineno})"
