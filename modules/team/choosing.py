"""What is done about a request: one plan, or a graph of subtasks.

Published comparisons of teams with single agents (arXiv 2512.08296) found a coordinator 81% better
on tasks with parallel parts, and 39 to 70% worse on tasks whose steps build on each other. So one
plan is the rule, and a graph wants signs of parts that are independent of each other: a list, the
same for each of several things, a comparison, or tasks of their own whose results are joined at the
end. The request's words decide at no cost. A model is asked only where there are such signs, and
may still say that one plan is better (`modules.team.writing`).
"""

import re
from typing import Final

from config.schema import GraphMode
from core.base.text import lazy_pattern
from core.events import ActionChosen
from core.team.graph import Subtask, TaskGraph

WORTH_A_LOOK_CHARACTERS: Final = 24
"""A shorter request has no two parts that want planning of their own."""

LOOKED_AT_CHARACTERS: Final = 800
"""So much of a longer request is read: what follows is a text that was pasted."""

PARTS_MIN: Final = 2
THINGS_MIN: Final = 3
"""A model's single plan compares two things; so many want a part each."""

NO_SIGN: Final = ActionChosen("plan", "nothing in the request says that it has independent parts")

_JOINING: Final = (
    "add|build|combine|compare|contrast|conclude|create|decide|draft|give|join|list|make|merge|"
    "multiply|prepare|present|produce|put|rank|recommend|report|say|show|subtract|sum|"
    "summari[sz]e|tabulate|tell|total|write"
)
_PICKING: Final = (
    r"average (?=them|both|all|everything|these|the )|"
    r"(?:find|take|compute|calculate|what is) the "
    r"(?:sum|total|product|average|mean|largest|biggest|greatest|maximum|smallest|least|minimum) of"
)
_VERB: Final = (
    f"{_JOINING}|analy[sz]e|calculate|check|collect|compute|convert|count|describe|determine|"
    "download|estimate|evaluate|explain|extract|fetch|find|gather|get|identify|look|outline|plan|"
    "propose|read|research|review|search|translate|work out"
)
_QUESTION: Final = "how|what|when|where|which|who|why"
_YES_OR_NO: Final = "is|are|was|were|do|does|did|has|have"

_ITEM: Final = lazy_pattern(r"^\s*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-h]\))\s+(?=\S)", re.MULTILINE)
_NUMBERED: Final = lazy_pattern(r"(?:^|\s)\(?(?:(\d)[.)]|([a-h])\))\s+(?=\w)")
_EACH: Final = lazy_pattern(
    r"\beach of (?:the |these |those |my |our )?(?:two|three|four|five|six|following)\b",
    re.IGNORECASE,
)
_COMPARISON: Final = lazy_pattern(r"\b(?:compar(?:e[sd]?|ing|isons?)|contrast)\b", re.IGNORECASE)
_BETWEEN_THINGS: Final = lazy_pattern(
    r",\s+(?:and\s+|or\s+)?|\s+(?:and|or|with|to|against|versus|vs\.?)\s+", re.IGNORECASE
)
_MANY: Final = lazy_pattern(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|several)\s", re.IGNORECASE
)
_CLAUSE_END: Final = lazy_pattern(
    r"[.!?;]\s+|\n+|,?\s+(?:and\s+)?(?:then|finally|afterwards)\s+"
    rf"|,?\s+(?:and|as well as)\s+(?=(?:{_VERB}|{_QUESTION})\b)|,\s+(?=(?:{_VERB})\b)",
    re.IGNORECASE,
)
_OWN_TASK: Final = lazy_pattern(
    r"(?:(?:please|also|next|first|second|then|finally|and|now),?\s+)*"
    r"(?:(?:according to|based on|from|in) [^,;.?!]{1,60},\s+)?"
    rf"(?:{_VERB}|{_QUESTION}|{_YES_OR_NO})\b",
    re.IGNORECASE,
)
_BUILDS_ON: Final = lazy_pattern(
    r"\b(?:its?|that(?! (?:of|are|is|was|were|has|have)\b)|this|"
    r"the (?:(?:result|answer|output|sum|product)(?! of\b)|last|former|latter|same))\b",
    re.IGNORECASE,
)
_JOINED: Final = lazy_pattern(
    rf"(?:(?:and|then|finally),?\s+)*(?:{_JOINING}|{_PICKING})\b.*\b(?:them|both|all|together|everything|these|"
    r"the (?:results|findings|answers|numbers|values|parts|two|three|four|five)|"
    r"(?:a|one|the) (?:single |short |final |joint )?"
    r"(?:table|report|summary|overview|recommendation|comparison|list))\b",
    re.IGNORECASE | re.DOTALL,
)
_SEVERAL: Final = lazy_pattern(r"\band\b|[,;.?!]\s|\n|\bas well as\b", re.IGNORECASE)


def choose_action(request: str, mode: GraphMode, *, reads_text: bool) -> ActionChosen:
    """What is to be done about a request, and why, by the profile and by its words alone.

    "graph" means that one should be written if there is one: whoever writes it may find that a
    single plan does. A planner that `reads_text` is asked for no more than a plan where the parts
    are things in one clause ("read A and B and show both"): its plan makes several calls.
    """
    match mode:
        case "never":
            return ActionChosen("plan", "strategy.graph is never")
        case "always":
            return ActionChosen("graph", "strategy.graph is always")
        case "auto":
            return _by_words(request[:LOOKED_AT_CHARACTERS].strip(), reads_text=reads_text)


def _by_words(request: str, *, reads_text: bool) -> ActionChosen:
    if len(request) < WORTH_A_LOOK_CHARACTERS:
        return NO_SIGN
    if (items := _items(request)) >= PARTS_MIN:
        return ActionChosen("graph", f"the request lists {items} parts")
    if _EACH.search(request) is not None:
        return ActionChosen("graph", "the request asks for the same of each of several things")
    least = THINGS_MIN if reads_text else PARTS_MIN
    if (found := _COMPARISON.search(request)) is not None and _compares(
        least, request[found.end() :]
    ):
        return ActionChosen("graph", "the request compares several things")
    return _by_clauses(request, reads_text=reads_text)


def _items(request: str) -> int:
    """How many items a list in it has, each on its line or with numbers that go up; else 0.

    Items that build on each other are steps.
    """
    starts = [*_ITEM.finditer(request)]
    if len(starts) < PARTS_MIN:
        numbers = [*_NUMBERED.finditer(request)]
        marks = [found[1] or found[2] for found in numbers]
        starts = numbers if marks and [*"123456789"][: len(marks)] == marks else []
        starts = starts or (numbers if marks == [*"abcdefgh"][: len(marks)] else [])
    ends = [*(found.start() for found in starts[1:]), len(request)]
    parts = [request[found.end() : end] for found, end in zip(starts, ends, strict=False)]
    own = [part for part in parts if _BUILDS_ON.search(part) is None]
    return len(parts) if len(own) >= PARTS_MIN and len(own) * 2 > len(parts) else 0


def _compares(least: int, things: str) -> bool:
    """Whether what follows "compare" names so many things, or says how many."""
    named = re.split(r"[.;\n]|\bin (?:a|one)\b", things, maxsplit=1)[0]
    if len([thing for thing in _BETWEEN_THINGS.split(named) if thing.strip()]) >= least:
        return True
    return _MANY.search(named) is not None


def _by_clauses(request: str, *, reads_text: bool) -> ActionChosen:
    """By tasks of their own: sentences, and what stands between "then" and "and"."""
    first, last, own, joins = _clauses(request)
    clauses = [*first, last]
    if joins and (len(own) >= PARTS_MIN or (not reads_text and _names_several(first))):
        return ActionChosen("graph", "the request joins the results of several parts at its end")
    if not joins and _OWN_TASK.match(last) and not _BUILDS_ON.search(last):
        own.append(last)
    if len(own) >= THINGS_MIN and len(own) * 3 >= len(clauses) * 2:
        return ActionChosen("graph", f"the request has {len(own)} tasks of their own")
    if len(clauses) >= PARTS_MIN and any(map(_BUILDS_ON.search, clauses[1:])):
        return ActionChosen("plan", "the parts of the request build on each other")
    return NO_SIGN


def parts_by_words(request: str) -> TaskGraph | None:
    """The parts that a request names, and the end that joins them; None where its words show none.

    Nobody has looked whether they can be done.
    """
    first, last, own, joins = _clauses(request.strip())
    if not joins or len(own) < PARTS_MIN or own != first:
        return None
    ids = [f"part_{number}" for number in range(1, len(own) + 1)]
    results = ", ".join(f"{{{{{id_}}}}}" for id_ in ids)
    parts = map(Subtask, ids, (each.strip() for each in own))
    return TaskGraph(request, (*parts, Subtask("answer", f"{last.strip()}: {results}")))


def _clauses(request: str) -> tuple[list[str], str, list[str], bool]:
    """All clauses but the last, the last; of the first the tasks of their own; whether it joins."""
    clauses = [clause for clause in _CLAUSE_END.split(request) if clause and clause.strip(" .,!?")]
    *first, last = clauses or [request]
    own = [each for each in first if _OWN_TASK.match(each) and not _BUILDS_ON.search(each)]
    return first, last, own, _JOINED.match(last) is not None and _BUILDS_ON.search(last) is None


def _names_several(clauses: list[str]) -> bool:
    """Whether what comes before a joining end is several things, none of which needs another."""
    if len(clauses) == 1:
        return _SEVERAL.search(clauses[0]) is not None
    return len(clauses) >= PARTS_MIN and not any(map(_BUILDS_ON.search, clauses))
