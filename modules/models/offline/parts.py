"""Requests in parts, without a language model: "do A and B, then add them" as a task graph.

A request is taken apart only where the offline planner can plan each part by itself, and none
builds on another. What its end wants done with the results is one more subtask: arithmetic, or,
for "list" and "compare", a list of the results, each under the words that asked for it.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.team.graph import Subtask, TaskGraph
from modules.models.offline.plan_source import AS_IT_IS, literal, whole_plan

LISTING: Final = "list these results: "
"""Begins what a listing subtask is asked."""

ANSWER: Final = "answer"
"""The id of the subtask that joins the others."""

REQUEST_CHARACTERS_MAX: Final = 1_000
PIECES_MAX: Final = 12
"""A sentence with more of "and" and commas is not taken apart: each run of pieces may be a part."""

_LEAD_IN: Final = r"(?:(?:what(?:'s| is)|find|give me|tell me|take|compute|calculate)\s+)?the\s+"
_OPERATIONS: Final = {
    "add": rf"add(?: up)?|sum(?: up)?|total|{_LEAD_IN}(?:sum|total) of",
    "multiply": rf"multiply|{_LEAD_IN}product of",
    "average of": rf"average|{_LEAD_IN}(?:average|mean) of",
    "largest of": rf"{_LEAD_IN}(?:largest|biggest|maximum|greatest) of",
    "smallest of": rf"{_LEAD_IN}(?:smallest|least|minimum) of",
    LISTING: "list|show(?: me)?|tell me|give me|compare|combine|print|put",
}
"""What can be done with results: how the offline planner is asked for it, and how people say it."""

_RESULTS: Final = (
    r"(?:them|these|everything|(?:(?:both|all)(?: of)?\s*)?(?:them|(?:the |these )?"
    r"(?:two |three |four |five )?(?:results|answers|numbers|values|figures))|both|all|the two)"
)
_END: Final = {
    operation: lazy_pattern(
        r"(?P<parts>.+?)(?:[,;.?!]\s*|\s+)(?:and\s+)?(?:(?:then|finally),?\s+)?"
        rf"(?:{said})\s+{_RESULTS}(?:\s+(?:up|together|side by side))?\s*[.!?]?",
        re.IGNORECASE | re.DOTALL,
    )
    for operation, said in _OPERATIONS.items()
}
_COMPARED: Final = lazy_pattern(r"compare\s+(?P<parts>.+)", re.IGNORECASE | re.DOTALL)
_MARK: Final = lazy_pattern(r"(?:^|\s)(?:\(?(\d)[.)]|[-*•])\s+(?=\S)")
_SENTENCE_END: Final = lazy_pattern(r"\s*(?:;|[.?!](?=\s|$)|\n)\s*")
_PIECE_END: Final = lazy_pattern(r"(,\s+(?:and\s+)?|\s+and\s+)", re.IGNORECASE)
_BUILDS_ON: Final = lazy_pattern(
    r"\b(?:its?|that|this|them|these|those|the (?:result|answer)|then)\b", re.IGNORECASE
)
_LISTED: Final = lazy_pattern(r'"(?P<asked>[^"]*)": (?P<value>[^\s;]+)(?:; |$)')
_NUMBER: Final = lazy_pattern(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")

CanPlan = Callable[[str], bool]
"""Whether the offline planner has a plan for a request."""


def taken_apart(request: str, can_plan: CanPlan) -> TaskGraph | None:
    """The request as a graph of parts and what joins them; None if it can't be taken apart."""
    if len(request) > REQUEST_CHARACTERS_MAX or "{{" in request:
        return None
    plain = _unmarked(request.strip())
    operation, rest = _end_of(plain)
    parts = [*_parts(rest, cache(can_plan), is_joined=rest != plain)]
    if len(parts) < 2 or any(map(_BUILDS_ON.search, parts)):
        return None
    ids = [f"part_{number}" for number in range(1, len(parts) + 1)]
    references = [f"{{{{{id_}}}}}" for id_ in ids]
    if operation == LISTING:
        named = zip(parts, references, strict=True)
        joined = LISTING + "; ".join(f'"{_label(part)}": {value}' for part, value in named)
    else:
        joined = f"{operation} {_in_words(references)}"
        if not can_plan(f"{operation} {_in_words(['2'] * len(parts))}"):
            return None
    subtasks = (*map(Subtask, ids, parts), Subtask(ANSWER, joined))
    return TaskGraph(request, subtasks)


def write_results_plan(inputs: DecisionInputs) -> str | None:
    """The plan of a listing subtask; None for anything else.

    Its results are numbers in the request, or texts that go along with it by their names.
    """
    listed = inputs.user_input.removeprefix(LISTING)
    found = [*_LISTED.finditer(listed)]
    if not found or "".join(each[0] for each in found) != listed:
        return None
    names = {text.name for text in inputs.texts}
    lines: list[str] = []
    for each in found:
        value = each["value"]
        if value not in names and _NUMBER.fullmatch(value) is None:
            return None
        source = f"str({value})" if value in names else literal(value)
        lines.append(f"    {literal(each['asked'] + ': ')} + {source},")
    return whole_plan(['answer = "\\n".join([', *lines, "])", AS_IT_IS])


def _unmarked(request: str) -> str:
    """The request with a semicolon for each mark of a list; as it is without such marks."""
    marks = [found[1] for found in _MARK.finditer(request)]
    numbers = [mark for mark in marks if mark]
    if len(marks) < 2 or numbers != [*"123456789"][: len(numbers)]:
        return request
    return _MARK.sub("; ", request).lstrip("; ")


def _end_of(request: str) -> tuple[str, str]:
    """What its end wants done with the results, and the parts before; a list if it says nothing."""
    for operation, pattern in _END.items():
        if (found := pattern.fullmatch(request)) is not None:
            return operation, found["parts"]
    compared = _COMPARED.fullmatch(request)
    return LISTING, request if compared is None else compared["parts"]


def _parts(text: str, can_plan: CanPlan, *, is_joined: bool) -> list[str]:
    """The parts, the smallest that can be planned; nothing if some of the text is in none.

    Only where what becomes of the results is said, "and" may stand between two.
    """
    parts: list[str] = []
    for sentence in filter(None, _SENTENCE_END.split(text)):
        pieces = _PIECE_END.split(sentence) if is_joined else [sentence]
        if len(pieces) > 2 * PIECES_MAX or not (found := _planned(pieces, can_plan)):
            return []
        parts += found
    return parts


def _planned(pieces: Sequence[str], can_plan: CanPlan) -> list[str]:
    """The pieces, separators among them at every second place, joined so that all can be planned.

    Nothing if they can't.
    """

    @cache
    def from_(start: int) -> tuple[str, ...] | None:
        if start >= len(pieces):
            return ()
        for end in range(start + 1, len(pieces) + 1, 2):
            part = "".join(pieces[start:end]).strip()
            if can_plan(part) and (rest := from_(end + 1)) is not None:
                return (part, *rest)
        return None

    return [*(from_(0) or ())]


def _in_words(values: Sequence[str]) -> str:
    *first, last = values
    return f"{', '.join(first)} and {last}"


def _label(part: str) -> str:
    return " ".join(part.replace('"', "'").split())
