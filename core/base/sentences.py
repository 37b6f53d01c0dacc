"""How others' words are put into sentences of ours: with one mark at the end, not two."""

from typing import Final

_ENDS: Final = (".", "!", "?", "…", ":", ".)", "!)", "?)", '."', '!"', '?"')


def clause(text: str) -> str:
    """The text as a part of a sentence that goes on: without a full stop at its end."""
    bare = text.rstrip()
    return bare if bare.endswith(("…", "...")) else bare.rstrip(" .;,")


def sentence(text: str) -> str:
    """The text as a sentence: with a full stop at its end, where it has no mark there."""
    bare = text.rstrip(" ;,")
    return bare if bare.endswith(_ENDS) and not bare.endswith("..") else f"{clause(bare)}."
