"""Finds the plan in what a model replied, in whatever form it came.

Rules, the first that finds something counts:

1. Code that defines `solve`: in a fenced block, else among the prose.
2. Tool calls in the provider's own form.
3. Fenced Python without `solve`, then Python without fences: a function of another name, lines
   that stand alone, one expression.
4. Tool calls as JSON, fenced or not.
5. A text that says `FINAL_ANSWER:` or another verdict in plain prose.

What is made here is Python like any other: it is checked, repaired and run as if the model had
written it. Nothing is guessed: a reply that is only prose is no plan, and never an answer.
The replies of models to which the rules go back are in `tests/fixtures/model_replies`.
"""

import re
from collections.abc import Sequence
from typing import Final

from core.catalog import ToolCatalog
from core.ports import ModelReply
from core.turn import FINAL_ANSWER, NoPlan, Plan, PlanFailure
from modules.plans.code_blocks import read_block, with_helpers
from modules.plans.json_calls import json_calls
from modules.plans.loose_code import plan_of_code
from modules.plans.native_calls import plan_of_calls
from modules.plans.reply_text import (
    Block,
    answer_part,
    code_around_solve,
    code_lines,
    defines_solve,
    fenced_blocks,
)
from modules.sandbox.prelude import ENTRY_POINT

READ_CHARACTERS: Final = 4 * 1024
"""How much code without `solve`, or with helpers in other blocks, is looked at: parsing more would
hold up the event loop."""

CALL_CHARACTERS: Final = 500
"""How much may stand behind a verdict where a call of a tool is expected."""

SHOWN_CHARACTERS: Final = 400
"""How much of a reply without a plan its failure repeats."""

_VERDICT: Final = re.compile(
    r"^[ \t>*_`\"']{0,10}"
    r"(FINAL_ANSWER|FURTHER_PROCESSING_REQUIRED|CLARIFICATION_NEEDED)[*_`]{0,4}:[*_`]{0,4}",
    re.MULTILINE,
)

_PLACEHOLDER: Final = re.compile(
    r"\{[A-Za-z_][^{}\n]{0,60}\}|<(?:the |your )?(?:answer|result|value|number|text)[\w ]{0,40}>"
)
"""Stands in a sentence for a value that nobody has computed: `{product}`, `<answer>`."""

_CALLED: Final = re.compile(r"\b([A-Za-z_]\w{0,100})\(")
"""What is written like the call of a function."""


def find_plan(reply: ModelReply, tools: ToolCatalog) -> Plan | NoPlan:
    """The plan in a reply, or a failure that tells the model what to write.

    A reply is parsed only where it has no `solve`, or several blocks, and no more than some
    thousand characters of it, so that this takes some milliseconds.
    """
    text = answer_part(reply.text)
    blocks = fenced_blocks(text)
    source = (
        _with_solve(text, blocks, tools)
        or plan_of_calls(reply.tool_calls, tools)
        or _without_solve(text, blocks, tools)
        or plan_of_calls(json_calls(text, tools), tools)
        or (None if reply.truncated else _plan_of_verdict(text, tools))
    )
    return NoPlan(reply.text, _no_plan(reply, text)) if source is None else Plan(source)


def _with_solve(text: str, blocks: Sequence[Block], tools: ToolCatalog) -> str | None:
    """The code that defines `solve`: of several blocks the first that the reply closes.

    The first, because models that go on after their plan show how it is run, offer variants of it,
    or answer requests that nobody made. Blocks that define what it uses come with it.
    """
    with_solve = [block for block in blocks if block.has_solve]
    if not with_solve:
        bare = text.strip().strip("`")
        return (code_around_solve(bare) or None) if defines_solve(bare) else None
    chosen = next((block for block in with_solve if block.closed), with_solve[0])
    others = [block.text for block in blocks if block.may_be_python and not block.has_solve]
    if not others or sum(map(len, [chosen.text, *others])) > READ_CHARACTERS:
        return chosen.text
    return with_helpers(read_block(chosen.text), [*map(read_block, others)], tools)


def _without_solve(text: str, blocks: Sequence[Block], tools: ToolCatalog) -> str | None:
    """Code that has to be put into a `solve`, or is itself one under another name.

    Of several blocks the last that computes something, with what it needs of those before it:
    they are written like the cells of a notebook.
    """
    if not blocks:
        return _unfenced(text, tools)
    python = [block.text for block in blocks if block.may_be_python]
    if sum(map(len, python)) > READ_CHARACTERS:
        return None
    cells = [*map(read_block, python)]
    for index in reversed(range(len(cells))):
        code = with_helpers(cells[index], cells[:index], tools)
        if (source := plan_of_code(code, tools, alone=False)) is not None:
            return source
    return None


def _unfenced(text: str, tools: ToolCatalog) -> str | None:
    """The same where the reply is nothing but code, and where lines of it are."""
    bare = text.strip().strip("`").strip()
    for code in dict.fromkeys((bare, code_lines(text))):
        if 0 < len(code) <= READ_CHARACTERS:
            source = plan_of_code(code, tools, alone=True)
            if source is not None:
                return source
    return None


def _plan_of_verdict(text: str, tools: ToolCatalog) -> str | None:
    """A plan that returns what follows the first verdict at the beginning of a line.

    A call of a tool that follows it is made: `FINAL_ANSWER: remainder(1234567, 89)`. A text that
    tells what tools give, `cbrt(729) = 27`, is made up: none was called.
    """
    found = _VERDICT.search(text)
    if found is None:
        return None
    said = text[found.end() :].strip().strip("`").strip()
    if len(said) <= CALL_CHARACTERS:
        source = plan_of_code(said, tools, alone=True)
        if source is not None:
            return source
    pretends = any(tools.has_name(name) for name in _CALLED.findall(said))
    if not said or pretends or _PLACEHOLDER.search(said):
        return None
    return f"async def {ENTRY_POINT}():\n    return {f'{found[1]}: {said}'!r}"


def _no_plan(reply: ModelReply, text: str) -> PlanFailure:
    """What to write instead, and how the reply began."""
    shown = text.strip()[:SHOWN_CHARACTERS] or "(an empty reply)"
    cut = "; it was cut off at the limit of its length, so be brief" if reply.truncated else ""
    return PlanFailure(
        "no_plan",
        f"the reply held no plan{cut}; reply with one ```python block that defines "
        f'`async def {ENTRY_POINT}():` and returns "{FINAL_ANSWER} …"; it was: {shown}',
    )
