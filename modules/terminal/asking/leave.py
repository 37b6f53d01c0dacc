"""The answer to a question for leave: yes, for once or longer, or no, with words for the model."""

import asyncio
from collections.abc import Callable
from typing import Final

from core.asking import YES, Answer, Leave, LeaveQuestion, edited_rule, leave_of
from core.errors import UsageError
from modules.terminal.asking.dialogue import Commanded, Declined, Dialogue
from modules.terminal.asking.file_changes import FileChange
from modules.terminal.asking.forms import Unfit, typed
from modules.terminal.asking.quoting import (
    call_text,
    keys,
    leave_text,
    prompt_line,
    rules_text,
)

_KEYS: Final = {"a": "session", "A": "always"}
"""Answers that a key stands for."""

_EXPECTED: Final = "expected: y, n, a, A, e, or some words of a no"


async def leave_given(
    dialogue: Dialogue,
    question: LeaveQuestion,
    change: FileChange | None,
    is_command: Callable[[str], bool],
) -> Leave:
    """Show the calls and why they are asked about, once, and give the answer; Enter alone is no.

    Raises:
        Commanded: a command is typed.
        Declined, Cancelled: nothing is.
    """

    def meant(line: str) -> Leave | str:
        if is_command(line):
            raise Commanded(line)
        return _meant(question, line)

    folded, whole = [  # a difference takes up to half a second
        await asyncio.to_thread(leave_text, question, change, is_whole=each)
        for each in (False, True)
    ]
    may_unfold = folded != whole
    dialogue.write(folded + _keys(question, may_unfold))
    while True:
        answer = await typed(dialogue, _prompt(question, may_unfold), meant)
        if isinstance(answer, Leave):
            return answer
        if answer == "s":
            may_unfold = False
            dialogue.write(whole + _keys(question, may_unfold))
        elif answer == "o":
            return await _one_by_one(dialogue, question)
        elif answer == "e":
            return await _edited(dialogue, question)


async def _one_by_one(dialogue: Dialogue, question: LeaveQuestion) -> Leave:
    """A yes for those of the calls that get one."""
    allowed: set[int] = set()
    for number, call in enumerate(question.calls):
        dialogue.write(call_text(call, f"{number + 1}."))
        prompt = prompt_line(f"Allow call {number + 1} of {len(question.calls)}?", "y/N")
        if await typed(dialogue, prompt, _is_yes):
            allowed.add(number)
    return Leave("once" if allowed else "no", only=frozenset(allowed))


async def _edited(dialogue: Dialogue, question: LeaveQuestion) -> Leave:
    """The calls are allowed, and so is from now on what the rule that is typed covers."""

    def rule(line: str) -> str:
        try:
            return edited_rule(question.tool, line)
        except UsageError as error:
            raise Unfit(str(error)) from None

    begun = question.rules[0] if question.rules else question.tool
    written = await typed(dialogue, prompt_line("The rule:", ""), rule, begun=begun)
    prompt = prompt_line("Allow it by this rule?", "N/a/A")
    holds = await typed(dialogue, prompt, _lasting)
    if holds == "no":
        return Leave("no")
    return leave_of(question, Answer(holds, rule=written))


def _is_yes(line: str) -> bool:
    word = line.strip().lower()
    if word not in {"", "n", "no", *YES}:
        raise Unfit("expected: y or n")
    return word in YES


def _lasting(line: str) -> str:
    word = line.strip()
    if word.lower() in ("", "n", "no"):
        return "no"
    if word in ("session", "always"):
        return word
    if word not in _KEYS:
        raise Unfit("expected: a (this session), A (always) or n (no)")
    return _KEYS[word]


def _keys(question: LeaveQuestion, may_unfold: bool) -> str:
    """What may be typed, and what an answer for longer keeps."""
    several = len(question.calls) > 1
    meanings = ["y: yes, to all of them" if several else "y: yes, once", "n or Enter: no"]
    meanings += ["o: one by one"] if several else []
    meanings += ["other words: no, and the model reads them"]
    meanings += ["s: show all"] if may_unfold else []
    if not question.rules:
        return keys(*meanings, "e: by a rule that you write")
    lasting = "a: yes in this session, A: yes always, by the rule:"
    if len(question.rules) > 1:
        lasting = "a: yes in this session, A: yes always, by the rules:"
    return keys(*meanings, "e: edit the rule") + keys(lasting) + rules_text(question.rules)


def _prompt(question: LeaveQuestion, may_unfold: bool) -> str:
    several = len(question.calls) > 1
    choices = ["y", "N", *(["o"] if several else []), *(["a", "A"] if question.rules else [])]
    choices += ["e", *(["s"] if may_unfold else [])]
    return prompt_line("Allow them?" if several else "Allow it?", "/".join(choices))


def _meant(question: LeaveQuestion, line: str) -> Leave | str:
    """The answer that a line is, or the key of something else to do."""
    word = line.strip()
    if word == "!d":
        raise Declined
    if word in ("s", "e") or (word == "o" and len(question.calls) > 1):
        return word
    if len(word) == 1 and word.lower() not in ("y", "n", *_KEYS):
        raise Unfit(_EXPECTED)
    try:
        return leave_of(question, Answer(_KEYS.get(word, word)))
    except UsageError as error:
        raise Unfit(str(error)) from None
