"""Plans that answer from documents: the sentences that answer, quoted, each with its source.

The plan itself picks the sentences, in the sandbox, from the passages that the search gives
(`answering`). Where none answers it hands the nearest passages on, or says that there are none;
the next step tells the user (`check_observation`), and the run ends without an answer.
"""

from typing import Final

from core.ports import DecisionInputs
from core.turn import FURTHER_PROCESSING
from core.values import JsonObject
from modules.models.offline.plan_source import (
    AS_IT_IS,
    call_line,
    filled,
    indented,
    literal,
    takes,
    whole_plan,
)
from modules.models.offline.quotes.answering import NEAREST, NOTHING_NEAR, answer_lines
from modules.models.offline.quotes.document_questions import (
    DocumentQuestion,
    documents_tool,
    listing_tool,
)
from modules.models.offline.quotes.questions import read_question
from modules.models.offline.quotes.sentences import sentence_lines
from modules.models.offline.refusal import Refusal, Unsure

NOTHING_THERE: Final = f"{NOTHING_NEAR} nothing in your documents fits it."

NO_DOCUMENTS: Final = "There are no documents yet."
"""What the documents server notes where it has none to search."""

ADD_SOME: Final = "Add some: agent.py docs add FILE (at the prompt: /docs add FILE)."

_IF_NOTHING: Final = f'if "[Source: " not in answer and {NO_DOCUMENTS!r} not in answer:'
"""Meaning alone holds a fact in a long passage for noise; its words find it all the same."""

_PASSAGES: Final = r"""
mark = re.compile(r"\[Source: ([^\]\n]+), ID: ([^\]\n]+)\]")

notes = []
while answer.startswith("Note: "):
    note, _, answer = answer.partition("\n")
    notes.append(note[6:])

sentences, start = [], 0
for found in mark.finditer(answer):
    head, _, body = answer[start:found.start()].strip().partition("\n")
    start = found.end()
    place = head.partition(". ")[2].rpartition(" (score")[0] or found[1]
    above, under = plain(place), plain(place.rpartition(" > ")[2].rpartition(", under ")[2])
    for text, is_heading in units(body):
        if is_heading:
            above, under = plain(place + " " + text), plain(text)
        else:
            sentences.append((text, plain(text), above, place, under))
"""
"""What makes `sentences` of the passages that the search gives; `answer` holds those."""

_NOTHING: Final = r"""
told = [@none@] if @none@ in answer or @none@ in notes else [@nothing@]
notes = [note for note in notes if note not in told and "fits the query" not in note]
told += [note.rstrip(".") + "." for note in notes[:2]]
return "@further@ " + " ".join(told)
"""


def write_document_plan(inputs: DecisionInputs, question: DocumentQuestion) -> str | None:
    """A plan that puts the question to the documents; None where no tool searches any."""
    tool = documents_tool(inputs.tools)
    if tool is None:
        return None
    asked: JsonObject = {"query": question.query}
    if question.file is not None and takes(tool, "file"):
        asked["file"] = question.file
    call = call_line(inputs, tool, asked)
    if question.kind == "passages":
        return whole_plan([call, AS_IT_IS])
    again: list[str] = []
    if inputs.max_tool_calls > 1 and takes(tool, "mode"):
        lines = [call_line(inputs, tool, {**asked, "mode": "words"})]
        again = [_IF_NOTHING, *indented(lines)]
    return whole_plan([call, *again, *_picking_lines(question)])


def write_listing_plan(inputs: DecisionInputs) -> str | None:
    """A plan that lists the documents, where the request asks for that."""
    tool = listing_tool(inputs.user_input, inputs.tools)
    return None if tool is None else whole_plan([call_line(inputs, tool, {}), AS_IT_IS])


def check_observation(found: str) -> None:
    """Tell what the step before found, where no sentence of it answers.

    Raises:
        Refusal: that was so.
    """
    if found.startswith(NEAREST):
        raise Unsure(found)
    if found.startswith(NO_DOCUMENTS):
        raise Refusal("there are no documents to look it up in", ADD_SOME)
    if found.startswith(NOTHING_NEAR):
        raise Refusal(found.removeprefix(NOTHING_NEAR).strip())


def _picking_lines(question: DocumentQuestion) -> list[str]:
    return [
        *sentence_lines(),
        *filled(_PASSAGES, {}),
        *answer_lines(read_question(question.query)),
        *filled(
            _NOTHING,
            {
                "nothing": literal(NOTHING_THERE),
                "none": literal(NO_DOCUMENTS),
                "further": FURTHER_PROCESSING,
            },
        ),
    ]
