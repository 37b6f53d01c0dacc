"""Parts of plans that quote: they cut a text into sentences and pick those that answer.

Plans do this themselves, in the sandbox: what they quote is untrusted, and nothing outside reads
it. A part is source text in which `filled` puts values in the place of names between `@`; it goes
into a plan at the beginning of `solve()`, where `re` and `math` are imported.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from core.ports import DecisionInputs
from core.tool_spec import ToolSpec
from core.turn import FINAL_ANSWER
from core.values import Json
from modules.offline.calls import CallStyle, literal

QUOTES_MAX: Final = 3
QUOTE_CHARACTERS: Final = 500
"""A longer sentence, or row of a table, is cut."""

IN_NAME_TOO: Final = 0.6
"""What a word counts that the sentence has from the file's name, as titles do."""

ONLY_ABOVE: Final = 0.5
"""What it counts where it stands above alone, and says what the sentence is about."""

ALMOST: Final = 0.75
"""From this part of the best sentence's score on, another one is quoted too."""

AS_IT_IS: Final = f'return f"{FINAL_ANSWER} {{answer}}"'

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

_ANSWERS: Final = r"""
terms = @terms@
enough = @enough@
number = re.compile(r"\d")

def has(words, term):
    if term not in words:
        return False
    for word in words.split():
        if word.startswith(term) and len(word) <= len(term) + 4:
            return True
    return False

shared = [{term for term in terms if has(s[1], term)} for s in sentences]
weights = {}
for term in terms:
    times = len([1 for said in shared if term in said])
    weights[term] = math.log(1 + (len(sentences) + 1) / (times + 0.5))
whole = sum(weights.values())

scored = []
for order, (text, words, above, place) in enumerate(sentences):
    points = 0
    for term in terms:
        if term in shared[order]:
            points += weights[term] * @counting@
        elif has(above, term):
            points += weights[term] * @only_known@
    share = points / whole if whole else 0
    if share >= enough and len(words.split()) > 2:
        extra = 0.15 if @counts@ and number.search(text) is not None else 0
        scored.append((-(share + extra), order, text, place))
scored.sort(key=lambda s: (s[0], s[1]))
best = [s for s in scored if scored and s[0] <= scored[0][0] * @almost@]

quotes, seen = [], []
for _, _, text, place in best:
    if text not in seen and len(quotes) < @most@:
        seen.append(text)
        quotes.append(quoted(text, place))
if quotes:
    return "@final@ " + "\n".join(quotes)
"""

_IN_NAME: Final = '(@in_name@ if has(plain(place.partition(", ")[0]), term) else 1)'

_COUNTED: Final = ("how many", "how much", "how long", "when")
"""Questions that a sentence with a number in it rather answers."""


def sentence_lines() -> list[str]:
    """What defines `units(body)`, which cuts a text, `plain(text)` and `quoted(text, place)`."""
    return filled(_SENTENCES, {"longest": str(QUOTE_CHARACTERS)})


def answer_lines(
    query: str, terms: Sequence[str], enough: float, in_name: float = IN_NAME_TOO
) -> list[str]:
    """What returns the sentences that answer, if any do.

    `sentences` holds tuples of text, its plain words, those of what stands above it, and its
    place. Those answer that share the most telling terms with the question, and the weight of
    `enough` (0 to 1) of all. A term tells the more, the fewer sentences have it; one that stands
    in the place's name as well counts `in_name`.
    """
    values = {
        "terms": literal([*terms]),
        "enough": str(enough),
        "counts": str(query.lower().startswith(_COUNTED)),
        "counting": "1" if in_name == 1 else filled(_IN_NAME, {"in_name": str(in_name)})[0],
        "only_known": str(ONLY_ABOVE),
        "almost": str(ALMOST),
        "most": str(QUOTES_MAX),
        "final": FINAL_ANSWER,
    }
    return filled(_ANSWERS, values)


def filled(part: str, values: Mapping[str, str]) -> list[str]:
    """A part's lines with its values; they are source text, so no words of a user but `literal`."""
    for name, value in values.items():
        part = part.replace(f"@{name}@", value)
    return part.strip("\n").splitlines()


def call_lines(inputs: DecisionInputs, tool: ToolSpec, arguments: Mapping[str, Json]) -> list[str]:
    """What calls a tool and puts the text that it gives into `answer`."""
    call = CallStyle(inputs.tools, inputs.plan_style).call(tool, arguments)
    if inputs.plan_style == "tools":
        return [f"answer = await {call}"]
    return [
        f"reply = await {call}",
        'answer = "\\n".join([block.text for block in reply.content if block.type == "text"])',
        "if answer.lstrip('{ \\n').startswith('\"result\"'):",
        '    answer = json.loads(answer)["result"]',
    ]


def whole_plan(body: Sequence[str]) -> str:
    """The plan whose `solve()` has these lines."""
    imports = ["import json", "import math", "import re", ""]
    indented = [f"    {line}" if line else "" for line in body]
    return "\n".join([*imports, "async def solve():", *indented]) + "\n"
