"""What a plain question wants to know: which words a sentence must have, and what else, to answer.

An answer has all telling words of the question, and something of the kind that is asked for: a
number of that very thing, a time, a name, a place, a reason, what a thing is. Sentences that have
only the words are about the subject, and that is all that can be said of them.
"""

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from modules.models.offline.arithmetic.tokens import TEENS, TENS, UNITS
from modules.models.offline.quotes.asking import telling_words

Wanted: TypeAlias = Literal[
    "topic",  # what is said about a subject: any sentence that has most of its words
    "part",  # group 1 of `pattern`, in words that the question doesn't have
    "person",
    "value",  # what the thing is: behind its name and a verb such as "is", or under its heading
    "other",  # any words beyond the question's
    "unclear",  # yes or no, or how to do a thing: no one sentence shows that it answers
]


@frozen
class Question:
    """What a sentence must have to answer.

    `terms` are words, in the question's order, whose forms it must have, or stand under. `pattern`
    is a regular expression, in which `{forms}` stands for the forms of `focus`.
    """

    wanted: Wanted
    terms: tuple[str, ...]
    pattern: str = ""
    focus: tuple[str, ...] = ()
    in_order: bool = False


Reader: TypeAlias = Callable[[str, re.Match[str]], Question]
"""What makes a question of the words behind its opening."""


def read_question(text: str) -> Question:
    """What the question, or the subject that is no question, asks for."""
    plain = _SHORT.sub(r"\1 is", " ".join(text.split()).strip(" ?!.,"))
    plain = _BEFORE_WHICH.sub("", plain)
    for opening, read in _READERS:
        found = re.match(opening, plain, re.IGNORECASE)
        if found is not None:
            return read(plain[found.end() :], found)
    asks = _ASKS_WITHIN.search(plain) is not None
    return Question("unclear" if asks else "topic", telling_words(plain))


_SHORT: Final = lazy_pattern(r"\b(what|who|where|when|how)['’]s\b", re.IGNORECASE)
_BEFORE_WHICH: Final = lazy_pattern(
    r"^(?:about|at|by|during|for|from|in|into|of|on|since|through|to|under|until|with|within)\s+"
    r"(?=(?:what|which|whom?|whose|how)\b)",
    re.IGNORECASE,
)
"""As in "in which year": what is asked for begins behind it."""

_ASKS_WITHIN: Final = lazy_pattern(r"\b(?:what|which|whom?|whose|how|why)\b", re.IGNORECASE)
_AUXILIARY: Final = (
    r"(?:is|are|was|were|be|do|does|did|has|have|had|can|may|must|might|should|shall|will|would|"
    r"could)"
)

_NUMBER_WORDS: Final = "|".join(
    sorted({*UNITS, *TEENS, *TENS, "hundred", "thousand", "dozen", "half"} - {"zero"})
)
_NUMBER: Final = rf"(?:\d[\d.,:/]*|(?:{_NUMBER_WORDS})\b)"
_TIME_UNIT: Final = (
    r"(?:seconds?|minutes?|mins?|hours?|days?|nights?|weeks?|fortnights?|months?|quarters?|"
    r"seasons?|"
    r"years?|decades?|centur(?:y|ies))"
)
_LENGTH_UNIT: Final = (
    r"(?:mm|cm|m|km|millimet\w+|centimet\w+|met(?:re|er)s?|kilomet\w+|inch(?:es)?|in|f(?:oo|ee)t|"
    r"ft|"
    r"yards?|miles?|steps|pages|words)"
)
_WEIGHT_UNIT: Final = r"(?:g|kg|grams?|kilos?|kilograms?|tons?|tonnes?|pounds?|lbs?|ounces?)"
_MEASURES: Final = {
    "long": rf"(?:{_TIME_UNIT}|{_LENGTH_UNIT})",
    "old": rf"{_TIME_UNIT}",
    "hot": r"(?:degrees|°|celsius|fahrenheit|c|f|k)",
    "heavy": _WEIGHT_UNIT,
    "fast": r"(?:km/h|mph|knots?|\w+ (?:an?|per) \w+|\w+/\w+)",
    "late": r"(?:am|pm|o['’]clock)",
}
_MEASURES_ALIKE: Final = {
    "cold": "hot", "warm": "hot", "early": "late", "temperature": "hot", "age": "old",
    **dict.fromkeys(("far", "deep", "high", "tall", "wide", "thick", "broad", "near"), "long"),
}  # fmt: skip
_MEASURED: Final = "|".join((*_MEASURES, *_MEASURES_ALIKE))

_MONTH: Final = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_CLOCK: Final = (
    r"\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o['’]clock|h\b|hours)|\d{1,2}:\d\d|noon|"
    r"midnight|"
    r"(?:at|from|to|until|till|before|after|by|and|between|around|about) \d{1,2}(?![\d%.,]|"
    r"\s+[a-hj-z])"
    r"|\d{1,2} (?:in the|at) \w+"
)
_TIME: Final = (
    rf"\b({_CLOCK}|(?:{_MONTH})(?!\s+(?:be|not|have))\b(?! \w+ed\b)|{_WEEKDAY}\b|(?:1\d|20)\d\d\b|"
    rf"\d{{1,2}}(?:st|nd|rd|th)\b|"
    rf"(?:every|each|once|twice) .{{0,30}}|daily|weekly|monthly|yearly|annually|sunset|sunrise|"
    rf"dawn|dusk|"
    rf"(?:in|at|during|by|before|after|until) (?:the )?(?:\w+ )?(?:morning|afternoon|evening|night|"
    rf"spring|summer|autumn|fall|winter|weekends?|season|holidays?|easter|christmas)|"
    rf"{_NUMBER}\s+{_TIME_UNIT} (?:before|after|later|ago|ahead|from|in advance)|"
    rf"within {_NUMBER}\s+{_TIME_UNIT}|"
    rf"{_NUMBER}(?:st|nd|rd|th)? century|(?:when|whenever|before|after|as soon as|once) .{{3,}})"
)
_OFTEN: Final = (
    r"\b((?:every|each|once|twice|thrice) .{1,40}|(?:hour|dai|week|month|year|annual|quarter)ly\b|"
    rf"{_NUMBER}\s+times\b.{{0,30}}|always|never|"
    r"\w+ (?:an?|per|each|every) (?:hour|day|week|month|quarter|season|year))"
)
_PLACE: Final = (
    r"\b(?:in|inside|into|at|on|onto|under|underneath|behind|beside|below|beneath|above|over|near|"
    r"next to|outside|opposite|between|among|to|from|through|along|around|beyond|across|against|"
    r"off|"
    r"within|via|towards?)\s+(?:(?:the|an?|our|its|their|each|every|his|her|all)\s+)?"
    rf"((?!{_NUMBER}|(?:{_MONTH}|{_WEEKDAY}|time|advance|writing|order)\b)[\w'’-]+)"
)
_LIES: Final = (
    r"\s+(?:(?:is|are|was|were|can be|may be)\s+)?(?:(?:always|now|also)\s+)?"
    r"(?:(?:lies?|lay|stands?|stood|hangs?|hung|sits?|rests?|situated|located|found|kept|stored|placed|"
    r"housed)\s+)?"
)
"""How a sentence goes on that says where a thing is, rather than where something happened to it."""

_IS_THE: Final = r"{forms}\s+(?:is|are|was|were)\s+(?:the|an?|our)\s+(.+)"
_IS: Final = lazy_pattern(r"\s*(?:is|are|was|were)\b", re.IGNORECASE)
_PRICED: Final = lazy_pattern(r"^\s*(?:is|are|was|were)\b|\bcosts?\b", re.IGNORECASE)
_MONEY: Final = r"(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|cents?|pence|yen|crowns?|kr)\b"
_PRICE: Final = rf"([$€£¥]\s*\d[\d.,]*|{_NUMBER}\s*(?:[$€£¥]|{_MONEY})|\bfree\b|%)"

_REASON: Final = (
    r"\b(?:because|since|so that|so as|due to|owing to|thanks to|for fear|in order|as (?:it|they|"
    r"he|she|"
    r"the|this|that)|to (?:avoid|prevent|keep|protect|save|make sure))\b(.+)"
)
_MANNER: Final = r"\b(?:by|in|with|using|through|via|on|at|from|per)\s+(.+)"
_DEFINED: Final = (
    r"^(?:(?:an?|the)\s+)?(?:[\w'’-]+\s+){0,@others@}{forms},?\s+(?:is|are|was|were|means?|"
    r"stands? for|refers? to|denotes?)\s+"
    r"((?:an?|the|any|one|when|what|whatever|that|those|all|every|each|our|his|her|their)\b.+)"
)
_VALUED: Final = (
    r"{forms}(?:['’]s)?(?:\s*\([^)]*\))?(?:,? (?:of|for|in|at|on|from|to|per|an?|"
    r"each) [\w' -]{1,40}?)?"
    r"(?:\s*[:=–]\s*|\s+(?:is|are|was|were|equals?|amounts? to|comes? to|lasts?|reads?|remains?)\s+"
    rf"(?!not\b|\w+(?:ed|en)\b|\w+ly \w+ed\b|(?:kept|paid|made|sent|set|shown|known|held|put|"
    rf"found|sold|built|bought)\b)"
    rf"|\s+of\s+(?=(?:about |at least |at most |up to |over |under |some |only )?{_NUMBER}))(.+)"
)


def _part(pattern: str, *, in_order: bool = False) -> Reader:
    """The reader of a question whose answer has this, beside the question's words."""
    return lambda rest, _: Question("part", telling_words(rest), pattern, in_order=in_order)


def _how_many(rest: str, _: re.Match[str]) -> Question:
    run = re.split(
        rf"\b(?:{_AUXILIARY}|of|in|per|until|till|an?|the|to|each|at|on|for|with|from)\b",
        rest,
        maxsplit=1,
    )
    counted = telling_words(run[0])
    # "96 euros for a plot" counts no plots, and "half a plot" or "a half plot" is none.
    between = r"(?:[\s-]+(?!(?:a|an|the|of|for|in|to|and|per|at|on)\b)[^\s.,;:]+){0,2}?[\s-]+"
    pattern = rf"\b((?!half\b){_NUMBER}){between}{{forms}}|{{forms}}[^:.]{{0,40}}:\s*({_NUMBER})"
    return Question("part", telling_words(rest), pattern, counted)


def _how_much(rest: str, _: re.Match[str]) -> Question:
    if _PRICED.search(rest) is not None:
        return Question("part", telling_words(rest, "cost", "costs"), _PRICE)
    return Question("part", telling_words(rest), rf"(?<![\w-])({_NUMBER}|free|nothing)")


def _measured(rest: str, found: re.Match[str]) -> Question:
    measure = found["measure"].lower()
    unit = _MEASURES[_MEASURES_ALIKE.get(measure, measure)]
    if measure == "old":
        unit = rf"{unit}(?:[\s-]old)?"
    more = rf"(?:(?:more|and a half|full|to|or|and|–|-)?[\s-]*{_NUMBER}?[\s-]*)"
    pattern = rf"(?<![\w-])({_NUMBER}[\s-]*{more}{unit}\b)"
    return Question("part", telling_words(rest, "take", "takes", "last", "lasts"), pattern)


def _where(rest: str, _: re.Match[str]) -> Question:
    terms = telling_words(rest)
    if _IS.match(rest) is not None and not re.search(r"(?:ed|en|ept|old|ound|ut)$", rest.strip()):
        return Question("part", terms, rf"{{forms}}{_LIES}{_PLACE}|{_IS_THE}", terms)
    near = r"(?:\s+[\w'’-]+){0,4}?\s+"
    return Question("part", terms, rf"{{forms}}{near}{_PLACE}|{_IS_THE}", terms)


def _who(rest: str, found: re.Match[str]) -> Question:
    terms = telling_words(rest)
    if found["copula"] and re.match(r"\s*[A-Z]", rest):
        return Question("part", terms, _defined(terms), terms[-1:])
    verb = () if found["copula"] or found["asked"] else terms[:1]
    return Question("person", terms, "{forms}" if verb else "", verb)


def _what_is(rest: str, _: re.Match[str]) -> Question:
    head = re.split(
        r"\b(?:of|for|in|at|on|from|to|per|when|if|during|with|that|which)\b", rest, maxsplit=1
    )[0]
    terms, heads = telling_words(rest), telling_words(head)
    if "number" in head.lower().split() and heads:
        return Question(
            "part", terms, r"{forms}(?:\s+number)?(?:\s*:\s*|\s+(?:is|are)\s+)(\d.*)", heads[-1:]
        )
    definite = re.match(
        r"\s*(?:the|our|their|its|this|that|these|those|his|her|\w+['’]s?)\b", rest, re.I
    )
    if definite and heads:
        return Question("value", terms, _VALUED, heads[-1:])
    return Question("part", terms, _defined(heads), heads[-1:])


def _defined(heads: tuple[str, ...]) -> str:
    """The pattern of a sentence that begins with these words, and says what they mean."""
    return _DEFINED.replace("@others@", str(max(len(heads) - 1, 0)))


def _other(rest: str, _: re.Match[str]) -> Question:
    if re.search(r"^happen|\b(?:do|does|did|happens?|happened)$", rest.strip(), re.IGNORECASE):
        return _unclear(rest, _)
    return Question("other", telling_words(rest))


def _unclear(rest: str, _: re.Match[str]) -> Question:
    return Question("unclear", telling_words(rest))


_READERS: Final = (
    (r"how\s+many\b", _how_many),
    (r"how\s+much\b", _how_much),
    (r"how\s+often\b", _part(_OFTEN)),
    (rf"how\s+(?P<measure>{_MEASURED})\b", _measured),
    (rf"(?:what|which)\s+(?P<measure>temperature|age)\b(?=\s+{_AUXILIARY}\b)", _measured),
    (r"how\s+(?:is|are|was|were)\b", _part(_MANNER, in_order=True)),
    (r"how\b", _unclear),
    (r"(?:what|which)\s+(?:time|hour)\b(?!\s+of)", _part(rf"\b({_CLOCK})")),
    (r"(?:what|which)\s+(?:day|date|weekday|month|year|season)\b", _part(_TIME)),
    (r"when\b", _part(_TIME)),
    (r"where\b", _where),
    (r"why\b", _part(_REASON, in_order=True)),
    (rf"who(?:m|se)?\b(?P<asked>\s+(?:do|does|did)\b)?(?P<copula>\s+(?:is|are|was|were)\b(?!\s+\w+(?:ed|ing)\b))?"
     rf"(?:\s+{_AUXILIARY}\b)*", _who),
    (r"what\s+(?:is|are|was|were)\b(?!\s+\w+(?:ed|en|ing)\b)", _what_is),
    (r"(?:what|which)\b", _other),
    (rf"{_AUXILIARY}\b", _unclear),
)  # fmt: skip
"""How questions begin, and what each of them asks for; tried in this order."""
