"""What one step hands to the next: text that a tool gave, or what the user said when asked back."""

import ast
from collections.abc import Collection, Iterator, Sequence

from core.base.json_text import json_start
from core.provenance.borders import Borders
from core.tools.catalog import ToolCatalog
from core.turn import (
    COMPARED_CHARACTERS,
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    NO_ANSWER,
    ActionResult,
    FinalAnswer,
    FurtherProcessing,
    Plan,
    PlanFailed,
    PlanFailure,
    ToolCall,
)
from core.values import Json

OBSERVATION_CHARACTERS = 20_000
"""How much of a step's text the next step sees at most, about 5,000 tokens."""

MIN_OBSERVATION_CHARACTERS = 2_000
"""... and at least, however small the model's context is."""

PROMPT_TOKENS = 4_096
"""What the rest of a prompt, and the reply to it, are taken for."""

CHARACTERS_PER_TOKEN = 3
"""Cautiously: prose in English has four and more, other languages and tables fewer."""

ERROR_CHARACTERS_MIN = 8
"""Shorter words of a failed call may stand in a text by chance."""

SHORT_ANSWER_CHARACTERS = 500
"""Longest text that is taken for an answer where the plan doesn't say that it is one."""

QUESTION_CHARACTERS = 2_000
"""How much of a question that a plan asks back is shown and repeated in prompts."""

CALLS_TOLD = 10
"""How many calls the next step is told beside the text that it reads, the newest."""

CALL_VALUE_CHARACTERS = 200
"""How much of each one's arguments and of its result."""

_READ_BEFORE = (
    f"this text was read before and stands in the request above; return {FINAL_ANSWER} with "
    "what it says about the request, or get something else"
)
_ERROR_TO_READ = (
    f"{FURTHER_PROCESSING} is for text that a tool gave, and this is why a call failed: "
    "{error}; use other arguments or another tool, or return "
    f"{NO_ANSWER} with what can't be had and why"
)
_NOTHING_TO_READ = (
    f"{FURTHER_PROCESSING} is for text that a tool gave, and this plan called none; call a tool of "
    f"the list, compute with plain Python, or answer with {FINAL_ANSWER}"
)

NOBODY_TO_ASK = (
    "Nobody can be asked. Take the likeliest reading of the request, and say in the answer which "
    "one that is."
)
"""What a plan that asks back is told where no user is there."""


def observation_room(context_tokens: int | None) -> int:
    """How many characters of text a prompt has room for, beside all else in it."""
    if context_tokens is None:
        return OBSERVATION_CHARACTERS
    room = (context_tokens - PROMPT_TOKENS) * CHARACTERS_PER_TOKEN
    return max(MIN_OBSERVATION_CHARACTERS, min(room, OBSERVATION_CHARACTERS))


def shorten(text: str, room_characters: int) -> str:
    """The beginning of a text, with how much of it is missing."""
    left_out = len(text) - room_characters
    if left_out <= 0:
        return text
    return f"{text[:room_characters]}… [{left_out} more characters left out]"


def unread_text(result: PlanFailed) -> str | None:
    """The text that the plan's last call gave before the plan failed, if that is text to read.

    A text tool did its work then, and what failed was only what the plan made of it: the model
    can read the text itself.
    """
    if result.failure.kind == "tool":  # another call failed, and that is what to tell
        return None
    return _text_of_last(result.calls)


def _text_of_last(calls: Sequence[ToolCall]) -> str | None:
    last = calls[-1] if calls else None
    if last is None or not last.ok or not isinstance(last.result, str):
        return None
    text = last.result.strip()
    return text if " " in text or "\n" in text else None


def text_behind_answer(plan: Plan, result: FinalAnswer, tools: ToolCatalog) -> str | None:
    """The text that a plan's last call gave, if the plan's answer was written before it was read.

    That is so where calls only read and no line of the plan uses what they gave: the answer was
    there first, and says what the model expected to find.
    """
    found = (tools.lookup(call.tool) for call in result.calls)
    if not all(tool is not None and tool.read_only for tool in found) or _uses_results(plan):
        return None
    return _text_of_last(result.calls)


def _uses_results(plan: Plan) -> bool:
    """Whether a plan does anything with what its calls give, be it only that they may fail."""
    if len(plan.source) > COMPARED_CHARACTERS:
        return True
    try:
        nodes = [*ast.walk(ast.parse(plan.source))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    waiting = sum(isinstance(node, ast.Await) for node in nodes)
    kept: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(name)], ast.Await()):
                kept.add(name)
                waiting -= 1
            case ast.Expr(ast.Await()):
                waiting -= 1
            case ast.Try():
                return True
            case _:
                pass
    names = (node for node in nodes if isinstance(node, ast.Name))
    return waiting > 0 or any(n.id in kept and isinstance(n.ctx, ast.Load) for n in names)


def judge_text_to_read(
    result: FurtherProcessing,
    read: Collection[str],
    borders: Borders | None = None,
    *,
    may_be_kept: bool = False,
    shown: str = "",
    is_given: bool = False,
    errors: Sequence[str] = (),
) -> ActionResult:
    """What a plan's wish that a text be read amounts to.

    Text that was read before would make the next step this one again, and small models spend all
    steps so: it is a failure. So is the text of one of the `errors` of calls: who reads it as if
    it were found makes an answer up. A plan of which no call succeeded has no text of a tool. What
    a plan that called nothing wrote itself after something was read is the answer, under the wrong
    verdict; before that, it only puts its work off. With `may_be_kept` a long text may come from
    working memory instead, as the rest of one does of which the prompt had `shown` the beginning.
    With `is_given` it comes from a text that plans were given to read.
    """
    if result.text in read:
        return PlanFailed(PlanFailure("repeated", _READ_BEFORE), result.calls, result.found)
    if (error := _error_told(result, errors)) is not None:
        why = _ERROR_TO_READ.format(error=shorten(error, CALL_VALUE_CHARACTERS))
        return PlanFailed(PlanFailure("tool", why), result.calls, result.found)
    is_kept = may_be_kept and len(result.text) > SHORT_ANSWER_CHARACTERS
    has_text = any(call.ok for call in result.calls) or result.found or is_given
    if has_text or (is_kept and result.text not in shown):
        return result
    if result.calls:
        why = _ERROR_TO_READ.format(error=shorten(errors[-1], CALL_VALUE_CHARACTERS))
        return PlanFailed(PlanFailure("tool", why), result.calls)
    if not read:
        return PlanFailed(PlanFailure("no_verdict", _NOTHING_TO_READ))
    own = result.text if borders is None else borders.without(result.text)
    if not own or any(_repeats(own, text) for text in read):
        return PlanFailed(PlanFailure("repeated", _READ_BEFORE))
    return FinalAnswer(own)


def _error_told(result: FurtherProcessing, errors: Sequence[str]) -> str | None:
    """The error of a call that a text consists of; None where it tells something beside errors.

    That is what a call of the plan gave, or more than the errors themselves.
    """
    rest, told = result.text, None
    for error in sorted(errors, key=len, reverse=True):
        if len(error) >= ERROR_CHARACTERS_MIN and error in rest:
            rest, told = rest.replace(error, ""), told or error
    if told is None or 2 * len(rest.strip()) > len(result.text):
        return None
    gave = (text for call in result.calls if call.ok for text in values_told(call.result))
    return None if any(text in rest for text in gave) else told


def values_told(value: Json) -> Iterator[str]:
    """The texts and numbers in a value, as they stand in a text that a plan makes of it."""
    waiting: list[Json] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, dict):
            waiting += inner.values()
        elif inner is not None and (text := str(inner).strip()):
            yield text


def _repeats(text: str, read: str) -> bool:
    """Whether a text holds all of what was read, or is the greater part of it."""
    said, known = " ".join(text.split()), " ".join(read.split())
    return known in said or (len(said) * 2 > len(known) and said in known)


def calls_told(calls: Sequence[ToolCall], borders: Borders | None = None) -> str:
    """Calls that a failed plan made before it got the text that goes on; empty where none did.

    What they gave is of use, and some must not be made twice.
    """
    lines = [
        f"- {call.tool} {json_start(call.arguments, CALL_VALUE_CHARACTERS)} → "
        f"{json_start(call.result, CALL_VALUE_CHARACTERS)}"
        for call in calls
        if call.ok
    ]
    told = bordered("\n".join(dict.fromkeys(lines[-CALLS_TOLD:])), borders)
    return f"These calls are done; use their results, don't call again:\n{told}\n\n" if told else ""


def next_input(
    request: str,
    observation: str,
    done: str = "",
    borders: Borders | None = None,
    whole: str = "",
) -> str:
    """The next step's input: the request with the text that the last step found.

    `done` tells of calls beside it (`calls_told`). `borders` go around the text, where a page or
    the like may have had a hand in it. `whole` is where a plan finds a text that is not all there.
    """
    shown = f"this text, here shortened; a plan has all of it as {whole}" if whole else "this text"
    note = "" if borders is None else f" {borders.note}"
    return (
        f"An earlier step has read {shown}:{note}\n\n{bordered(observation, borders)}\n\n{done}"
        f"The request is: {request}"
    )


def bordered(text: str, borders: Borders | None) -> str:
    """The text between borders, where there are any; an empty one needs none."""
    return text if borders is None or not text else borders.around(text)


def clarified_input(request: str, question: str, answer: str | None) -> str:
    """The next step's input after a plan has asked back; `answer` None: nobody could be asked."""
    reply = NOBODY_TO_ASK if answer is None else f"The user answered: {answer}"
    return f"{request}\n\nYou asked back: {question}\n{reply}"
