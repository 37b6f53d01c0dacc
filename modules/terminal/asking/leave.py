"""The answer to a question for leave: yes, for once or longer, or no, with words for the model."""

import asyncio
from typing import Final

from core.asking import YES, Leave, LeaveQuestion
from core.provenance.rules import RuleError, read_rule
from modules.terminal.asking.dialogue import Declined, Dialogue
from modules.terminal.asking.file_changes import FileChange
from modules.terminal.asking.forms import Unfit, typed
from modules.terminal.asking.quoting import (
    keys,
    leave_text,
    prompt_line,
    rules_text,
)

_NO: Final = frozenset({"", "n", "no"})
_LASTING: Final = {"a": Leave("session"), "A": Leave("always"), "always": Leave("always")}


async def leave_given(
    dialogue: Dialogue, question: LeaveQuestion, change: FileChange | None
) -> Leave:
    """Show the calls and why they are asked about, once, and give the answer; Enter alone is no.

    Raises:
        Declined, Cancelled: nothing is.
    """
    folded, whole = [  # a difference takes up to half a second
        await asyncio.to_thread(leave_text, question, change, is_whole=each)
        for each in (False, True)
    ]
    may_unfold = folded != whole
    dialogue.write(folded + _keys(question, may_unfold))
    while True:
        answer = await typed(dialogue, _prompt(question, may_unfold), _meant)
        if isinstance(answer, Leave):
            return answer
        if answer == "s":
            may_unfold = False
            dialogue.write(whole + _keys(question, may_unfold))
        elif answer == "o" and len(question.calls) > 1:
            return await _one_by_one(dialogue, question)
        elif answer == "e":
            return await _edited(dialogue, question)


async def _one_by_one(dialogue: Dialogue, question: LeaveQuestion) -> Leave:
    """A yes for those of the calls that get one."""
    allowed: set[int] = set()
    for number, call in enumerate(question.calls):
        single = LeaveQuestion((call,), (), ())
        dialogue.write(leave_text(single, None, is_whole=False))
        prompt = prompt_line(f"Allow call {number + 1} of {len(question.calls)}?", "y/N")
        answer = await typed(dialogue, prompt, lambda line: line.strip().lower() in YES)
        if answer:
            allowed.add(number)
    return Leave("once" if allowed else "no", only=frozenset(allowed))


async def _edited(dialogue: Dialogue, question: LeaveQuestion) -> Leave:
    """The calls are allowed, and so is from now on what the rule that is typed covers."""
    tool = question.tool

    def rule(line: str) -> str:
        try:
            read = read_rule(line.strip())
        except RuleError as error:
            raise Unfit(str(error)) from None
        if read.tool not in (tool, tool.partition(".")[2]):
            raise Unfit(f"the rule is for {read.tool}; write one for {tool}")
        return str(read)

    written = await typed(dialogue, prompt_line("The rule", ""), rule)
    holds = await typed(
        dialogue,
        prompt_line("Keep it for this session, or always?", "a/A"),
        lambda line: _LASTING.get(line.strip() or "a"),
    )
    return Leave("session" if holds is None else holds.holds, rule=written)


def _keys(question: LeaveQuestion, may_unfold: bool) -> str:
    """What may be typed, and what an answer for longer keeps."""
    several = len(question.calls) > 1
    meanings = [f"y: yes, once{', to all of them' if several else ''}", "n or Enter: no"]
    meanings += ["o: one by one"] if several else []
    meanings += ["other words: no, and the model reads them"]
    meanings += ["s: show all"] if may_unfold else []
    lasting = ["a: yes in this session, A: yes always, by the rule below", "e: by another rule"]
    rules = rules_text(question.rules) if question.rules else ""
    return keys(*meanings) + (keys(*lasting) + rules if rules else keys(lasting[1]))


def _prompt(question: LeaveQuestion, may_unfold: bool) -> str:
    several = len(question.calls) > 1
    choices = ["y", "N", *(["o"] if several else []), *(["a", "A"] if question.rules else [])]
    choices += ["e", *(["s"] if may_unfold else [])]
    return prompt_line("Allow them?" if several else "Allow it?", "/".join(choices))


def _meant(line: str) -> Leave | str:
    """The answer that a line is, or the key of something else to do."""
    word = line.strip()
    if word == "!d":
        raise Declined
    if word in ("s", "o", "e"):
        return word
    if (lasting := _LASTING.get(word)) is not None:
        return lasting
    first = word.lower().partition(" ")[0].rstrip(",.!")
    if word.lower() in YES:
        return Leave("once")
    if word.lower() in _NO:
        return Leave("no")
    if len(word) == 1 or first in YES:
        raise Unfit("expected: y, n, a, A, e, or some words of a no")
    return Leave("no", word)
