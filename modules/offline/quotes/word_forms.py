"""The forms of an English word, irregular ones too: kept for keep, paid for pays, mice for mouse.

They come from LemmInflect's tables, which the NIH's SPECIALIST Lexicon is behind. What those don't
know, and words that are made of others (descaling), are found by their stem and common endings.
"""

import importlib
import re
from typing import Final, Protocol, cast

from core.tools.ranking import stem

FORMS_MAX: Final = 12
"""More forms of one word are several words that are spelled alike."""

ENDINGS: Final = r"(?:s|es|e|ed|d|ings?|ers?|ors?|(?:at)?ions?|ly|al|y|ies|ied|able|ments?)?\b"
"""What may stand behind a root of a word, in text that is lower case and has no marks."""


class _Lexicon(Protocol):
    def getAllLemmas(self, word: str) -> dict[str, tuple[str, ...]]:
        """The lemmas that a form may have, by part of speech."""
        ...

    def getAllInflections(self, lemma: str) -> dict[str, tuple[str, ...]]:
        """The forms of a lemma, by their tag."""
        ...


def word_roots(word: str) -> str:
    """What the word's forms begin with, as alternatives of a regular expression; see `ENDINGS`."""
    root = stem(word)
    others = sorted(form for form in _inflected(word.lower()) if not form.startswith(root))
    return "|".join(re.escape(each) for each in [root, *others[:FORMS_MAX]])


def _inflected(word: str) -> set[str]:
    """The forms that share a lemma with the word; none for a word that the tables don't have."""
    # 0.2 s, and only questions to texts need it; it has no type stubs.
    lexicon = cast("_Lexicon", cast("object", importlib.import_module("lemminflect")))
    lemmas = {lemma for found in lexicon.getAllLemmas(word).values() for lemma in found}
    forms = [
        f for lemma in lemmas for found in lexicon.getAllInflections(lemma).values() for f in found
    ]
    return {word, *lemmas, *(form.lower() for form in forms if form.isalpha())}
