"""What the user asks to remember, and what a fact is about.

Nothing is guessed: a request says "remember …" where a fact is to be kept, or a model calls the
tool `remember`. What is missed can be said again; what is taken wrongly is told to later plans.
"""

import re
from collections.abc import Iterator
from typing import Final

FACT_CHARACTERS_MAX: Final = 500
"""A longer text is no fact but a document."""

REQUEST_CHARACTERS_MAX: Final = 1_200
"""What is to be remembered stands at a request's beginning; behind that may be pasted text."""

_MAY_STATE: Final = re.compile(r"\b(?:remember|memori[sz]e)", re.IGNORECASE)
"""Only where this matches are the patterns below compiled, which takes time."""

_DIETS = (
    r"vegetarian|vegan|pescatarian|pescetarian|flexitarian|omnivore|carnivore|lactose intolerant|"
    r"gluten[- ]free|celiac|coeliac|kosher|halal|teetotal(?:er)?"
)

_SUBJECT = r"(?:i|i'm|i've|i'd|my|we|our|call me|always|never)\b"
"""How a fact of a person begins."""

_ASKED = r"(?:can|could|would|will) you "
_EXPLICIT: Final = (
    r"(?i)"
    r"(?:(?:hi|hello|hey|ok|okay|please|also|and)[,!]?\s+)*"
    rf"(?:(?P<asked>{_ASKED})|i(?:'d like| want| would like) you to )?(?:please )?"
    r"(?:remember|memori[sz]e)(?: (?:this|also|for (?:later|me|the future|next time)))*"
    rf"(?:\s*:\s*|,? that (?!time|day|one|thing|movie|song|when)|\s+(?={_SUBJECT}))"
)
_NEXT_FACT: Final = (
    rf"(?i)\s*(?:[,;]\s*|\s)(?:and|but)\s+(?:that\s+)?(?={_SUBJECT})"
    rf"|\s*[,;]\s*(?={_SUBJECT})|\s*;\s+"
)
_LAST_CLAUSE: Final = r"[,;–—][^,;–—]*\?\s*$"
_SENTENCE_END: Final = (
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bProf\.)(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"(?<!\b[A-Z]\.)(?<=[.!?…])\s+|\n"
)


def may_state_facts(request: str) -> bool:
    """Whether a request is worth a look: it takes no time, and rules most of them out."""
    return _MAY_STATE.search(request[:REQUEST_CHARACTERS_MAX]) is not None


def stated_facts(request: str) -> tuple[str, ...]:
    """The facts that a request asks to remember before all else, as they were said.

    Each of a sentence that holds several ("remember that I'm vegetarian and my name is Alice").
    """
    if not may_state_facts(request):
        return ()
    facts: list[str] = []
    for sentence in _sentences(request):
        if (found := re.compile(_EXPLICIT).match(sentence)) is None:
            break
        facts += _facts_of(sentence[found.end() :], is_asked=found["asked"] is not None)
    return tuple(dict.fromkeys(facts))


def states_only(request: str) -> bool:
    """Whether a request asks for nothing but to remember facts."""
    sentences = [*_sentences(request)]
    explicit = re.compile(_EXPLICIT)
    found = [explicit.match(sentence) for sentence in sentences]
    return bool(stated_facts(request)) and all(
        each is not None and (each["asked"] or not sentence.rstrip().endswith("?"))
        for each, sentence in zip(found, sentences, strict=True)
    )


def is_wish_to_remember(request: str) -> bool:
    """Whether that is what a request wants, and not only said beside something else."""
    is_said = re.search(r"\b(?:remember|memori[sz]e)\b", request, re.IGNORECASE)
    return is_said is not None or stated_facts(request) == (bare_fact(request),)


def bare_fact(text: str) -> str:
    """A fact without a "remember that" before it and a full stop behind it, on one line."""
    line = " ".join([*text.split(), ""])
    found = re.compile(_EXPLICIT).match(line)
    return line[found.end() :].rstrip(" .!") if found else line.rstrip(" .!")


def _sentences(request: str) -> Iterator[str]:
    text = request.strip().replace("’", "'").replace("\r\n", "\n")[:REQUEST_CHARACTERS_MAX]
    return filter(
        str.strip, map(str.strip, re.compile(_SENTENCE_END).split(re.sub(r"[ \t]+", " ", text)))
    )


def _facts_of(said: str, *, is_asked: bool) -> Iterator[str]:
    """The facts in what stands behind "remember that"; a question behind them is none."""
    if not is_asked:
        said = re.compile(_LAST_CLAUSE).sub("", said)
    for fact in re.compile(_NEXT_FACT).split(said):
        if kept := _kept(fact):
            yield kept


def _kept(text: str) -> str:
    """A fact as it is kept; empty if it is too long or says nothing."""
    fact = " ".join(text.split()).rstrip(" .!,;")
    fact = fact[:-1].rstrip() if fact.endswith("?") else fact
    return fact if 3 <= len(fact) <= FACT_CHARACTERS_MAX and " " in fact else ""


_NEGATION: Final = (
    r"(?i)"
    r"\b(?:always|never|not|don't|do|no longer|any ?more|still|really|now|please|just|usually|"
    r"strictly|absolutely|strongly|generally|again|from now on|also)\b,?"
)
_UNITS: Final = (
    r"metric|imperial|si|us customary|customary|american units|miles|kilomet(?:er|re)s|feet|"
    r"met(?:er|re)s|pounds|kilograms|kilos"
)
_LANGUAGES: Final = (
    r"english|german|french|spanish|italian|portuguese|dutch|swedish|norwegian|danish|finnish|"
    r"polish|czech|slovak|hungarian|romanian|bulgarian|greek|turkish|russian|ukrainian|arabic|"
    r"hebrew|persian|farsi|hindi|urdu|bengali|tamil|telugu|marathi|gujarati|punjabi|chinese|"
    r"mandarin|cantonese|japanese|korean|vietnamese|thai|indonesian|malay|swahili|latin|catalan"
)
_SUBJECTS: Final = (
    (r"my name is .+|i'm (?:called|named) .+", "name"),
    (r"call me .+", "form of address"),
    (r"i (?:live|'ve moved|have moved|moved|am moving) .+|i'm (?:based|located) in .+", "home"),
    (r"i(?:'m| come) (?:originally )?from .+", "origin"),
    (r"i was born in .+", "place of birth"),
    (r"i was born on .+", "birthday"),
    (r"i work as .+", "occupation"),
    (r"i work (?:at|for) .+", "employer"),
    (r"i weigh .+", "weight"),
    (r"i'm \d+ years old", "age"),
    (r"i'm [\d.]+ ?(?:cm|m) tall", "height"),
    (rf"(?:(?!\bi'm allergic).)*\b(?:{_DIETS})\b.*", "diet"),
    (r"i'm (?:married|divorced|single|widowed).*", "family status"),
    (rf".*\b(?:answer|reply|respond|write|speak|talk)\b.* in (?:{_LANGUAGES})\b.*", "language"),
    (rf".*\b(?:answers?|reply|use|give|respond|convert|units?|prefer)\b.*\b(?:{_UNITS})\b.*",
     "units"),
    (r".*\b(?:use|give|answer|prefer|in)\b.*\b(?:celsius|fahrenheit|kelvin)\b.*",
     "unit of temperature"),
    (r".*\b(?:keep|answer|reply|respond|be)\b.*\b(?:short|brief|briefly|long|concise|concisely|"
     r"detailed|in detail|in one sentence|verbose)\b.*", "length of answers"),
)  # fmt: skip
_VALUED: Final = (
    r"(?i)"
    r"(?P<subject>my (?:[\w'-]+ )*?(?:name|nickname|surname|birthday|birthdate|anniversary|age|"
    r"height|weight|blood type|pronouns|nationality|diet|address|e-?mail(?: address)?|"
    r"(?:phone|mobile) number|phone|home ?town|city|country|town|time ?zone|currency|units|"
    r"language|mother tongue|job|job title|profession|occupation|employer|company|team|"
    r"university|school|boss|manager|landlord|doctor|dentist|vet|bank|[\w']+ size|size|editor|"
    r"license plate|username|handle)|my (?:favou?rite|preferred|native|primary|main) .+?)"
    r" (?:is|are|was|were) .+"
)
"""What has one value at a time; a wife or a dog is many things at once."""

_NAMED: Final = (
    r"(?P<subject>my [\w' -]+?(?:'s name)?) is (?:called |named )?"
    r"(?:(?P<age>\d{1,3} (?:years|months) old)|[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)"
)
_TASTE: Final = (
    r"(?i)"
    r"i (?:like|love|enjoy|hate|dislike|can't stand|adore|eat|drink|only eat|only drink|can't eat|"
    r"cannot eat|can't drink) (?P<object>.+)"
)
_PREFERENCE: Final = (
    r"(?i)"
    r"i prefer (?:an? )?(?:.+ )?(?P<kind>[\w'-]+s)(?: (?:to|over|rather than) .+)?"
)


def subject_of(fact: str) -> str:
    """What a fact is about: a newer fact about the same replaces an older one.

    Where that isn't plain, the fact's own words, so that it replaces only what says the same.
    """
    text = " ".join(fact.replace("’", "'").split()).rstrip(" .!")
    text = re.sub(r"^(?:i am|i'm)\b", "I'm", text, flags=re.IGNORECASE)
    plain = " ".join(re.compile(_NEGATION).sub(" ", text).split())
    plain = re.sub(r"^I'm (?:an? )?(?=(?:strict )?(?:" + _DIETS + "))", "I'm ", plain)
    for pattern, subject in _SUBJECTS:
        if re.fullmatch(pattern, plain, re.IGNORECASE):
            return subject
    if found := re.compile(_VALUED).fullmatch(plain):
        return found["subject"].lower().replace("favourite", "favorite")
    if found := re.compile(_NAMED).fullmatch(plain):
        return f"{found['subject'].lower()}: {'age' if found['age'] else 'name'}"
    if found := re.compile(_TASTE).fullmatch(plain):
        return f"taste: {found['object'].lower()}"
    if found := re.compile(_PREFERENCE).fullmatch(plain):
        return f"preference: {found['kind'].lower()}"
    return plain.lower()
