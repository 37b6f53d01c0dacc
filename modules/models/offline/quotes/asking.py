"""What questions have in common, whatever they are put to: their words, and the forms of these.

The forms of an English word, irregular ones too (kept for keep, mice for mouse), come from
LemmInflect's tables, which the NIH's SPECIALIST Lexicon is behind. What those don't know, and words
that are made of others (descaling), are found by their stem and common endings.
"""

import re
from typing import Final

from core.base.text import lazy_pattern
from core.tools.ranking import STOP_WORDS, stem
from modules.models.offline.arithmetic.tokens import TEENS, UNITS
from modules.models.offline.arithmetic.vocabulary import AGGREGATES, CONSTANTS, FUNCTIONS, VERBS
from modules.models.offline.tools.arguments import SECOND_REQUEST

QUESTION_CHARACTERS_MAX: Final = 400
TERMS_MAX: Final = 12
"""How many words of a question are looked for in sentences."""

COUNTING: Final = lazy_pattern(r"how\s+many\s+(?:times|letters?|words?|characters?)\b", re.I)
"""How a question begins whose answer nobody has written down: it has to be counted."""

_ANOTHER_VERB: Final = lazy_pattern(
    r"(?:\band|,)\s+(?:then\s+|also\s+|please\s+)*(?:(?:analy[sz]e|calculate|check|choose|convert|"
    r"decide|explain|pick|plot|rank|recommend|rewrite|verify)\b|(?:book|buy|click|fill|log|order|pay|"
    r"sign|submit)\s+(?:a|for|in|it|on|one|out|that|the|them|this|up)\b)",
    re.IGNORECASE,
)

_QUESTION_TEXT: Final = (
    "what who whom whose when where which why how does do did has have had much many often say "
    "says said mention mentions tell tells any anything something some there he she than also "
    "still should must may might if no every each"
)
_QUESTION_WORDS: Final = frozenset(_QUESTION_TEXT.split()) | STOP_WORDS
"""Words that a question is made of."""

_ASK_NOTHING: Final = _QUESTION_WORDS | frozenset(["long", "far", "old", "more", "most", "not"])
"""A question in these alone asks after nothing that could be looked for."""

_LIGHT_TEXT: Final = (
    "shall happen happens mean means gets got called needed needs require requires required number "
    "kind sort type until one everyone somebody someone again supposed"
)
_LIGHT: Final = _QUESTION_WORDS | frozenset(_LIGHT_TEXT.split())
"""Words that an answer need not repeat."""

_POLITE: Final = lazy_pattern(
    r"(?:(?:please|kindly|hey|hi|hello|okay|ok|now|so|just|let['’]?s|let\s+us|(?:can|could|would|will)\s+you|tell\s+me|"
    r"i(?:['’]d\s+like|\s+would\s+like|\s+want|\s+need)\s+(?:you\s+)?to(?:\s+know)?)\b[\s,:!.]*)+",
    re.IGNORECASE,
)
_END: Final = lazy_pattern(r"(?:[\s,.!?]|\bplease\b|\bthanks\b|\bthank\s+you\b)+\Z", re.IGNORECASE)


def bare(request: str) -> str:
    """The request without its polite beginning and end, on one line."""
    text = _END.sub("", " ".join(request.split()))
    polite = _POLITE.match(text)
    return text[polite.end() :] if polite is not None else text


def matched(pattern: str, text: str) -> re.Match[str] | None:
    """The match of the whole text; `re` keeps the pattern, which few runs need."""
    return re.fullmatch(pattern, text, re.IGNORECASE)


def asks_more(text: str) -> bool:
    """Whether something else may be asked for behind what is looked for."""
    return (SECOND_REQUEST.search(text) or _ANOTHER_VERB.search(text)) is not None


def telling_words(text: str, *more: str) -> tuple[str, ...]:
    """The words that an answer has to have, in order, each once; `more` don't count here."""
    words = (word.lower() for word in re.findall(r"[^\W_]+", text.replace("'s ", " ")))
    light = _LIGHT | {*more}
    told = [w for w in words if (w not in light and len(w) > 1) or w.isdigit()]
    return tuple(dict.fromkeys(told))[:TERMS_MAX]


def question_terms(query: str) -> list[str]:
    """The stems of the words that a sentence has to share to be an answer."""
    words = [word.lower() for word in re.findall(r"\w+", query)]
    told = [stem(word) for word in words if word not in _ASK_NOTHING]
    return list(dict.fromkeys(told))[:TERMS_MAX]


def speaks_of_arithmetic(text: str) -> bool:
    """Whether some word of it is one of the grammar of arithmetic."""
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", text)}
    known = {*AGGREGATES, *FUNCTIONS, *VERBS, *CONSTANTS}
    return bool(words & (known | {"plus", "minus", "times", "percent", "divided"}))


def whole_number(word: str) -> int | None:
    """The number below 1,000 that one word is, in digits or spelled; None if it is none."""
    text = word.strip().lower()
    if text.isdecimal():
        return int(text) if len(text) < 4 else None
    return {**UNITS, **TEENS}.get(text)


# The forms of a word.

FORMS_MAX: Final = 12
"""More forms of one word are several words that are spelled alike."""

ENDINGS: Final = r"(?:s|es|e|ed|d|ings?|ers?|ors?|(?:at)?ions?|ly|al|y|ies|ied|able|ments?)?\b"
"""What may stand behind a root of a word, in text that is lower case and has no marks."""


def word_roots(word: str) -> str:
    """What the word's forms begin with, as alternatives of a regular expression; see `ENDINGS`."""
    root = stem(word)
    others = sorted(form for form in _inflected(word.lower()) if not form.startswith(root))
    return "|".join(re.escape(each) for each in [root, *others[:FORMS_MAX]])


def _inflected(word: str) -> set[str]:
    """The forms that share a lemma with the word; none for a word that the tables don't have."""
    import lemminflect  # 0.2 s, and only questions to texts need it

    lemmas = {lemma for found in lemminflect.getAllLemmas(word).values() for lemma in found}
    forms = {
        form.lower()
        for lemma in lemmas
        for found in lemminflect.getAllInflections(lemma).values()
        for form in found
        if form.isalpha()
    }
    return {word, *lemmas, *forms}
