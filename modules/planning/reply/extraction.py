"""Finds the plan in what a model replied, in whatever form it came.

Rules, the first that finds something counts:

1. Code that defines `solve`: in a fenced block, else among the prose.
2. Tool calls in the provider's own form.
3. Fenced Python without `solve`, then Python without fences: a function of another name, lines
   that stand alone, one expression.
4. Tool calls as JSON, fenced or not.
5. A text that says `FINAL_ANSWER:` or another verdict in plain prose.

What follows such a verdict belongs to what it says: an answer may show code, or a document that
holds calls as JSON. It runs only if it is a plan, or Python that calls a tool.

What is made here is Python like any other: it is checked, repaired and run as if the model had
written it. Nothing is guessed: a reply that is only prose is no plan, and never an answer.
The replies of models to which the rules go back are in `tests/fixtures/model_replies`.
"""

import ast
import re
from collections.abc import Sequence
from typing import Final

from core.base.text import lazy_pattern
from core.ports import ModelReply
from core.tools.catalog import ToolCatalog
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING, NoPlan, Plan, PlanFailure
from modules.planning.names import FunctionNode
from modules.planning.reply.calls import json_calls, plan_of_calls
from modules.planning.reply.code import plan_of_code, read_block, with_helpers
from modules.planning.reply.text import (
    Block,
    answer_part,
    code_around_solve,
    code_lines,
    defines_solve,
    fenced_blocks,
)
from modules.sandbox.language.parsing import NotParsed, parse
from modules.sandbox.language.prelude import ENTRY_POINT

READ_CHARACTERS: Final = 4 * 1024
"""How much code without `solve`, or with helpers in other blocks, is looked at: parsing more would
hold up the event loop."""

CALL_CHARACTERS: Final = 500
"""How much may stand behind a verdict where a call of a tool is expected."""

SHOWN_CHARACTERS: Final = 400
"""How much of a reply without a plan its failure repeats."""

_FENCE_LINE: Final = lazy_pattern(r"^```[^`\n]*\n", re.MULTILINE)

_VERDICT: Final = lazy_pattern(
    r"^[ \t*_`]{0,10}(?P<quote>[\"']?)"
    r"(?P<word>FINAL_ANSWER|FURTHER_PROCESSING_REQUIRED|CLARIFICATION_NEEDED)"
    r"[*_`]{0,4}:[*_`]{0,4}",
    re.MULTILINE,
)
"""A line that begins with a verdict; behind a > it would be somebody else's, who is quoted."""

_FINAL_WORDS: Final = lazy_pattern(
    r"\A[\s*_`]{0,10}final answer[*_`]{0,4}:[*_`]{0,4}[ \t]*(?P<said>[^\n]+)\s*\Z", re.IGNORECASE
)
"""The verdict in words of the model's own, if the reply is that line and nothing else."""

_SHOWN: Final = lazy_pattern(r"```|~~~|[{\[]")
"""Begins what an answer may show: a block, JSON."""

_PLACEHOLDER: Final = lazy_pattern(
    r"\{[A-Za-z_][^{}\n]{0,60}\}|<(?:the |your )?(?:answer|result|value|number|text)[\w ]{0,40}>"
)
"""Stands in a sentence for a value that nobody has computed: `{product}`, `<answer>`."""

_GOES_ON: Final = FURTHER_PROCESSING.removesuffix(":")

_CALLED: Final = lazy_pattern(r"\b([A-Za-z_]\w{0,100})\(")
"""What is written like the call of a function."""


def find_plan(reply: ModelReply, tools: ToolCatalog) -> Plan | NoPlan:
    """The plan in a reply, or a failure that tells the model what to write.

    A reply is parsed only where it has no `solve`, or several blocks, and no more than some
    thousand characters of it, so that this takes some milliseconds.
    """
    if reply.truncated:
        return NoPlan(reply.text, _cut_off(reply))
    text = answer_part(reply.text)
    blocks = fenced_blocks(text)
    answers = _begins_with_answer(text)
    source = (
        _with_solve(text, blocks, tools)
        or plan_of_calls(reply.tool_calls, tools)
        or _without_solve(text, blocks, tools, must_call=answers)
        or (None if answers else plan_of_calls(json_calls(text, tools), tools))
        or _plan_of_verdict(text, tools)
    )
    return NoPlan(reply.text, _no_plan(reply, text)) if source is None else Plan(source)


def _with_solve(text: str, blocks: Sequence[Block], tools: ToolCatalog) -> str | None:
    """The code that defines `solve`: of several blocks the first that the reply closes.

    The whole, where that is Python with fences inside of its own texts. The first, because models
    that go on after their plan show how it is run, offer variants of it, or answer requests that
    nobody made. Blocks that define what it uses come with it.
    """
    with_solve = [block for block in blocks if block.has_solve]
    if with_solve and (whole := _with_fences_inside(text)) is not None:
        return whole
    if not with_solve:
        bare = text.strip().strip("`")
        return (code_around_solve(bare) or None) if defines_solve(bare) else None
    chosen = next((block for block in with_solve if block.closed), with_solve[0])
    others = [block.text for block in blocks if block.may_be_python and not block.has_solve]
    if not others or sum(map(len, [chosen.text, *others])) > READ_CHARACTERS:
        return chosen.text
    return with_helpers(read_block(chosen.text), [*map(read_block, others)], tools)


def _with_fences_inside(text: str) -> str | None:
    """A plan that shows code in what it returns, so that a fence in it isn't its end.

    What stands between two blocks is no Python, unless both are part of one plan.
    """
    first = _FENCE_LINE.search(text)
    fenced = text[first.end() : text.rfind("\n```")] if first is not None else ""
    candidates = (text.strip(), fenced)
    return next((code for code in candidates if "```" in code and _is_plan(code)), None)


def _is_plan(code: str) -> bool:
    """Whether it is Python that defines `solve` at its top level."""
    if len(code) > READ_CHARACTERS or not defines_solve(code):
        return False
    return any(isinstance(n, FunctionNode) and n.name == ENTRY_POINT for n in _statements(code))


def _statements(code: str) -> list[ast.stmt]:
    """The statements of a text; none where it is no Python."""
    try:
        return parse(code).body
    except (SyntaxError, NotParsed, RecursionError):
        return []


def _begins_with_answer(text: str) -> bool:
    """Whether a verdict that ends the step says something before any block or JSON begins."""
    found = _VERDICT.search(text)
    if found is None or found["word"] == _GOES_ON:
        return False
    shown = _SHOWN.search(text)
    said = text[found.end() : shown.start() if shown is not None else None]
    return any(map(str.isalnum, said))


def _without_solve(
    text: str, blocks: Sequence[Block], tools: ToolCatalog, *, must_call: bool
) -> str | None:
    """Code that has to be put into a `solve`, or is itself one under another name.

    With `must_call`, fenced code counts only if it calls a tool. Of several blocks the last that
    computes something, with what it needs of those before it: they are written like the cells of
    a notebook.
    """
    if not blocks:
        return _unfenced(text, tools)
    python = [block.text for block in blocks if block.may_be_python]
    if sum(map(len, python)) > READ_CHARACTERS:
        return None
    cells = [*map(read_block, python)]
    for index in reversed(range(len(cells))):
        code = with_helpers(cells[index], cells[:index], tools)
        if (source := plan_of_code(code, tools, alone=must_call)) is not None:
            return source
    return None


def _unfenced(text: str, tools: ToolCatalog) -> str | None:
    """The same where the reply is nothing but code, and where lines of it are.

    Only of lines that all look like code is it told why they don't parse.
    """
    bare, lines = text.strip().strip("`").strip(), code_lines(text)
    for code in dict.fromkeys((bare, lines)):
        if 0 < len(code) <= READ_CHARACTERS and (code == lines or _statements(code)):
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
        plain = _FINAL_WORDS.match(text)
        return _told(FINAL_ANSWER[:-1], plain["said"].strip(), tools) if plain else None
    after = _VERDICT.search(text, found.end())  # the same once more, or of a request made up
    word, said = found["word"], text[found.end() : after.start() if after is not None else None]
    if "`" in found.group() or said.count("```") % 2:  # it stands in a block or in backticks
        said = said.strip().strip("`")
    said = _unfenced_text(said.strip()).removesuffix(found["quote"] or "\n")
    if len(said) <= CALL_CHARACTERS:
        source = plan_of_code(said, tools, alone=True)
        if source is not None:
            return source
    return _told(word, said, tools)


def _told(word: str, said: str, tools: ToolCatalog) -> str | None:
    """A plan that returns a verdict; None for one that only pretends to know."""
    pretends = any(tools.has_name(name) for name in _CALLED.findall(said))
    if not said or pretends or _PLACEHOLDER.search(said):
        return None
    return f"async def {ENTRY_POINT}():\n    return {f'{word}: {said}'!r}"


def _unfenced_text(said: str) -> str:
    """What stands in the block that a text consists of; any other text as it is."""
    blocks = fenced_blocks(said)
    is_one = len(blocks) == 1 and said.startswith("```") and said.endswith("```")
    return blocks[0].text if is_one else said


def _cut_off(reply: ModelReply) -> PlanFailure:
    """Of a reply that goes on, nothing counts: what is missing may change what stands there."""
    tokens = f"{reply.usage.output_tokens:,} tokens" if reply.usage.output_tokens else "its limit"
    return PlanFailure(
        "cut",
        f"the reply was cut off at {tokens}, and nothing of it was run: be brief, think less, and "
        "write the plan alone",
        advice=reply.limit,
    )


def _no_plan(reply: ModelReply, text: str) -> PlanFailure:
    """What to write instead, and how the reply began."""
    shown = text.strip()[:SHOWN_CHARACTERS] or "(an empty reply)"
    return PlanFailure(
        "no_plan",
        f"the reply held no plan; reply with one ```python block that defines "
        f'`async def {ENTRY_POINT}():` and returns "{FINAL_ANSWER} …"; it was: {shown}',
    )
