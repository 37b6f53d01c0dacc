"""The plan for an everyday request, from whichever table knows it.

A request may be about a text that came with it: `how many lines does this have?`. The text takes
the place of "this". The tables then read it like one in quotes, and the plan has it as a variable;
numbers alone are read as if they stood in the request.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import TextInput
from modules.models.offline.everyday.rule import MAX_ITEMS, first_match
from modules.models.offline.everyday.tables import DATES, NUMBERS, TEXTS
from modules.models.offline.everyday.units import conversion
from modules.models.offline.history import recalled
from modules.models.offline.plan_source import AS_IT_IS, call_line, filled, literal, whole_plan
from modules.models.offline.quotes.asking import QUESTION_CHARACTERS_MAX, bare

_RULES: Final = (*NUMBERS, *TEXTS, *DATES)
_LEAD_IN: Final = lazy_pattern(
    r"(?:what(?:['’]s| is| are| was)|how much (?:is|are)|calculate|compute|find|tell me|give me)"
    r"\s+",
    re.IGNORECASE,
)


def write_everyday_plan(inputs: DecisionInputs) -> str | None:
    """A plan for a request that a table knows as a whole; None for any other."""
    text = bare(inputs.user_input)
    if not text or len(text) > QUESTION_CHARACTERS_MAX:
        return None
    if (called := file_call(text, inputs.tools)) is not None:
        return whole_plan([call_line(inputs, *called), AS_IT_IS])
    asked = _LEAD_IN.sub("", text, count=1)
    lines = recalled(text, inputs.history) or conversion(asked)
    if lines is not None:
        return whole_plan([*filled(lines, {}), AS_IT_IS])
    found = first_match(_RULES, text) or first_match(_RULES, asked)
    for told in _told_before(text) if found is None else ():
        found = found or first_match(_RULES, told)
    return None if found is None else whole_plan([*filled(found[0].lines, found[1]), AS_IT_IS])


_BEFORE: Final = lazy_pattern(r"(?P<task>[^:\"'`]{3,80}[^\W\d_]):\s+(?P<what>\S.*)", re.DOTALL)
_POINTER: Final = lazy_pattern(
    r"\b(?:these|those|this|the following|the)(?P<noun> [^\W\d_]+)?(?=\s|$)", re.IGNORECASE
)


def _told_before(text: str) -> Iterator[str]:
    """The request "sort these words: b, a" with what stands behind the colon in its place."""
    if (found := _BEFORE.fullmatch(text)) is None:
        return
    task, what = found["task"], found["what"]
    pointers = [*_POINTER.finditer(task)]
    if not pointers:
        yield f"{task} {what}"
        return
    pointer = pointers[-1]
    before = task[: pointer.start()]
    yield f"{before}{what}{task[pointer.end() :]}"
    yield f"{before}{what}{pointer['noun'] or ''}{task[pointer.end() :]}"


# Files of a connected server: "read FILE", "list the files in FOLDER".

_READING: Final = lazy_pattern(
    r"(?:read|show|open|print|display|cat|view)(?: me)?(?: the)?(?: contents? of)?(?: the)?"
    r"(?: (?:text )?file)? (?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s\"'`]*[./~][^\s\"'`]*)",
    re.IGNORECASE,
)
_LISTING: Final = lazy_pattern(
    r"(?:(?:list|show)(?: me)?(?: all)?(?: of)?(?: the)? (?:files|contents?)|"
    r"(?:what|which) files are(?: there)?) (?:in|of|at|under)(?: the)?"
    r"(?: (?:folder|directory))? (?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s\"'`]+)"
    r"(?: (?:folder|directory))?",
    re.IGNORECASE,
)
_FILE_TOOLS: Final = (
    (_LISTING, ("list_directory", "list_files", "list_dir", "ls")),
    (_READING, ("read_text_file", "read_file", "get_file_contents", "view_file", "cat")),
)
"""Names that public servers give to such tools, the best first."""

_PATHS: Final = frozenset({"path", "file", "filename", "file_path", "directory", "dir", "folder"})


def file_call(text: str, tools: ToolCatalog) -> tuple[ToolSpec, dict[str, str]] | None:
    """The tool that a bare request needs, with its arguments; None without a tool, or a path."""
    for pattern, names in _FILE_TOOLS:
        if (found := pattern.fullmatch(text)) is None:
            continue
        for name in names:
            for tool in tools:
                needed = [p.name for p in tool.parameters if p.required]
                if tool.name == name and len(needed) == 1 and needed[0].lower() in _PATHS:
                    return tool, {needed[0]: found["path"].strip("\"'`")}
    return None


# Texts that came with the request.

_STAND_IN: Final = "\ue000"
"""Of private use (Unicode): no request holds it."""

_REFERENCE: Final = lazy_pattern(
    r"\b(?:(?:the|this|that|these|those|all|all the|all these) "
    r"(?:file|text|input|log|list|document|data|output|page|numbers?|values?|figures)"
    r"|this|that|these|those|it|them|stdin|standard input)\b",
    re.IGNORECASE,
)
_NUMBERS: Final = lazy_pattern(r"[-+]?\d+(?:\.\d+)?(?:[\s,;]+[-+]?\d+(?:\.\d+)?)*")
_NUMBERS_CHARACTERS_MAX: Final = 4_000


def write_plan_about_given(inputs: DecisionInputs) -> str | None:
    """A plan for a question about a text that came with the request; None for any other."""
    request = bare(inputs.user_input)
    if source := inputs.texts[0].source:
        request = request.replace(source, "this").replace('"this"', "this")
    if len(request) > QUESTION_CHARACTERS_MAX or _STAND_IN in request:
        return None
    about = literal(_STAND_IN)
    for text in (*_with_reference(request, f'"{_STAND_IN}"'), f'{request} in "{_STAND_IN}"'):
        found = first_match(TEXTS, text)
        if found is not None and about in found[1].values():
            name = inputs.texts[0].name
            named = {slot: name if value == about else value for slot, value in found[1].items()}
            return whole_plan([*filled(found[0].lines, named), AS_IT_IS])
    return None


def with_given_numbers(inputs: DecisionInputs) -> DecisionInputs | None:
    """The same with the numbers of the text in the request, where it holds nothing else."""
    listed = _numbers(inputs.texts[0])
    if listed is None:
        return None
    request = next(_with_reference(inputs.user_input, listed), None)
    return None if request is None else replace(inputs, user_input=request)


def _with_reference(request: str, what: str) -> Iterator[str]:
    """The request with `what` in the place of each word that may mean the text, the last first."""
    for found in reversed([*_REFERENCE.finditer(request)]):
        yield f"{request[: found.start()]}{what}{request[found.end() :]}"


def _numbers(given: TextInput) -> str | None:
    text = given.text.strip()
    if len(text) > _NUMBERS_CHARACTERS_MAX or not _NUMBERS.fullmatch(text):
        return None
    numbers = re.split(r"[\s,;]+", text)
    return ", ".join(numbers) if 1 < len(numbers) <= MAX_ITEMS else None
