"""The plan for an everyday request, from whichever table knows it."""

import re
from typing import Final

from core.ports import DecisionInputs
from core.tools.spec import ToolSpec
from modules.offline.everyday.dates import DATES
from modules.offline.everyday.files import file_call
from modules.offline.everyday.given import lines_about_given
from modules.offline.everyday.numbers import NUMBERS
from modules.offline.everyday.rule import first_match
from modules.offline.everyday.session import recalled
from modules.offline.everyday.texts import TEXTS
from modules.offline.everyday.units import conversion
from modules.offline.plan_source import AS_IT_IS, call_lines, filled, whole_plan
from modules.offline.quotes.asking import QUESTION_CHARACTERS_MAX, bare

_RULES: Final = (*NUMBERS, *TEXTS, *DATES)
_LEAD_IN: Final = re.compile(
    r"(?:what(?:['’]s| is| are| was)|how much (?:is|are)|calculate|compute|find|tell me|give me)"
    r"\s+",
    re.IGNORECASE,
)


def file_tool(request: str, inputs: DecisionInputs) -> ToolSpec | None:
    """The tool that the plan calls, if the request is about a file of a server."""
    found = file_call(bare(request), inputs.tools)
    return None if found is None else found[0]


def write_everyday_plan(inputs: DecisionInputs) -> str | None:
    """A plan for a request that a table knows as a whole; None for any other."""
    text = bare(inputs.user_input)
    if not text or len(text) > QUESTION_CHARACTERS_MAX:
        return None
    if (called := file_call(text, inputs.tools)) is not None:
        return whole_plan([*call_lines(inputs, called[0], called[1]), AS_IT_IS])
    asked = _LEAD_IN.sub("", text, count=1)
    lines = recalled(text, inputs.history) or conversion(asked)
    if lines is not None:
        return _plan(filled(lines, {}))
    found = first_match(_RULES, text) or first_match(_RULES, asked)
    return None if found is None else _plan(filled(found[0].lines, found[1]))


def write_plan_about_given(inputs: DecisionInputs) -> str | None:
    """A plan for a question about a text that came with the request; None for any other."""
    lines = lines_about_given(inputs)
    return None if lines is None else _plan(lines)


def _plan(lines: list[str]) -> str:
    return whole_plan([*lines, AS_IT_IS])
