"""Plans for any tool of any server: the tool that the request names, with its arguments."""

import re
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.tools.spec import ToolSpec
from modules.models.offline.arithmetic.grammar import MAX_REQUEST_CHARACTERS
from modules.models.offline.arithmetic.tree import OPERATIONS
from modules.models.offline.plan_source import AS_IT_IS, call_line, indented, whole_plan
from modules.models.offline.quotes.asking import bare
from modules.models.offline.refusal import Ambiguous, Refusal
from modules.models.offline.tools.arguments import Filling
from modules.models.offline.tools.pieces import Piece, pieces_of
from modules.models.offline.tools.ranking import CALL_WORDS, ToolIndex, Vocabulary

TOO_CLOSE: Final = 0.8
"""From this part of the best tool's score on, another tool is as likely."""

NEXT_BEST: Final = 0.5
"""From this part of the best tool's score on, another tool may be tried when the best failed."""

NAMED_OUTRIGHT_BONUS: Final = 100.0
"""Added to the score of a tool that is called by its exact name."""

_ASKING: Final = frozenset({"what", "what's", "how", "why", "does", "should"})
"""Words of a question about a tool that is called by its name."""

_TO_BE_TOLD: Final = lazy_pattern(r"\b(?:tell me|to know)\b", re.IGNORECASE)

_ARITHMETIC: Final = frozenset(operation.tool for operation in OPERATIONS.values())


@frozen
class Candidate:
    """A tool that the request may mean, with the arguments found for it."""

    tool: ToolSpec
    score: float
    filling: Filling
    near_miss: bool = False
    """Whether the request also has words for which the tool has no use."""


def candidates_for(inputs: DecisionInputs) -> list[Candidate]:
    """The tools that the request speaks of in all its words, best first."""
    return [candidate for candidate in _ranked(inputs) if not candidate.near_miss]


def _ranked(inputs: DecisionInputs) -> list[Candidate]:
    """The tools that the request speaks of, near misses too, best first."""
    request = inputs.user_input
    if len(request) > MAX_REQUEST_CHARACTERS:
        return []
    pieces = pieces_of(request)
    index = ToolIndex(inputs.tools)
    found = [_candidate(index, v, request, pieces) for v in index.vocabularies]
    preferred = inputs.perception.selected_servers
    return sorted(
        (candidate for candidate in found if candidate is not None),
        key=lambda c: (-c.score, c.tool.server not in preferred),
    )


def write_tool_plan(inputs: DecisionInputs) -> str | None:
    """A plan that calls the tool that the request means; None if it speaks of no tool.

    Raises:
        Refusal: two tools are as likely, or an argument is missing or in doubt.
    """
    ranked = _ranked(inputs)
    candidates = [candidate for candidate in ranked if not candidate.near_miss]
    if not candidates:
        if ranked:
            _check(ranked[0])
        return None
    best = _best(candidates)
    _check(best)
    return _plan(inputs, best, _fallback(inputs, best, [c for c in candidates if c is not best]))


def _best(candidates: list[Candidate]) -> Candidate:
    """The one that is meant: of those that rank alike, the only one that can be called."""
    close = [c for c in candidates if c.score >= TOO_CLOSE * candidates[0].score]
    able = [c for c in close if c.filling.complete]
    if len(close) == 1 or (len(able) == 1 and able[0].tool.read_only):
        return able[0] if able else close[0]
    names = " and ".join(c.tool.qualified_name for c in close[:3])
    raise Ambiguous(f"several tools fit the request: {names}; name the one you mean")


def write_other_plan(inputs: DecisionInputs) -> str | None:
    """A plan with the next-ranked tool after those that failed; None if there is none."""
    tried = {call.tool for attempt in inputs.failed for call in attempt.calls}
    candidates = candidates_for(inputs)
    if not candidates or not tried:
        return None
    least = NEXT_BEST * candidates[0].score
    for candidate in candidates:
        fresh = not {candidate.tool.qualified_name, candidate.tool.name} & tried
        if fresh and candidate.filling.complete and candidate.score >= least:
            return _plan(inputs, candidate, None)
    return None


def _candidate(
    index: ToolIndex, vocabulary: Vocabulary, request: str, pieces: tuple[Piece, ...]
) -> Candidate | None:
    outright = _named_outright(vocabulary.tool, request)
    if outright is not None and any(p.text.lower() in _ASKING for p in pieces):
        return None  # "what does reset_all do" asks about the tool
    if outright is not None:
        pieces = tuple(p for p in pieces if not (p.start < outright[1] and p.end > outright[0]))
    elif vocabulary.tool.name in _ARITHMETIC:
        return None  # plain words for these are the grammar's; what it refuses is refused
    if not (vocabulary.only_reads or _is_asked(vocabulary, request)):
        return None
    filling = Filling(vocabulary, request, pieces)
    score = index.score(vocabulary, filling.matched)
    if outright is not None:
        return Candidate(vocabulary.tool, score + NAMED_OUTRIGHT_BONUS, filling)
    named = vocabulary.name & filling.matched
    enough = (named and len(filling.matched) > 1) or named == vocabulary.name
    return Candidate(vocabulary.tool, score, filling, bool(filling.unknown)) if enough else None


def _is_asked(vocabulary: Vocabulary, request: str) -> bool:
    """Whether the request begins with a word of the tool, or with "use": it tells to do it.

    "Tell me order numbers" asks for an answer, and orders nothing.
    """
    text = bare(request)
    first = next(iter(pieces_of(text)), None)
    if first is None:
        return True
    politely = " ".join(request.split()).partition(text)[0]
    return _TO_BE_TOLD.search(politely) is None and (
        first.kind != "word" or first.text.lower() in CALL_WORDS or vocabulary.spells(first.text)
    )


def _named_outright(tool: ToolSpec, request: str) -> tuple[int, int] | None:
    """Where the request calls the tool by its exact name: `add(…)`, "use add", `create_note`."""
    names = "|".join(re.escape(n) for n in (tool.qualified_name, tool.name))
    called = "|".join(sorted(CALL_WORDS - {"tool", "function"}))
    pattern = rf"(?<![\w.])(?P<name>{names})(?![\w]|\.\w)"
    for match in re.finditer(pattern, request):
        before, after = request[: match.start()], request[match.end() :]
        if (
            "_" in match["name"]
            or "." in match["name"]
            or re.match(r"\(|\s+(?:tool|function)\b|\s+with\s+\w+\s?=|\s+\w+=", after)
            or re.search(rf"\b(?:{called})(?:\s+the)?(?:\s+(?:tool|function))?\s+$", before, re.I)
        ):
            return match.span()
    return None


def _check(candidate: Candidate) -> None:
    """Raise a refusal that names the tool and what is missing, unless the call can be made."""
    filling, name = candidate.filling, candidate.tool.qualified_name
    if filling.unknown:
        words = ", ".join(f"'{word}'" for word in filling.unknown[:3])
        raise Refusal(f"the tool {name} has no use for {words}")
    if filling.doubt:
        raise Refusal(f"the tool {name} fits, but {filling.doubt}")
    if filling.missing:
        raise Refusal(
            f"the tool {name} fits, but its argument {', '.join(filling.missing)} is missing"
        )


def _fallback(inputs: DecisionInputs, best: Candidate, others: list[Candidate]) -> Candidate | None:
    """The tool to try when the best fails, in the sequential mode; it must not change anything."""
    if inputs.planning_mode != "exploratory" or inputs.exploration_mode != "sequential":
        return None
    for other in others:
        near = other.score >= NEXT_BEST * best.score
        if near and other.filling.complete and other.tool.read_only and inputs.max_tool_calls > 1:
            return other
    return None


def _plan(inputs: DecisionInputs, best: Candidate, fallback: Candidate | None) -> str:
    lines = _lines(inputs, best)
    if fallback is not None:
        lines = [
            "try:",
            *indented(lines),
            "except Exception:",
            *indented(_lines(inputs, fallback)),
        ]
    return whole_plan([*lines, AS_IT_IS])


def _lines(inputs: DecisionInputs, candidate: Candidate) -> list[str]:
    lines = [call_line(inputs, candidate.tool, candidate.filling.arguments)]
    if candidate.tool.output_schema is None:
        # Without a schema a tool may answer pictures and the like, which arrive as a list.
        lines += [
            "if isinstance(answer, list):",
            '    answer = "\\n".join([str(b["text"] or b["mime_type"]) for b in answer])',
        ]
    return lines
