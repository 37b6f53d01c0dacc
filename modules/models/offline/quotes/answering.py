"""Parts of plans that quote: they cut a text into sentences, and tell which of these answer.

Plans do this themselves, in the sandbox: what they quote is untrusted, and nothing outside reads
it. A part is source text in which `filled` puts values in the place of names between `@`; it goes
into a plan at the beginning of `solve()`, where `re` and `math` are imported.

What an answer must have is in `questions`; here it becomes source text. Where no sentence has it,
the passages that share most with the question are handed on, and the next step shows them as such:
whether they answer, a reader can tell and this planner can't.
"""

from collections.abc import Mapping
from typing import Final

from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from modules.models.offline.plan_source import filled, literal
from modules.models.offline.quotes.asking import ENDINGS, word_roots
from modules.models.offline.quotes.questions import Question, Wanted

QUOTES_MAX: Final = 3
QUOTE_CHARACTERS: Final = 500
"""A longer sentence, or row of a table, is cut."""

_SENTENCES: Final = r'''
ends = re.compile(r"([.!?][)\"”’']*)\s+(?=[^a-z])")
begins = re.compile(r"\s*([-*+•]|\d+[.)])\s+")
title = re.compile(r"[^a-z\s(].{1,60}[^.!?:;,]$")
shortened = re.compile(r"\b([A-Z]|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|vs|approx|ca|cf|e\.g|i\.e)\.$")

def plain(text):
    return "".join([c if c.isalnum() else " " for c in text.lower()])

def cut(text):
    """Sentences; a full stop behind a shortened word or an initial ends none."""
    found = []
    for part in ends.sub("\\1\n", text).split("\n"):
        is_short = found and len(found[-1]) < @longest@
        if is_short and shortened.search(found[-1][-12:]) is not None:
            found[-1] = found[-1] + " " + part.strip()
        else:
            found.append(part.strip())
    return found

def units(body):
    """Sentences, items of lists and rows of tables; headings apart, marked with True."""
    found, lines, fenced, titles = [], [], False, []
    every = [*body.split("\n"), "", ""]
    for line, next_line in zip(every, every[1:]):
        text, following = line.strip(), next_line.strip()
        if text.startswith("```"):
            fenced, text = not fenced, ""
        alone = fenced or text.startswith(("#", "|")) or begins.match(line) is not None
        if lines and (alone or not text):
            found += [(part, False) for part in cut(" ".join(lines))]
            lines = []
        if text.startswith("#") and not fenced:
            found.append((text.lstrip("# "), True))
        elif not (lines or alone) and title.match(text) and following[:1].isupper():
            found.append((text, True))
        elif text.startswith("|") and not fenced:
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            if titles and text.strip("|-: "):
                named = [t + ": " + c for t, c in zip(titles, cells) if t and c]
                found.append((", ".join(named), False))
            titles = titles or cells
            continue
        elif fenced:
            found.append((text, False))
        elif text:
            item = begins.match(text)
            lines.append(text if item is None else text[item.end():])
        titles = []
    return [(text, is_heading) for text, is_heading in found if text]

def quoted(text, place):
    short = text if len(text) <= @longest@ else text[:@longest@] + "…"
    return "“" + short + "” (" + place + ")"
'''


def sentence_lines() -> list[str]:
    """What defines `units(body)`, which cuts a text, `plain(text)` and `quoted(text, place)`."""
    return filled(_SENTENCES, {"longest": QUOTE_CHARACTERS})


NEAREST: Final = "The nearest passages:"
"""How the text begins that hands passages on to the next step."""

NOTHING_NEAR: Final = "Nothing near:"
"""How it begins where there are none; what was looked through follows, and notes."""

ENOUGH_ON_TOPIC: Final = 0.7
"""Which part of a subject's weight a sentence must share to say something about it."""

ENOUGH_OF_ALL: Final = 0.8
"""Which part of a question's weight an answer must have, what stands above it counted in full; a
word that no sentence has weighs most, so that a short question can spare none. On XQuAD's odd
articles, 0.75 and less quoted more sentences that don't answer."""

ENOUGH_NEAR: Final = 0.25
"""... and which part of a question's a passage must share to be shown."""

ONLY_ABOVE: Final = 0.5
"""What a word counts that stands above alone, and says what the sentence is about."""

ALMOST: Final = 0.75
"""From this part of the best sentence's share on, another one is quoted too."""

PASSAGES_SHOWN: Final = 3
PASSAGE_CHARACTERS: Final = 400

UNDER_HEADING_WORDS: Final = 12
"""A unit of text as short as this may be the whole of what its heading announces."""

_ASKED: Final = r'''
ends = @ends@
terms = [re.compile(r"\b(?:" + root + ")" + ends) for root in @terms@]
common = set("""the and for with from that this these those into its his her their our are was were
has have had not but all any may can must will should than then them they she who which when where
only also very each every one two per there been being does did""".split())
pointing = ("it", "its", "they", "their", "this", "these", "that", "he", "she", "his", "her")

def asked(words):
    return [1 for term in terms if term.search(words)]

def fresh(text):
    """The telling words that the question does not have."""
    return [w for w in plain(text).split()
            if (w.isdigit() or len(w) > 2) and w not in common and not asked(w)]
'''

_PERSON: Final = r'''
verb = re.compile(r"\b(?:" + @focus@ + ")" + ends)
naming = re.compile(r"[A-Z][\w'’-]+")
being = ("is", "are", "was", "were", "be", "been", "being", "not", "to", "gets", "get")
dated = re.compile(r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)")

def fits(text, words):
    """Whether it has a name beyond the question's, a doer behind "by" or before the verb."""
    for found in naming.finditer(text):
        at, name = found.start(), found[0].lower()
        if asked(name) or dated.match(name) or name in common:
            continue
        if text[:at].strip("\"“'( ") or text[found.end():].strip()[:1].isupper():
            return True
    told = words.split()
    if "by" in told and fresh(" ".join(told[told.index("by") + 1:][:4])):
        return True
    for at, word in enumerate(told):
        if verb.fullmatch(word) and at and told[at - 1] not in being:
            return "by" not in told[:at] and len(fresh(" ".join(told[:at]))) > 0
    return False
'''

_PART: Final = r'''
pattern = re.compile("(?i)" + @pattern@.replace("{forms}", r"\b(?:" + @focus@ + ")" + ends))

def fits(text, words):
    """Whether it has what is asked for, in words of its own."""
    at, found = 0, pattern.search(text)
    while found is not None:
        told = [group for group in found.groups() if group]
        if told and (fresh(told[0]) or not asked(plain(told[0]))):
            return True
        at = at + max(found.end(), 1)
        found = None if @at_start@ else pattern.search(text[at:])
    return False
'''

_OTHER: Final = r"""
def fits(text, words):
    return len(fresh(text)) > 0
"""

_IN_ORDER: Final = r"""
def in_order(words):
    start = 0
    for term in terms:
        found = term.search(words[start:])
        if found is None:
            return False
        start = start + found.end()
    return True
"""

_ON_TOPIC: Final = "is_one = share >= @on_topic@ and size > 2"

_FITS: Final = r"""headed = section[under] <= @most@ and size <= @under_heading@
    headed = headed and not fresh(under) and len(asked(under)) == len(terms)
    is_one = terms and covered / whole >= @enough@ and (
        (here > 0 and size > 2 and @ordered@ and fits(text, words))
        or (headed and (@valued@ or fits(text, words))))"""

_ANSWERS: Final = r"""
has_word = [[bool(term.search(s[1])) for term in terms] for s in sentences]
weights = []
for at in range(len(terms)):
    times = len([1 for row in has_word if row[at]])
    weights.append(math.log(1 + (len(sentences) + 1) / (times + 0.5)))
whole = sum(weights) or 1

scored, near, before, section = [], {}, ("", ""), {}
for order, (text, words, above, place, under) in enumerate(sentences):
    size = len(words.split())
    if size and words.split()[0] in pointing and before[0] == place:
        above = above + " " + before[1]
    before = (place, words)
    section[under] = section.get(under, 0) + 1
    over = [bool(term.search(above)) for term in terms]
    points, covered, here = 0, 0, 0
    for at in range(len(terms)):
        here = here + has_word[order][at]
        points += weights[at] * (1 if has_word[order][at] else @only_above@ if over[at] else 0)
        covered += weights[at] if has_word[order][at] or over[at] else 0
    share = points / whole
    if share > near.get(place, (0, 0))[0]:
        near[place] = (share, order)
    if "?" in text or not size:
        continue
    @judged@
    if is_one:
        scored.append((-share, order, text, place))
scored.sort(key=lambda s: (s[0], s[1]))
best = [s for s in scored if scored and s[0] <= scored[0][0] * @almost@]

quotes, seen = [], []
for _, _, text, place in best:
    if text not in seen and len(quotes) < @most@:
        seen.append(text)
        quotes.append(quoted(text, place))
if quotes:
    return "@final@ " + "\n".join(quotes)

shown = []
for place in sorted(near, key=lambda p: -near[p][0]):
    share, order = near[place]
    if share < @near@ or len(shown) == @passages@:
        break
    start = order - 1 if order and sentences[order - 1][3:] == sentences[order][3:] else order
    told = []
    for s in sentences[start:]:
        if s[3:] != sentences[order][3:] or len(" ".join(told)) > @passage@:
            break
        told.append(s[0])
    part = "\n  ".join(told)
    shown.append(place + ":\n  " + (part if len(part) <= @passage@ else part[:@passage@] + "…"))
if shown:
    return "@further@ @nearest@\n" + "\n".join(shown)
"""


def answer_lines(question: Question) -> list[str]:
    """What returns the sentences that answer, or else the passages that come nearest.

    `sentences` holds tuples of text, its plain words, those of what stands above it, its place,
    and the words of the nearest heading. Lines behind these are reached where nothing is near.
    """
    valued = "here == 0 and text[-1] not in '.!' and fresh(text)"
    values = {
        "ends": literal(ENDINGS),
        "terms": literal([word_roots(term) for term in question.terms]),
        "focus": literal("|".join(word_roots(word) for word in question.focus) or "$^"),
        "pattern": literal(question.pattern),
        "at_start": str(question.pattern.startswith("^")),
        "judged": _FITTING[question.wanted][1],
        "ordered": "in_order(words)" if question.in_order else "True",
        "valued": valued if question.wanted == "value" else "False",
        "only_above": ONLY_ABOVE,
        "on_topic": ENOUGH_ON_TOPIC,
        "enough": ENOUGH_OF_ALL,
        "near": ENOUGH_NEAR,
        "almost": ALMOST,
        "most": QUOTES_MAX,
        "under_heading": UNDER_HEADING_WORDS,
        "passages": PASSAGES_SHOWN,
        "passage": PASSAGE_CHARACTERS,
        "final": FINAL_ANSWER,
        "further": FURTHER_PROCESSING,
        "nearest": NEAREST,
    }
    fitting = _FITTING[question.wanted][0]
    order = _IN_ORDER if question.in_order else ""
    return filled(f"{_ASKED}{fitting}{order}{_ANSWERS}", values)


_FITTING: Final[Mapping[Wanted, tuple[str, str]]] = {
    "topic": ("", _ON_TOPIC),
    "unclear": ("", "is_one = False"),
    "person": (_PERSON, _FITS),
    "part": (_PART, _FITS),
    "value": (_PART, _FITS),
    "other": (_OTHER, _FITS),
}
"""What defines whether a sentence holds what is wanted, and what decides by it."""
