"""What one step hands to the next: text that a tool gave, or what the user said when asked back."""

from collections.abc import Collection, Sequence

from core.base.json_text import json_start
from core.provenance.borders import Borders
from core.turn import (
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    ActionResult,
    FinalAnswer,
    FurtherProcessing,
    PlanFailed,
    PlanFailure,
    ToolCall,
)

OBSERVATION_CHARACTERS = 20_000
"""How much of a step's text the next step sees at most, about 5,000 tokens."""

MIN_OBSERVATION_CHARACTERS = 2_000
"""... and at least, however small the model's context is."""

PROMPT_TOKENS = 4_096
"""What the rest of a prompt, and the reply to it, are taken for."""

CHARACTERS_PER_TOKEN = 3
"""Cautiously: prose in English has four and more, other languages and tables fewer."""

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
    last = result.calls[-1] if result.calls else None
    if last is None or not last.ok or not isinstance(last.result, str):
        return None
    text = last.result.strip()
    return text if " " in text or "\n" in text else None


def judge_text_to_read(
    result: FurtherProcessing,
    read: Collection[str],
    borders: Borders | None = None,
    *,
    may_be_kept: bool = False,
    shown: str = "",
    is_given: bool = False,
) -> ActionResult:
    """What a plan's wish that a text be read amounts to.

    Text that was read before would make the next step this one again, and small models spend all
    steps so: it is a failure. A plan that called nothing has no text of a tool. What it wrote
    itself after something was read is the answer, under the wrong verdict; before that, it only
    puts its work off. With `may_be_kept` a long text may come from working memory instead, as the
    rest of one does of which the prompt had `shown` the beginning. With `is_given` it comes from a
    text that plans were given to read.
    """
    if result.text in read:
        return PlanFailed(PlanFailure("repeated", _READ_BEFORE), result.calls, result.found)
    is_kept = may_be_kept and len(result.text) > SHORT_ANSWER_CHARACTERS
    if result.calls or result.found or is_given or (is_kept and result.text not in shown):
        return result
    if not read:
        return PlanFailed(PlanFailure("no_verdict", _NOTHING_TO_READ))
    own = result.text if borders is None else borders.without(result.text)
    if not own or any(_repeats(own, text) for text in read):
        return PlanFailed(PlanFailure("repeated", _READ_BEFORE))
    return FinalAnswer(own)


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
        f"Original request: {request}\n\n"
        f"The last step produced {shown}:{note}\n\n{bordered(observation, borders)}\n\n{done}"
        "If it answers the request, return FINAL_ANSWER: with the answer in your own words; "
        "otherwise plan the next tool calls."
    )


def bordered(text: str, borders: Borders | None) -> str:
    """The text between borders, where there are any; an empty one needs none."""
    return text if borders is None or not text else borders.around(text)


def clarified_input(request: str, question: str, answer: str | None) -> str:
    """The next step's input after a plan has asked back; `answer` None: nobody could be asked."""
    reply = NOBODY_TO_ASK if answer is None else f"The user answered: {answer}"
    return f"{request}\n\nYou asked back: {question}\n{reply}"
