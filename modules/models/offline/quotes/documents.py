"""Questions to the user's documents, told from requests that mean something else, and their plans.

Some name the documents ("what do my documents say about …", "… according to my notes"). Others
only ask for a fact ("what is the notice period?"), and are put to the documents if nothing else
understands them; questions about the agent, the user or the present never are.

The plan itself picks the sentences that answer, in the sandbox, from the passages that the search
gives (`answering`), each with its source. Where none answers it hands the nearest passages on, or
says that there are none; the next step tells the user (`check_observation`), and the run ends
without an answer.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import FURTHER_PROCESSING, Exchange
from core.values import JsonObject
from modules.models.offline.plan_source import (
    AS_IT_IS,
    call_line,
    filled,
    indented,
    literal,
    takes,
    tool_that_needs,
    whole_plan,
)
from modules.models.offline.quotes.answering import (
    NEAREST,
    NOTHING_NEAR,
    answer_lines,
    sentence_lines,
)
from modules.models.offline.quotes.asking import (
    COUNTING,
    QUESTION_CHARACTERS_MAX,
    bare,
    matched,
    question_terms,
    speaks_of_arithmetic,
)
from modules.models.offline.quotes.questions import read_question
from modules.models.offline.refusal import Refusal, Unsure
from modules.models.offline.tools.arguments import SECOND_REQUEST
from modules.models.offline.tools.pieces import pieces_of

SEARCH_TOOL: Final = "search_stored_documents"
LIST_TOOL: Final = "list_documents"

QuestionKind: TypeAlias = Literal["answer", "passages", "open"]
"""`answer`: what the documents say; `passages`: what a search finds, as it stands; `open`: nobody
spoke of documents, so they are only asked in case they know."""


class DocumentQuestion(NamedTuple):
    """What the documents are asked: the words to search for, and how to answer.

    With `file`, only that one is asked.
    """

    query: str
    kind: QuestionKind
    file: str | None = None

    @property
    def terms(self) -> list[str]:
        """The stems of the words that a sentence has to share to be an answer."""
        return question_terms(self.query)


_OWN: Final = r"(?:(?:all|any|each|one)\s+of\s+)?(?:my|our|the|these|those|your)\s+"
_KIND: Final = r"(?:own\s+|stored\s+|local\s+|indexed\s+|uploaded\s+)*"
_NOUN: Final = r"(?P<noun>documents?|docs|papers|notes|files)"
_DOCUMENTS: Final = rf"{_OWN}{_KIND}{_NOUN}"
_ABOUT: Final = r"(?:about|on|regarding|concerning|of)"

_NAMING: Final[tuple[tuple[QuestionKind, str], ...]] = (
    ("answer", rf"what\s+(?:do|does|did)\s+{_DOCUMENTS}\s+(?:say|tell|mention|state|know|have)"
               rf"(?:\s+(?:me|us))?\s+{_ABOUT}\s+(?P<query>.+)"),
    ("answer", rf"(?:do|does|did)\s+{_DOCUMENTS}\s+(?:say|mention|contain|cover|have|talk)"
               rf"\s+(?:(?:anything|something)\s+)?(?:{_ABOUT}\s+)?(?P<query>.+)"),
    ("answer", rf"(?:according\s+to|based\s+on|going\s+by|as\s+per|in|from)\s+{_DOCUMENTS}\s*[,:]?"
               r"\s+(?P<query>.+)"),
    ("answer", rf"(?:ask|answer\s+from|look\s+in|check)\s+{_DOCUMENTS}\s*[,:]?\s+(?P<query>.+)"),
    ("passages", rf"(?:search|go\s+through|look\s+through)\s+(?:in\s+|through\s+)?{_DOCUMENTS}\s+"
                 r"for\s+(?P<query>.+)"),
    ("passages", r"(?:find|search\s+for|look\s+for|look\s+up|locate)\s+(?P<query>.+?)\s+in\s+"
                 rf"{_DOCUMENTS}"),
    ("passages", rf"(?:which|what)\s+(?:of\s+{_OWN})?{_NOUN}\s+(?:mentions?|covers?|contains?|"
                 rf"talks?\s+about|says?\s+(?:something\s+)?about)\s+(?P<query>.+)"),
    ("answer", r"(?P<query>.+?),?\s+(?:according\s+to|based\s+on|going\s+by|as\s+per)\s+"
               rf"{_DOCUMENTS}"),
    ("answer", r"(?P<query>(?:what|who|when|where|which|why|how)\b.+?)\s+in\s+"
               rf"{_DOCUMENTS}"),
)  # fmt: skip
"""How requests name the documents; patterns of whole requests, tried in this order."""

_SAME_DOCUMENT: Final = (
    r"(?:the\s+(?:very\s+)?same|that|this)\s+(?:document|file|paper|manual|handbook|text|source)"
)
_SAME: Final = lazy_pattern(rf"\b{_SAME_DOCUMENT}\b", re.IGNORECASE)
_USE: Final = rf"(?:use|using|ask|check|look\s+in|take)\s+{_SAME_DOCUMENT}"
_USE_SAME_FIRST: Final = lazy_pattern(rf"^(?:now\s+)?{_USE}(?:\s+and)?\s*[,:;.]?\s+", re.IGNORECASE)
_USE_SAME_LAST: Final = lazy_pattern(rf"[?,;.]?\s+(?:and\s+)?{_USE}$", re.IGNORECASE)

_SOURCE: Final = lazy_pattern(
    r"\((?P<quoted>[^()\n]{1,300}?), (?:line|page) \d|\[Source: (?P<marked>[^\]\n]{1,300}?), ID: "
)
"""How answers name where they stand: ours, and those that repeat what the search gives."""

ANSWER_CHARACTERS_MAX: Final = 20_000
"""How far an earlier answer is searched for its source."""

_LISTING: Final = lazy_pattern(
    rf"(?:(?:show|list|name|give)\s+(?:me\s+)?(?:a\s+list\s+of\s+)?(?:all\s+(?:of\s+)?)?{_DOCUMENTS}"
    r"|(?:what|which)\s+(?:stored\s+|indexed\s+)?(?:documents|docs)\s+"
    r"(?:do\s+(?:i|you|we)\s+have|are\s+(?:there|stored|indexed)|have\s+(?:i|we)))",
    re.IGNORECASE,
)
"""Requests for the list of the documents, none of which is looked into."""

_OPEN: Final = lazy_pattern(
    r"(?:what|who|where|when|how)['’]s\b|(?:(?:at|by|during|for|from|in|on|since|to|until|with)\s+)?(?:what|who|whom|whose|when|where|which|why|how)\b"
    r"|(?:is|are|was|were|do|does|did|has|have|can|may|must|should)\s+(?!that\b|this\b|it\b)\w",
    re.IGNORECASE,
)
_YES_OR_NO: Final = lazy_pattern(r"(?!what|who|when|where|which|why|how)", re.IGNORECASE)

_OF_THE_AGENT: Final = lazy_pattern(r"\b(?:you|your|yours|yourself|cortex(?:-r)?)\b", re.IGNORECASE)
_OF_THE_USER: Final = lazy_pattern(
    r"^(?!.*\b(?:can|may|must|should|shall|could)\s+i\b).*\bmy\b|\b(?:me|mine|myself)\b|\bi\s+(?:was|were|am|did|had)\b|\b(?:am|was|did|have|had|will|would)\s+i\b"
    r"|\bdo\s+i\s+(?:live|look|work|come|have|own|drive|prefer|like|love|weigh|feel|think|"
    r"mean|want|sound|seem|earn|say|know|do)\b|\bi['’](?:m|ve|d|ll)\b",
    re.IGNORECASE,
)
_OF_THE_PRESENT: Final = lazy_pattern(
    r"\b(?:today|tonight|tomorrow|yesterday|now|nowadays|current|currently|latest|news|headlines|"
    r"weather|forecast|right\s+now|at\s+(?:the\s+moment|present)|these\s+days|raining|snowing|"
    r"this\s+(?:morning|afternoon|evening|week|weekend|month|year)|next\s+(?:week|weekend|month|year)|"
    r"last\s+(?:night|week|weekend|month|year))\b"
    r"|^(?:what|which)\s+(?:time|day|date|weekday|month|year|season)\s+(?:is|was)\s+it\b"
    r"|^what(?:['’]s|\s+is)\s+the\s+(?:time|date|day|year|month)$"
    r"|^(?:is|will|does|did|was)\s+it\b",
    re.IGNORECASE,
)
"""What such questions are about is not in any document, or not as it is now."""

_OPEN_PIECES: Final = frozenset({"word", "number", "mark"})
_OPEN_MARKS: Final = frozenset("?.,’'-()")


def documents_tool(tools: ToolCatalog) -> ToolSpec | None:
    """The tool that searches documents: one text to look for is all it needs."""
    return tool_that_needs(tools, [SEARCH_TOOL], "query")


def listing_tool(request: str, tools: ToolCatalog) -> ToolSpec | None:
    """The tool that lists the documents, where that is all that the request asks for."""
    found = _LISTING.fullmatch(bare(request))
    if found is None or (found["noun"] and _is_others(found["noun"], tools)):
        return None
    return tool_that_needs(tools, [LIST_TOOL])


def named_question(request: str, tools: ToolCatalog) -> DocumentQuestion | None:
    """The question of a request that names the documents; None if it doesn't, or asks more."""
    text = bare(request)
    if len(text) > QUESTION_CHARACTERS_MAX:
        return None
    for kind, pattern in _NAMING:
        if (found := matched(pattern, text)) is None:
            continue
        question = DocumentQuestion(found["query"].strip(" ,:\"'“”"), kind)
        alone = SECOND_REQUEST.search(found["query"]) is None
        if alone and question.terms and not _is_others(found["noun"], tools):
            return question
    return None


def same_document(request: str, history: Sequence[Exchange]) -> tuple[str, str | None]:
    """The request as one to all documents, and the file that it means by "the same document".

    That is the source that the latest answer with any names. Other requests as they are.
    """
    text = bare(request)
    if len(text) > QUESTION_CHARACTERS_MAX or _SAME.search(text) is None:
        return request, None
    for exchange in reversed(history):
        if found := _SOURCE.search((exchange.answer or "")[:ANSWER_CHARACTERS_MAX]):
            text = _USE_SAME_FIRST.sub("in my documents, ", text)
            text = _USE_SAME_LAST.sub(" in my documents", text)
            return _SAME.sub("my documents", text), found["quoted"] or found["marked"]
    return request, None


def open_question(request: str) -> DocumentQuestion | None:
    """A plain question after a fact, which names no documents; None for anything else."""
    text = bare(request)
    if _OPEN.match(text) is None or len(text) > QUESTION_CHARACTERS_MAX:
        return None
    if _outside_of_documents(text) or COUNTING.match(text) or SECOND_REQUEST.search(text):
        return None
    pieces = pieces_of(text)
    if any(p.kind not in _OPEN_PIECES for p in pieces):
        return None
    if any(p.kind == "mark" and p.text not in _OPEN_MARKS for p in pieces):
        return None
    has_number = any(p.kind == "number" for p in pieces)
    if has_number and (speaks_of_arithmetic(text) or _YES_OR_NO.match(text)):
        return None
    question = DocumentQuestion(text, "open")
    return question if question.terms else None


def untold_subject(request: str) -> str:
    """What a question is about of which no document tells; empty for others."""
    text = bare(request)
    return _outside_of_documents(text) if _OPEN.match(text) is not None else ""


def _outside_of_documents(text: str) -> str:
    if _OF_THE_AGENT.search(text):
        return "the agent"
    if _OF_THE_USER.search(text):
        return "you"
    return "the present" if _OF_THE_PRESENT.search(text) else ""


def _is_others(noun: str, tools: ToolCatalog) -> bool:
    """Whether "files" or "notes" are rather those of another server, by its tools' names."""
    singular = noun.lower().rstrip("s")
    if singular not in ("file", "note"):
        return False
    searching = documents_tool(tools)
    server = searching.server if searching is not None else ""
    return any(tool.server != server and singular in tool.name.lower() for tool in tools)


NOTHING_THERE: Final = f"{NOTHING_NEAR} nothing in your documents fits it."

NO_DOCUMENTS: Final = "There are no documents yet."
"""What the documents server notes where it has none to search."""

ADD_SOME: Final = "Add some: agent.py docs add FILE"

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
