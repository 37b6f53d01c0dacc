"""Facts and preferences that a request states, found by patterns, and what each is about.

What is missed can be said again ("remember that ..."); what is taken wrongly is told to every later
plan. So a sentence states a fact only where it begins as facts of people begin. Questions, what
stands in quotation marks, and what follows a colon or a request to work on a text state none.
"""

import re
from collections.abc import Iterator
from typing import Final

FACT_CHARACTERS_MAX: Final = 500
"""A longer text is no fact but a document."""

REQUEST_CHARACTERS_MAX: Final = 1_200
"""In longer requests there is pasted text; then only an explicit "remember ..." counts."""

REQUEST_LINES_MAX: Final = 6

_MAY_STATE: Final = re.compile(
    r"\b(?:i|i['’]m|i['’]ve|my|always|never|call me|remember|memori[sz]e|from now on)\b",
    re.IGNORECASE,
)
"""Only where this matches are the patterns below compiled, which takes 10 ms."""

_PERSONAL = (
    r"name|nickname|surname|birthday|birthdate|anniversary|age|height|weight|blood type|pronouns|"
    r"nationality|religion|diet|allergy|allergies|address|e-?mail(?: address)?|(?:phone|mobile) "
    r"number|phone|home ?town|city|country|town|time ?zone|currency|units|language|mother tongue|"
    r"job|job title|profession|occupation|employer|company|team|major|university|school|boss|"
    r"manager|assistant|landlord|doctor|dentist|vet|therapist|lawyer|accountant|bank|wife|husband|"
    r"spouse|partner|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kids?|child|children|twins|"
    r"mother|father|mom|mum|dad|parents|sister|brother|siblings|grandmother|grandfather|uncle|aunt|"
    r"cousin|roommate|flatmate|neighbou?r|dog|cat|pet|horse|car|bike|laptop|editor|"
    r"(?:shoe|shirt|dress|ring) size|size|license plate|username|handle|hobby|hobbies|goal weight"
)
"""What a person has that stays so; of code, files and tasks ("my function is") nothing is kept."""

_DIETS = (
    r"vegetarian|vegan|pescatarian|pescetarian|flexitarian|omnivore|carnivore|lactose intolerant|"
    r"gluten[- ]free|celiac|coeliac|kosher|halal|teetotal(?:er)?"
)
_CONDITIONS = (
    r"diabetic|asthmatic|dyslexic|autistic|colou?r[- ]?blind|left[- ]handed|right[- ]handed|deaf|"
    r"blind|retired|married|divorced|single|widowed|self[- ]employed"
)
_OCCUPATIONS = (
    r"[a-z]+(?:er|or|ist|ian|yst|eer)|nurse|student|accountant|consultant|chef|cook|pilot|coach|"
    r"nanny|architect|dentist|vet|judge|scientist|freelance|mother|father|parent|native|citizen"
)
_OF_ANSWERS = (
    r"answer|reply|respond|write|use|give|show|tell|speak|talk|call|address|ask|include|add|cite|"
    r"keep|make|convert|round|format|explain|translate|put|start|end|begin|mention|print|list|"
    r"suggest|recommend|assume|be|say"
)
_PASSING = (
    r"(?:not |no longer |still |just |almost |a bit |a little |very |so |too |really )*(?:working|"
    r"sick|ill|late|tired|hungry|broken|slow|down|gone|lost|missing|angry|sad|upset|busy|away|here|"
    r"dead|wrong|full|empty|stuck|\w+ing)\b"
)
"""Of a thing that is so now, and not for good."""

_STATEMENTS: Final = (
    rf"(?:please )?(?:always|never) (?:{_OF_ANSWERS})\b.+",
    rf"from now on,? (?:please )?(?:(?:always|never|don't|do not) )?(?:{_OF_ANSWERS})\b.+",
    rf"(?:i want|i'd like|i would like) you to (?:always|never) (?:{_OF_ANSWERS})\b.+",
    rf"my (?:[\w'’-]+ ){{0,2}}?(?:{_PERSONAL}) (?:is|are|was|were)"
    rf" (?!{_PASSING}|what|who|how|where).+",
    r"my (?:favou?rite|preferred|native|first|second|primary|main) (?:[\w'’-]+ ){1,3}"
    rf"(?:is|are) (?!{_PASSING}|what|who).+",
    r"(?:please )?call me (?!when|if|at|back|on|in|a|an|the|later|tomorrow|tonight|maybe|crazy|"
    r"by|stupid|old)[\w'’-]+(?: [\w'’-]+)?",
    r"i(?:'m| am) (?:called|named) .+",
    r"i (?:live|grew up) (?:in|at|near|on) (?!fear|hope|peace|a building|an? \d).+",
    r"i (?:have moved|moved|am moving|'ve moved) to .+",
    r"i(?:'m| am) (?:based|located) in .+",
    r"i(?:'m| am| come) (?:originally )?from .+",
    r"i was born (?:in|on) .+",
    r"i no longer (?:live|work|eat|drink|like|use|speak)\b.+",
    r"i work (?:as an?|at|for|in) .+",
    r"i speak (?!to|with|about|of|at).+",
    r"i weigh \d.+",
    r"i(?:'m| am) \d{1,3}(?: years old|(?:\.\d+)? ?(?:cm|m) tall)",
    r"i(?:'m| am) (?:not |no longer )?(?:allergic|intolerant|sensitive) to .+",
    rf"i(?:'m| am) (?:not |no longer )?(?:an? )?(?:strict )?(?:{_DIETS}|{_CONDITIONS})"
    r"(?: any ?more| now)?",
    rf"i(?:'m| am) (?:not |no longer )?an? (?!bit|little|lot|beginner to)(?:[\w-]+ ){{0,2}}"
    rf"(?:{_OCCUPATIONS})(?: (?:in|at|of|from|for) .+)?",
    r"i (?:don't|do not|can't|cannot|never|only) (?:eat|drink) .+",
    r"i (?:strongly |really |usually |always |generally )?prefer (?!to (?:know|see|have)|not)"
    r"(?!the |option |[a-z0-9]\b|it\b|you).+",
    r"i (?:really |don't |do not |absolutely )?(?:like|love|enjoy|hate|dislike|adore|"
    r"can't stand) (?!to (?:know|see|hear|have|ask|get|thank)|the |it\b|you|how|when|what|"
    r"where|him\b|her\b).+",
)

_EXPLICIT: Final = (
    r"(?i)"
    r"(?:(?:can|could|would|will) you |i(?:'d like| want| would like) you to )?(?:please )?"
    r"(?:remember|memori[sz]e)(?: (?:this|also|for (?:later|me|the future|next time)))*"
    r"(?:\s*:\s*|,? that (?!time|day|one|thing|movie|song|when)|\s+(?=(?:i|i'm|we|my|our)\b))"
)
_SOFTLY_EXPLICIT: Final = (
    r"(?i)"
    r"(?:please )?(?:keep in mind|don't forget|do not forget|note|for the record,|fyi,?|"
    r"just so you know,?)(?: that)? (?=(?:i|i'm|my|always|never)\b)"
)
_OPENING: Final = (
    r"(?i)"
    r"(?:(?:hi|hello|hey|ok|okay|oh|so|and|also|well|thanks|thank you|by the way|btw|sorry|"
    r"actually|please note|as you know)[,!]?\s+)+"
)
_GOES_ON: Final = (
    r"(?i)"
    r"(?:\s*[,;–—]\s+|\s+-\s+|,?\s+)(?:(?:so|and|but|then|now|please)[, ]\s*)*"
    r"(?:what|which|how|where|when|who|why|can|could|would|should|do|does|did|is|are|please|suggest"
    r"|find|give|show|tell|recommend|make|write|help|search|plan|list|book|compute|calculate"
    r"|translate|let's|look|add|create|i need|i want|i'd|i'm looking)\b"
)
"""Where a sentence turns from a fact to a request: "I'm vegetarian, what can I cook?"."""

_TURNS: Final = r"(?i)[,;–—]|\s-\s|\b(?:so|and|but|then|please)\b"

_POINTS: Final = (
    r"(?i)\b(?:this|that|these|those|here|today|tonight|tomorrow|yesterday|currently|at the moment|"
    r"right now|above|below|following)\b"
)
"""Words that point at what lies before the person: true of the moment, or of a text."""

_WORKS_ON_TEXT: Final = (
    r"(?i)"
    r"(?:please |can you |could you )*(?:translate|fix|correct|rewrite|proofread|paraphrase|"
    r"summari[sz]e|improve|rephrase|edit|check|analy[sz]e|classify|extract|count|reverse|spell|"
    r"encode|convert|say|repeat|pretend|imagine|suppose|assume|role-?play|act|draft|compose|"
    r"generate|complete|continue|parse|read|write|tell (?:me )?a|what does|how do you say|"
    r"if|let's say|he|she|they|it|once)\b"
)
"""After such a beginning the words may be those of somebody else."""

_PUZZLE: Final = (
    r"(?i)"
    r"\bhow (?:many|much|old|long|far|tall)\b|\bprobability\b|\bwhat (?:time|percentage)\b"
)
_HAS_NUMBER: Final = (
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice|half|double|times)\b"
)
_SENTENCE_END: Final = (
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bProf\.)(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"(?<!\b[A-Z]\.)(?<=[.!?…])\s+|\n"
)
_HIDDEN: Final = (
    r"(?sm)"
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)"
    r"|(?<![\w])'[^'\n]*'(?!\w)|^[ \t]*>.*$|^(?: {4}|\t).*$"
)
_QUOTE: Final = "\0"


def may_state_facts(request: str) -> bool:
    """Whether a request is worth a look: it takes no time, and rules most of them out."""
    return _MAY_STATE.search(request[:REQUEST_CHARACTERS_MAX]) is not None


def stated_facts(request: str) -> tuple[str, ...]:
    """The facts and preferences of the user that a request states, as they were said."""
    return tuple(dict.fromkeys(_stated(request)))


def is_wish_to_remember(request: str) -> bool:
    """Whether that is what a request wants, and not only said beside something else."""
    is_said = re.search(r"\b(?:remember|memori[sz]e)\b", request, re.IGNORECASE)
    return is_said is not None or stated_facts(request) == (bare_fact(request),)


def bare_fact(text: str) -> str:
    """A fact without a "remember that" before it and a full stop behind it, on one line."""
    line = " ".join([*text.split(), ""])
    found = re.compile(_EXPLICIT).match(line)
    return line[found.end() :].rstrip(" .!") if found else line.rstrip(" .!")


def _stated(request: str) -> Iterator[str]:
    if not may_state_facts(request):
        return
    text = request.strip().replace("’", "'").replace("\r\n", "\n")
    is_long = len(text) > REQUEST_CHARACTERS_MAX or text.count("\n") >= REQUEST_LINES_MAX
    text = re.sub(r"[ \t]{5,}", "    ", text[:REQUEST_CHARACTERS_MAX])
    seen = re.compile(_HIDDEN).sub(lambda found: _QUOTE * len(found[0]), text)
    is_puzzle = (
        re.compile(_PUZZLE).search(seen) is not None
        and re.compile(_HAS_NUMBER).search(seen) is not None
    )
    for number, (start, end) in enumerate(_sentences(seen)):
        opening = re.compile(_OPENING).match(seen, start, end)
        start = opening.end() if opening else start
        explicit = re.compile(_EXPLICIT).match(seen, start, end)
        if explicit is not None and not (is_long and number):
            if fact := _kept(text[explicit.end() : end]):
                yield fact
            continue
        if is_long or is_puzzle or re.compile(_WORKS_ON_TEXT).match(seen, start, end):
            return
        soft = re.compile(_SOFTLY_EXPLICIT).match(seen, start, end)
        start = soft.end() if soft else start
        place = _statement_end(seen, start, end)
        if place and (fact := _kept(text[start:place])):
            yield fact
        if ":" in seen[start:end]:
            return


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each begins and ends."""
    begin = 0
    for found in re.compile(_SENTENCE_END).finditer(text):
        if text[begin : found.start()].strip():
            yield begin, found.start()
        begin = found.end()
    if text[begin:].strip():
        yield begin, len(text)


def _statement_end(text: str, start: int, end: int) -> int:
    """Where the statement ends that begins at `start`; 0 if none does."""
    sentence = text[start:end].rstrip()
    turn = next(
        (
            found
            for found in re.compile(_GOES_ON).finditer(sentence)
            if re.compile(_TURNS).search(found[0])
        ),
        None,
    )
    clause = sentence[: turn.start()] if turn else sentence
    if clause.endswith("?") or _QUOTE in clause or ":" in clause:
        return 0
    words = clause.split(maxsplit=2)
    if len(words) > 1 and words[0].lower() in ("always", "never") and words[1][0].isupper():
        return 0  # a title: "Never Say Never Again"
    bare = clause.rstrip(" .!,;")
    if re.compile(_POINTS).search(bare):
        return 0
    found = any(re.fullmatch(pattern, bare, re.IGNORECASE) for pattern in _STATEMENTS)
    return start + len(clause) if found else 0


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
