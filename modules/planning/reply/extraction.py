"""Finds the plan in what a model replied, in whatever form it came.

Rules, the first that finds something counts:

1. Code that defines `solve`: in a fenced block, else among the prose.
2. Tool calls in the provider's own form.
3. Calls and answers in the forms of model families (`modules.planning.reply.forms`).
4. Fenced Python without `solve`, then Python without fences: a function of another name, lines
   that stand alone, one expression.
5. Tool calls as JSON, fenced or not.
6. A text that says `FINAL_ANSWER:` or another verdict in plain prose.

What follows such a verdict belongs to what it says: an answer may show code, or a document that
holds calls as JSON. It runs only if it is a plan, or Python that calls a tool.

Only what the model says itself counts (`modules.planning.reply.own_words`): no quote, no report of
what others wrote, nothing before a refusal, no block in another language, nothing that it thought,
and nothing of a reply that was cut off. Of two plans none is chosen: the model is asked which.

What is made here is Python like any other: it is checked, repaired and run as if the model had
written it. Nothing is guessed: a reply that is only prose is no plan. It may be an answer, which
the loop asks for.
The replies of models to which the rules go back are in `tests/fixtures/model_replies`.
"""

import ast
import re
from collections.abc import Sequence
from typing import Final

from core.base.text import lazy_pattern
from core.ports import ModelReply, NativeToolCall
from core.tools.catalog import ToolCatalog
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING, NoPlan, Plan, PlanFailure
from core.values import JsonObject
from modules.planning.names import FunctionNode
from modules.planning.reply.calls import json_calls, plan_of_calls
from modules.planning.reply.code import plan_of_code, read_block, with_helpers
from modules.planning.reply.forms import (
    answer_in_json,
    calls_in_forms,
    code_in_json,
    means_to_call,
    mended_objects,
)
from modules.planning.reply.own_words import (
    LOOKED_CHARACTERS,
    declines,
    is_refused,
    is_reported,
    without_quoted_lines,
)
from modules.planning.reply.text import (
    Block,
    answer_part,
    code_around_solve,
    code_lines,
    defines_solve,
    fenced_blocks,
)
from modules.sandbox.language import ENTRY_POINT, NotParsed, parse
from modules.tools import json_containers

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
    r"(?P<word>FINAL_ANSWER|FURTHER_PROCESSING_REQUIRED|CLARIFICATION_NEEDED|NO_ANSWER)"
    r"[*_`]{0,4}:[*_`]{0,4}",
    re.MULTILINE,
)
"""A line that begins with a verdict; behind a > it would be somebody else's, who is quoted."""

_FINAL_WORDS: Final = lazy_pattern(
    r"\A\s*+(?:thought:[^\n]*+\n++(?:(?!action\b|observation\b|\W*final)[^\n]*+\n++){0,20})?"
    r"[\s*_`#]{0,10}final answer[*_`]{0,4}:[*_`]{0,4}\s*+"
    r"(?P<said>(?:(?!\W{0,10}(?:further processing|clarification|action|observation)\b)"
    r"[^\n]*+(?:\n|\Z)){1,3000}+)\Z",
    re.IGNORECASE,
)
"""The verdict in words of the model's own, if the reply is that and no more than a thought of
ReAct's before it."""

_SHOWN: Final = lazy_pattern(r"```|~~~|[{\[]")
"""Begins what an answer may show: a block, JSON."""

_PLACEHOLDER: Final = lazy_pattern(
    r"\{[A-Za-z_][^{}\n]{0,60}\}|<(?:the |your )?(?:answer|result|value|number|text)[\w ]{0,40}>"
)
"""Stands in a sentence for a value that nobody has computed: `{product}`, `<answer>`."""

_GOES_ON: Final = FURTHER_PROCESSING.removesuffix(":")

_ASKED_FOR: Final = (
    f"reply with one ```python block that defines `async def {ENTRY_POINT}():` and returns "
    f'"{FINAL_ANSWER} …"'
)

_SEVERAL: Final = (
    "the reply held {number} plans, and none was run: which one counts? Write it alone"
)

_REPORTED_ALONE: Final = (
    "the only code of the reply stands in what it quotes, reports or refuses, and was not run; if "
    "it is your own plan, write it alone"
)

_TEMPLATE_MARKS: Final = lazy_pattern(
    r"(?:<\|(?:im_end|im_start|eot_id|eom_id|endoftext|return|end|assistant|START_RESPONSE"
    r"|END_RESPONSE|end_of_text)\|>|</s>|<end_of_turn>|<start_of_turn>|<｜end▁of▁sentence｜>"
    r"|\[/?INST\]|\[END FINAL RESPONSE\])"
)
"""Marks of chats' templates, which a server should have taken out."""

_WRAPPED: Final = lazy_pattern(
    r"\A\s*<(?P<tag>final_answer|answer|response|reply|output|final|code|plan|solution|execute"
    r"|execute_python|python)>(?P<said>.*)</(?P=tag)>\s*\Z",
    re.DOTALL | re.IGNORECASE,
)

_FORM_BEGINS: Final = lazy_pattern(
    r"<[\w|｜]|\[TOOL_CALLS\]|✿|^>>>|^[ \t*]*Action|\A\s*\w+\s*\{", re.MULTILINE
)

FORM_CHARACTERS: Final = 16 * 1024
"""How much of a reply is searched for the forms of model families."""

_CALLED: Final = lazy_pattern(r"\b([A-Za-z_]\w{0,100})\(")
"""What is written like the call of a function."""


class _NotOne(Exception):
    """There are several plans, or the only one is not the model's own; says what to do."""


def find_plan(reply: ModelReply, tools: ToolCatalog) -> Plan | NoPlan:
    """The plan in a reply, or a failure that tells the model what to write.

    A reply is parsed only where it has no `solve`, or several blocks, and no more than some
    thousand characters of it, so that this takes some milliseconds.
    """
    if reply.truncated:
        return NoPlan(reply.text, _cut_off(reply))
    text = _unwrapped(answer_part(reply.text))
    try:
        source = _source(text, reply.tool_calls, tools)
    except _NotOne as problem:
        return NoPlan(reply.text, PlanFailure("no_plan", f"{problem}; {_ASKED_FOR}"))
    if source is not None:
        return Plan(source)
    answer = _prose(text, tools)
    refuses = answer is not None and declines(answer)
    return NoPlan(reply.text, _no_plan(reply, text, answer), answer, refuses)


def _source(text: str, calls: Sequence[NativeToolCall], tools: ToolCatalog) -> str | None:
    """The plan in a text and the calls beside it, by the first rule that finds one."""
    own = without_quoted_lines(text)
    blocks = fenced_blocks(own)
    answers = _begins_with_answer(text)
    own_blocks = [block for block in blocks if not _is_others(block)]
    source = _with_solve(own, own_blocks, tools) or plan_of_calls(calls, tools)
    if source is None and not answers:
        source = _of_form(_without_others(own, blocks, own_blocks), tools)
    source = source or _without_solve(own, own_blocks, blocks, tools, must_call=answers)
    if source is None and not answers:
        rest = _without_others(own, blocks, own_blocks)
        source = plan_of_calls(json_calls(rest, tools), tools)
    source = source or _plan_of_verdict(text, tools)
    if source is None and len(own_blocks) < len(blocks) and not _prose_beside(text):
        raise _NotOne(_REPORTED_ALONE)
    return source


def _is_others(block: Block) -> bool:
    return is_reported(block.before) or is_refused(block.after)


def _without_others(text: str, blocks: Sequence[Block], own: Sequence[Block]) -> str:
    """The text without the blocks that are not the model's own."""
    for block in blocks:
        if block not in own:
            text = text.replace(block.text, "", 1)
    return text


def _of_form(text: str, tools: ToolCatalog) -> str | None:
    """The plan of what is written in a form of a model family, or in JSON that is no call."""
    searched = text[:FORM_CHARACTERS]
    if (calls := calls_in_forms(searched, tools)) and not _is_foreign(searched):
        return plan_of_calls(calls, tools)
    value = _lone_object(text)
    if value is None:
        return None
    if (code := code_in_json(value)) is not None and (
        defines_solve(code) or not json_calls(text, tools)
    ):
        return code if defines_solve(code) else plan_of_code(code, tools, alone=False)
    said = answer_in_json(value, tools)
    return None if said is None else _told(FINAL_ANSWER[:-1], said, tools)


def _is_foreign(text: str) -> bool:
    """Whether calls in a text stand in a report or before a refusal."""
    first = _FORM_BEGINS.search(text)
    before = text[: first.start()] if first is not None else ""
    return is_reported(before) or (first is not None and is_refused(text[-LOOKED_CHARACTERS:]))


def _lone_object(text: str) -> JsonObject | None:
    """The JSON object that a text is, in a fence or not, or after a ReAct thought."""
    blocks = fenced_blocks(text)
    written = (
        blocks[0].text if len(blocks) == 1 and text.strip().startswith("```") else text.strip()
    )
    if not written.startswith("{"):
        return None
    found = [*json_containers(written, 1, len(written) + 1)] or [*mended_objects(written)]
    match found:
        case [(whole, dict() as value)] if len(whole) >= len(written):
            return value
        case _:
            return None


def _with_solve(text: str, blocks: Sequence[Block], tools: ToolCatalog) -> str | None:
    """The code that defines `solve`, with the blocks that define what it uses.

    Where that is Python with fences inside of its own texts, the whole. A block that was begun and
    not closed, or that is no Python, gives way to one that is whole.

    Raises:
        _NotOne: there are several that do not do the same.
    """
    with_solve = [block for block in blocks if block.has_solve and block.may_be_python]
    if (with_solve or not blocks) and (whole := _with_fences_inside(text)) is not None:
        return whole
    if not with_solve:
        return _solve_among_prose(text) if not blocks else None
    candidates = [block for block in with_solve if block.closed] or with_solve[:1]
    whole_ones = [block for block in candidates if _is_plan(block.text)]
    candidates = whole_ones or candidates[:1]
    first, *others = candidates
    if not all(Plan(first.text).is_same_as(Plan(other.text)) for other in others):
        raise _NotOne(_SEVERAL.format(number=len(candidates)))
    helpers = [block.text for block in blocks if block.may_be_python and not block.has_solve]
    if not helpers or sum(map(len, [first.text, *helpers])) > READ_CHARACTERS:
        return first.text
    return with_helpers(read_block(first.text), [*map(read_block, helpers)], tools)


def _solve_among_prose(text: str) -> str | None:
    """The code that defines `solve` in a text without fences."""
    bare = text.strip().strip("`")
    if not defines_solve(bare) or not (code := code_around_solve(bare)):
        return None
    before, head, after = bare.partition(code.split("\n", 1)[0])
    last = "\n".join(f"{head}{after}".split("\n")[code.count("\n") + 1 :])
    if is_reported(before) or is_refused(last):
        raise _NotOne(_REPORTED_ALONE)
    if defines_solve(last):
        raise _NotOne(_SEVERAL.format(number=2))
    return code


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
    text: str,
    blocks: Sequence[Block],
    all_blocks: Sequence[Block],
    tools: ToolCatalog,
    *,
    must_call: bool,
) -> str | None:
    """Code that has to be put into a `solve`, or is itself one under another name.

    With `must_call`, fenced code counts only if it calls a tool. Of several blocks the last that
    computes something, with what it needs of those before it: they are written like the cells of
    a notebook.

    Raises:
        _NotOne: several call tools, and none needs the other.
    """
    if not all_blocks:
        return _unfenced(text, tools)
    python = [block.text for block in blocks if block.may_be_python and not block.has_solve]
    if sum(map(len, python)) > READ_CHARACTERS:
        return None
    cells = [*map(read_block, python)]
    for index in reversed(range(len(cells))):
        code = with_helpers(cells[index], cells[:index], tools)
        if (source := plan_of_code(code, tools, alone=must_call)) is not None:
            others = [cell.text for cell in cells[:index] if cell.text not in code]
            rivals = [other for other in others if plan_of_code(other, tools, alone=True)]
            if rivals and plan_of_code(code, tools, alone=True) is not None:
                raise _NotOne(_SEVERAL.format(number=len(rivals) + 1))
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
    said = f"the reply was cut off at {tokens}, and nothing of it was run"
    message = f"{said}: be brief, think less, and write the plan alone"
    return PlanFailure("cut", message, advice=reply.limit, said=said)


def _prose(text: str, tools: ToolCatalog) -> str | None:
    """What a reply in words says; None where it means to call or pretends to have called."""
    said = text.strip()
    pretends = any(tools.has_name(name) for name in _CALLED.findall(said))
    if not any(map(str.isalnum, said)) or pretends or means_to_call(said):
        return None
    if _PLACEHOLDER.search(said) or _VERDICT.search(said):
        return None
    plain = _FINAL_WORDS.match(text)
    return plain["said"].strip() if plain is not None else said


def _prose_beside(text: str) -> bool:
    """Whether a verdict or an answer in words stands beside what others wrote."""
    return _VERDICT.search(text) is not None or declines(text.strip())


def _unwrapped(text: str) -> str:
    """A reply without the marks of a chat's template around it, or of an answer."""
    said = _TEMPLATE_MARKS.sub("", text)
    if (found := _WRAPPED.match(said)) is not None:
        said = found["said"].strip()
        if "answer" in found["tag"].lower() and not (means_to_call(said) or "```" in said):
            return said if _VERDICT.search(said) else f"{FINAL_ANSWER} {said}"
    return said


def _no_plan(reply: ModelReply, text: str, answer: str | None) -> PlanFailure:
    """What to write instead, and how the reply began."""
    shown = text.strip()[:SHOWN_CHARACTERS]
    if not shown:
        what = "only thought" if reply.thinking or reply.text.strip() else "was empty"
        message = f"the reply held no plan, it {what}; {_ASKED_FOR}"
        return PlanFailure("no_plan", message, said=f"the reply {what}")
    again = "" if answer is None else ", or say the same again if no tool is needed"
    message = f"the reply held no plan; {_ASKED_FOR}{again}; it was: {shown}"
    return PlanFailure("no_plan", message, said=f"the reply held no plan: {shown}")
