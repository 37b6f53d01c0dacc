"""What a request asks to be done: its verbs where English asks, and what they are about.

A word for an action stands in many requests that ask for no such thing: "summarise my mail", "do
not forget to answer", "a new hotel", "what did I order?", "I will pay later". So a verb counts
where it is said to the agent: at the beginning of a clause, after "please", "can you", "I want
to", or joined to such a verb. Negated, put off, reported and quoted ones do not. What is in doubt
does not count: a question to the user is the worst that comes of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.tools.ranking import stem

REQUEST_CHARACTERS_MAX: Final = 20_000
"""How much of a request is read: of a longer one as much of its beginning and of its end."""

ASSENT_CHARACTERS_MAX: Final = 60
"""A longer request is no mere yes."""

SENTENCE_WORDS_MAX: Final = 300
"""How many words of one sentence are read."""

_SENTENCE: Final = lazy_pattern(
    r"[.!?](?=\s|$)|[;\n]|:(?=\s|$)|(?<=\s)[-*\u2022\u2013\u2014](?=\s)"
)
_TOKEN: Final = lazy_pattern(
    r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|[$\u20ac\u00a3#@]?\d[\w.,:/-]*|[@#/~]\S+|[,()]|\u0000"
)
_QUOTED: Final = lazy_pattern(
    r"\"[^\"]{0,1000}\"|\u201c[^\u201d]{0,1000}\u201d|`[^`]{0,1000}`|(?<!\w)['\u2018][^'\u2019\n]{0,1000}['\u2019](?!\w)"
)
_QUOTE: Final = "\u0000"
"""Stands for quoted text, which asks for nothing but may be what a verb is about."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ADVERBS: Final = _words(
    "please just now also then kindly first next finally again only simply additionally "
    "afterwards lastly go ahead directly immediately"
)
_JOINTS: Final = _words("and or then but , ( ) plus & so")
_WANTS: Final = _words("want need like love have you me us sure try wish remember please ask going")
_SUBJECTS_OF_OTHERS: Final = _words(
    "wants wanted asked asks told tells decided decides plans planned tried tries has had refused "
    "how what where when whether which who why used supposed able forget forgot forgets"
)
_MODALS: Final = _words("can could would will should must may might shall")
_SAID_TO_AGENT: Final = frozenset(
    [(modal, who) for modal in _MODALS for who in ("you", "we")]
    + [("you", modal) for modal in _MODALS]
    + [(verb, who) for verb in ("help", "let") for who in ("me", "us")]
)
_NEGATIONS: Final = _words(
    "not never don't dont doesn't didn't won't can't cannot shouldn't mustn't without avoid "
    "forget unless no refrain"
)
_TURNS: Final = _words("but instead just only rather")
"""Words after which a negation is over."""

_PUT_OFF: Final = _words("later")
_ASKS_FOR_WORDS: Final = _words(
    "what what's which who who's whom whose when where why how is are was were does do did has "
    "have had am"
)
_CONDITIONS: Final = _words("if when once after before as since while")
"""What follows the comma of a sentence that begins so is said as if it began there."""

_OTHER_SUBJECTS: Final = _words("i i'll i've we we'll he she they it")
_STARTS_OBJECT: Final = _words(
    "the a an this that these those it them him her me us my our your his their its all any every "
    "each some both one to for everything everyone anything there here"
)
_AFTER_NOUN: Final = _words(
    "from of about in on at is are was were that which who has have had and or by : , history "
    "list status number details confirmation"
)
_POINTING: Final = _words("it them this that these those one him her so everything")
_GERUND_AFTER: Final = _words("mind by consider start about")
_BE: Final = _words("be get gets")
_PARTICIPLES: Final = {
    "sent": "send", "paid": "pay", "bought": "buy", "written": "write", "made": "make",
    "kept": "keep", "put": "put", "set": "set", "run": "run",
}  # fmt: skip
_NOMINAL: Final = {
    "reservation": "reserve", "booking": "book", "refund": "refund", "reminder": "remind",
    "payment": "pay", "transfer": "transfer", "appointment": "schedule", "copy": "copy",
    "order": "order", "note": "note", "purchase": "buy", "change": "change", "update": "update",
}  # fmt: skip
"""Nouns that are the action of a verb that says nothing itself: "make a reservation"."""

_ASSENTS: Final = _words(
    "yes y yep yeah ok okay sure please go do right exactly correct proceed continue confirm "
    "confirmed agreed fine"
)
_ASSENT_FILLERS: Final = _words("so it that this them all ahead now just and with , thanks you")
_ANSWERS: Final = _words("tell show give let write")
"""With "me" behind them, they ask for an answer."""

_EMPTY_VERBS: Final = _words("make do place set get create give")
_PHRASES: Final = {
    ("set", "up"): "create", ("get", "rid"): "delete", ("throw", "away"): "delete",
    ("write", "down"): "note", ("jot", "down"): "note", ("let", "know"): "tell",
}  # fmt: skip
"""Verbs of two words, the second not far behind the first."""
_PLAIN_VERBS: Final = _words(
    "write save keep remember create make add append insert edit compose send forward publish tell "
    "forget notify respond submit invite announce delete remove erase clear discard cancel close "
    "revoke "
    "modify rename replace adjust alter amend revise reschedule extend increase decrease reset "
    "configure enable disable execute invoke press select push merge buy pay refund reimburse "
    "reserve put give let get generate append store install deploy assign complete "
    "click"
)
"""Verbs that are hardly ever nouns, so that they need no article behind them."""


_NO_VERBS: Final = (
    _ADVERBS | _JOINTS | _STARTS_OBJECT | _AFTER_NOUN | _CONDITIONS | _OTHER_SUBJECTS | _MODALS
) | _words("my your i'd you not")


@frozen
class WantedAction:
    """Something asked for: the verb as it was said, and the stems of the words it is about."""

    verb: str
    about: frozenset[str]


@dataclass(frozen=True)
class Request:
    """The words of one request, read for what it asks to be done when that is first needed."""

    text: str

    @cached_property
    def actions(self) -> tuple[WantedAction, ...]:
        """What it asks to be done, in order."""
        return tuple(actions_in(self.text))


def actions_in(request: str) -> Iterator[WantedAction]:
    """What a request asks to be done, in order; takes time in proportion to its length."""
    if len(request) > REQUEST_CHARACTERS_MAX:
        half = REQUEST_CHARACTERS_MAX // 2
        request = f"{request[:half]}\n{request[-half:]}"
    whole = frozenset(_stems(_TOKEN.findall(request.lower())))
    for number, sentence in enumerate(_sentences(request)):
        if number == 0 and (about := _to_be_forgotten([word.lower() for word in sentence])):
            yield WantedAction("forget", frozenset(_stems(about)))
        yield from _actions(sentence, whole)


def is_assent(request: str) -> bool:
    """Whether a request only says yes, so that it asks for what the one before asked for."""
    words = [word.lower() for word in _TOKEN.findall(request[:ASSENT_CHARACTERS_MAX])]
    return (
        len(request) <= ASSENT_CHARACTERS_MAX
        and bool(words)
        and words[0] in _ASSENTS
        and {*words} <= _ASSENTS | _ASSENT_FILLERS
    )


def names_in(request: str, names: Iterable[str]) -> bool:
    """Whether one of the names stands as a whole in the request, and no negation before it."""
    lower = request.lower()
    for name in names:
        if name.lower() not in lower:
            continue
        pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
        for found in re.finditer(pattern, request, re.IGNORECASE):
            before = _SENTENCE.split(request[max(0, found.start() - 200) : found.start()])[-1]
            if not _is_negated([word.lower() for word in _TOKEN.findall(before)]):
                return True
    return False


def _sentences(request: str) -> Iterator[list[str]]:
    """The words of each sentence; quoted text is one sign."""
    for sentence in _SENTENCE.split(_QUOTED.sub(_QUOTE, request)):
        if words := [word.replace("\u2019", "'") for word in _TOKEN.findall(sentence)]:
            yield words[:SENTENCE_WORDS_MAX]


def _to_be_forgotten(lower: Sequence[str]) -> Sequence[str]:
    """What a request that begins "forget that I …" or "forget my …" is about; else nothing.

    Anywhere else the word takes something back: "don't forget to", "forget it", "forget that, and".
    What stands behind it is not asked for in any case: "forget that I told you to delete it".
    """
    start = 0
    while start < len(lower) and lower[start] in _ADVERBS:
        start += 1
    if (
        lower[start : start + 1]
        and lower[start] in _MODALS
        and lower[start + 1 : start + 2] == ["you"]
    ):
        start += 2 + (lower[start + 2 : start + 3] == ["please"])
    verb, which, about = lower[start : start + 1], lower[start + 1 : start + 2], lower[start + 2 :]
    is_plain = verb == ["forget"] and which in (["that"], ["my"]) and not _PUT_OFF & {*lower}
    return about if is_plain and about and about[0] not in _JOINTS | {")"} else ()


def _actions(words: Sequence[str], whole: frozenset[str]) -> Iterator[WantedAction]:
    lower = [word.lower() for word in words]
    if not lower or _PUT_OFF & {*lower}:
        return
    if lower[0] in _CONDITIONS and "," in lower:
        start = lower.index(",") + 1
        yield from _actions(words[start:], whole)
        return
    found = [(at, verb) for at in range(len(words)) if (verb := _verb_at(words, lower, at))]
    for number, (at, verb) in enumerate(found):
        end = found[number + 1][0] if number + 1 < len(found) else len(words)
        about = [word for word in lower[at + 1 : end] if word not in _JOINTS]
        points = not {*about} - _STARTS_OBJECT or _POINTING & {*about} or _QUOTE in about
        if verb in _ANSWERS and {*lower[at + 1 : at + 2]} & {"me", "us"}:
            continue
        for meant in _meant(verb, about):
            yield WantedAction(meant, whole if points else frozenset(_stems(about)))


def _meant(verb: str, about: Sequence[str]) -> Iterator[str]:
    """The verb itself, and what it means with the words behind it."""
    yield verb
    for word in about[:4]:
        if (meant := _PHRASES.get((verb, word))) is not None:
            yield meant
        if verb in _EMPTY_VERBS and word in _NOMINAL:
            yield _NOMINAL[word]


def _verb_at(words: Sequence[str], lower: Sequence[str], at: int) -> str | None:
    """The verb, if the word at this place is one that is said to the agent."""
    word = lower[at]
    before = _before(lower, at)
    if not word[0].isalpha() or word in _NO_VERBS or _is_negated(lower[: at + 1]):
        return None
    last = before[-1] if before else ""
    if last in _BE or word.endswith("ing"):
        return None if _is_question(lower) else _inflected_verb(word, before)
    if word in _NOMINAL and {*before[:4]} & {"need", "want", "like", "i'd"} and len(before) < 7:
        return _NOMINAL[word]
    if not before:
        is_verb = _is_verb_first(lower, at)
    elif last in _JOINTS:
        is_told = not _is_question(lower) and before[0] not in _OTHER_SUBJECTS
        is_verb = (word in _PLAIN_VERBS and is_told) or _has_object(words, lower, at)
    elif last == "to":
        is_verb = _is_verb_after_to(words, lower, at, before)
    else:
        is_verb = last in ("help", "let's", "lets") or tuple(before[-2:]) in _SAID_TO_AGENT
    return word if is_verb else None


def _inflected_verb(word: str, before: Sequence[str]) -> str | None:
    """The verb of "should be deleted" and "would you mind sending"."""
    if word.endswith("ing"):
        return word if before and before[-1] in _GERUND_AFTER else None
    is_participle = word.endswith("ed") or word in _PARTICIPLES
    is_wanted = before[-2:-1] in (["to"], ["should"], ["must"])
    return _PARTICIPLES.get(word, word) if is_participle and is_wanted else None


def _before(lower: Sequence[str], at: int) -> list[str]:
    """The words before a place, adverbs directly before it left out."""
    before = [*lower[:at]]
    while before and before[-1] in _ADVERBS:
        before.pop()
    return before


def _is_verb_first(lower: Sequence[str], at: int) -> bool:
    """Whether a sentence's first word is its verb, and not what the sentence is about."""
    follower = lower[at + 1] if at + 1 < len(lower) else ""
    if lower[at] in _ASKS_FOR_WORDS | _MODALS | _OTHER_SUBJECTS:
        return False
    return lower[at] in _PLAIN_VERBS or follower not in _AFTER_NOUN


def _is_verb_after_to(
    words: Sequence[str], lower: Sequence[str], at: int, before: Sequence[str]
) -> bool:
    governor = before[-2] if len(before) > 1 else ""
    if _SUBJECTS_OF_OTHERS & {*before[-3:-1]} or _is_question(lower):
        return False
    return governor in _WANTS or lower[at] in _PLAIN_VERBS or _has_object(words, lower, at)


def _has_object(words: Sequence[str], lower: Sequence[str], at: int) -> bool:
    """Whether what follows is what a verb is done to: an article, a name, a number, a quotation."""
    if at + 1 >= len(words):
        return False
    follower = words[at + 1]
    return (
        lower[at + 1] in _STARTS_OBJECT
        or follower[0] in f"@#/~$\u20ac\u00a3{_QUOTE}"
        or follower[0].isdigit()
        or (follower[0].isupper() and not words[at][0].isupper())
    )


def _is_question(lower: Sequence[str]) -> bool:
    """Whether a sentence asks for words; "can you" and the like ask for an action."""
    return lower[0] in _ASKS_FOR_WORDS | _CONDITIONS


def _is_negated(before: Sequence[str]) -> bool:
    """Whether a negation reaches to the end of these words."""
    for word in reversed(before):
        if word in _TURNS:
            return False
        if word in _NEGATIONS or word.endswith("n't"):
            return True
    return False


def _stems(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        for part in word.replace("'s", "").split("-"):
            if part.isalpha():
                yield stem(part)
        if "-" in word:
            yield stem(word.replace("-", ""))  # e-mail
