"""Words of others in messages of ours: on one line, in sentences, and near to what was meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final


def one_line(text: str) -> str:
    """Text on one line, without what would move a terminal's cursor."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


_ENDS: Final = (".", "!", "?", "…", ":", ".)", "!)", "?)", '."', '!"', '?"')


def clause(text: str) -> str:
    """The text as a part of a sentence that goes on: without a full stop at its end."""
    bare = text.rstrip()
    return bare if bare.endswith(("…", "...")) else bare.rstrip(" .;,")


def sentence(text: str) -> str:
    """The text as a sentence: with a full stop at its end, where it has no mark there."""
    bare = text.rstrip(" ;,")
    return bare if bare.endswith(_ENDS) and not bare.endswith("..") else f"{clause(bare)}."


NEAR_SHOWN: Final = 3
NEARNESS: Final = 0.6
"""From which likeness on (difflib's ratio) a name is worth proposing."""


def near_names(name: str, names: Iterable[str], likeness: float = NEARNESS) -> list[str]:
    """The names that are most like this one, the nearest first; none that is far from it."""
    return get_close_matches(name, list(names), NEAR_SHOWN, likeness)


def edit_distance(one: str, other: str) -> int:
    """How many characters must be put in, taken out or replaced (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for place, character in enumerate(one, 1):
        above, row = row, [place]
        for column, against in enumerate(other, 1):
            changed = above[column - 1] + (character != against)
            row.append(min(above[column] + 1, row[-1] + 1, changed))
    return row[-1]
