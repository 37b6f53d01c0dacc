"""Plans that answer from documents: the sentences that answer, quoted, each with its source.

The plan itself picks the sentences, in the sandbox, from the passages that the search gives: those
that share the most telling words with the question. A word tells the more, the fewer sentences
have it. What stands in a heading above counts as well, for it says what the sentence is about.
"""

from typing import Final

from core.ports import DecisionInputs
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from modules.offline.calls import literal
from modules.offline.document_questions import DocumentQuestion, documents_tool, listing_tool
from modules.offline.quoting import (
    AS_IT_IS,
    answer_lines,
    call_lines,
    filled,
    sentence_lines,
    whole_plan,
)
from modules.offline.refusal import Refusal

NOT_IN_DOCUMENTS: Final = "The documents don't say."

ENOUGH_NAMED: Final = 0.5
"""Which part of the question's weight a sentence must share where the documents are named."""

ENOUGH_OPEN: Final = 0.7
"""... and where they are not: then something else may have been meant."""

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
    above = plain(place)
    for text, is_heading in units(body):
        if is_heading:
            above = plain(place + " " + text)
        else:
            sentences.append((text, plain(text), above, place))
"""
"""What makes `sentences` of the passages that the search gives; `answer` holds those."""

_NOTHING: Final = 'told = @nothing@ + "".join([" Note: " + note + "." for note in notes[:2]])'


def write_document_plan(inputs: DecisionInputs, question: DocumentQuestion) -> str | None:
    """A plan that puts the question to the documents; None where no tool searches any."""
    tool = documents_tool(inputs.tools)
    if tool is None:
        return None
    call = call_lines(inputs, tool, {"query": question.query})
    if question.kind == "passages":
        return whole_plan([*call, AS_IT_IS])
    return whole_plan([*call, *_picking_lines(question), *_ending_lines(question)])


def write_listing_plan(inputs: DecisionInputs) -> str | None:
    """A plan that lists the documents, where the request asks for that."""
    tool = listing_tool(inputs.user_input, inputs.tools)
    return None if tool is None else whole_plan([*call_lines(inputs, tool, {}), AS_IT_IS])


def check_observation(inputs: DecisionInputs) -> None:
    """Decline a question that was put to the documents in vain by the step before.

    Raises:
        Refusal: it was.
    """
    if inputs.observation is not None and inputs.observation.startswith(NOT_IN_DOCUMENTS):
        raise Refusal("it is no calculation, names no tool, and the documents don't say")


def _picking_lines(question: DocumentQuestion) -> list[str]:
    enough = ENOUGH_OPEN if question.kind == "open" else ENOUGH_NAMED
    return [
        *sentence_lines(),
        *filled(_PASSAGES, {}),
        *answer_lines(question.query, question.terms, enough),
        *filled(_NOTHING, {"nothing": literal(NOT_IN_DOCUMENTS)}),
    ]


def _ending_lines(question: DocumentQuestion) -> list[str]:
    verdict = FURTHER_PROCESSING if question.kind == "open" else FINAL_ANSWER
    return [f'return "{verdict} " + told']
