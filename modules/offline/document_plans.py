"""Plans that answer from documents: the sentences that answer, quoted, each with its source.

The plan itself picks the sentences, in the sandbox, from the passages that the search gives: those
that share the most telling words with the question. A word tells the more, the fewer sentences
have it. What stands in a heading above counts as well, for it says what the sentence is about.
"""

from typing import Final

from core.ports import DecisionInputs
from core.tool_spec import ToolSpec
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from core.values import JsonObject
from modules.offline.calls import CallStyle, literal
from modules.offline.document_questions import DocumentQuestion, documents_tool, listing_tool
from modules.offline.refusal import Refusal

NOT_IN_DOCUMENTS: Final = "The documents don't say."

QUOTES_MAX: Final = 3
QUOTE_CHARACTERS: Final = 500
"""A longer sentence, or row of a table, is cut."""

ENOUGH_NAMED: Final = 0.5
"""Which part of the question's weight a sentence must share where the documents are named."""

ENOUGH_OPEN: Final = 0.7
"""... and where they are not: then something else may have been meant."""

IN_NAME_TOO: Final = 0.6
"""What a word counts that the sentence has from the file's name, as titles do."""

ONLY_ABOVE: Final = 0.5
"""What it counts where it stands above alone, and says what the sentence is about."""

ALMOST: Final = 0.75
"""From this part of the best sentence's score on, another one is quoted too."""

_AS_IT_IS: Final = f'return f"{FINAL_ANSWER} {{answer}}"'

_PLAN: Final = r'''
terms = @terms@
enough = @enough@
mark = re.compile(r"\[Source: ([^\]\n]+), ID: ([^\]\n]+)\]")
ends = re.compile(r"([.!?][)\"”’']*)\s+(?=[^a-z])")
begins = re.compile(r"\s*([-*+•]|\d+[.)])\s+")
number = re.compile(r"\d")
title = re.compile(r"[^a-z\s(].{1,60}[^.!?:;,]$")

def has(words, term):
    for word in words.split():
        if word.startswith(term) and len(word) <= len(term) + 4:
            return True
    return False

def plain(text):
    return "".join([c if c.isalnum() else " " for c in text.lower()])

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
            parts = ends.sub("\\1\n", " ".join(lines)).split("\n")
            found += [(part.strip(), False) for part in parts]
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

notes = []
while answer.startswith("Note: "):
    note, _, answer = answer.partition("\n")
    notes.append(note[6:])

sentences, start = [], 0
for found in mark.finditer(answer):
    head, _, body = answer[start:found.start()].strip().partition("\n")
    start = found.end()
    place = head.partition(". ")[2].rpartition(" (score")[0] or found[1]
    above = plain(place)
    for text, is_heading in units(body):
        if is_heading:
            above = plain(place + " " + text)
        else:
            sentences.append((text, plain(text), above, place))

weights = {}
for term in terms:
    times = len([1 for s in sentences if has(s[1], term)])
    weights[term] = math.log(1 + (len(sentences) + 1) / (times + 0.5))
whole = sum(weights.values())

scored = []
for order, (text, words, above, place) in enumerate(sentences):
    points, name = 0, plain(place.partition(", ")[0])
    for term in terms:
        if has(words, term):
            points += weights[term] * (@own_named@ if has(name, term) else 1)
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
    quote = text if len(text) <= @longest@ else text[:@longest@] + "…"
    if quote not in seen and len(quotes) < @most@:
        seen.append(quote)
        quotes.append("“" + quote + "” (" + place + ")")
if quotes:
    return "@final@ " + "\n".join(quotes)
told = @nothing@ + "".join([" Note: " + note + "." for note in notes[:2]])
'''
"""What picks the sentences; `answer` holds what the search gave."""


def write_document_plan(inputs: DecisionInputs, question: DocumentQuestion) -> str | None:
    """A plan that puts the question to the documents; None where no tool searches any."""
    tool = documents_tool(inputs.tools)
    if tool is None:
        return None
    call = _call_lines(inputs, tool, {"query": question.query})
    if question.kind == "passages":
        return _whole([*call, _AS_IT_IS])
    return _whole([*call, *_picking_lines(question), *_ending_lines(question)])


def write_listing_plan(inputs: DecisionInputs) -> str | None:
    """A plan that lists the documents, where the request asks for that."""
    tool = listing_tool(inputs.user_input, inputs.tools)
    return None if tool is None else _whole([*_call_lines(inputs, tool, {}), _AS_IT_IS])


def check_observation(inputs: DecisionInputs) -> None:
    """Decline a question that was put to the documents in vain by the step before.

    Raises:
        Refusal: it was.
    """
    if inputs.observation is not None and inputs.observation.startswith(NOT_IN_DOCUMENTS):
        raise Refusal("it is no calculation, names no tool, and the documents don't say")


def _whole(body: list[str]) -> str:
    imports = ["import json", "import math", "import re", ""]
    indented = [f"    {line}" if line else "" for line in body]
    return "\n".join([*imports, "async def solve():", *indented]) + "\n"


def _call_lines(inputs: DecisionInputs, tool: ToolSpec, arguments: JsonObject) -> list[str]:
    call = CallStyle(inputs.tools, inputs.plan_style).call(tool, arguments)
    if inputs.plan_style == "tools":
        return [f"answer = await {call}"]
    return [
        f"reply = await {call}",
        'answer = "\\n".join([block.text for block in reply.content if block.type == "text"])',
        "if answer.lstrip('{ \\n').startswith('\"result\"'):",
        '    answer = json.loads(answer)["result"]',
    ]


def _picking_lines(question: DocumentQuestion) -> list[str]:
    counts = question.query.lower().startswith(("how many", "how much", "how long", "when"))
    values = {
        "terms": literal([*question.terms]),
        "enough": str(ENOUGH_OPEN if question.kind == "open" else ENOUGH_NAMED),
        "counts": str(counts),
        "own_named": str(IN_NAME_TOO),
        "only_known": str(ONLY_ABOVE),
        "almost": str(ALMOST),
        "longest": str(QUOTE_CHARACTERS),
        "most": str(QUOTES_MAX),
        "final": FINAL_ANSWER,
        "nothing": literal(NOT_IN_DOCUMENTS),
    }
    text = _PLAN
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text.strip("\n").splitlines()


def _ending_lines(question: DocumentQuestion) -> list[str]:
    verdict = FURTHER_PROCESSING if question.kind == "open" else FINAL_ANSWER
    return [f'return "{verdict} " + told']
