"""The answer to a doubt about a call: yes, for once or always, or no, with words for the model."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from core.provenance.asked import is_assent
from core.provenance.checks import Doubt
from core.provenance.guard import Leave
from core.provenance.permissions import Permission
from modules.terminal.asking.dialogue import Commanded, Declined, Dialogue
from modules.terminal.asking.file_changes import FileChange
from modules.terminal.asking.forms import Unfit, typed
from modules.terminal.asking.quoting import (
    keys,
    leave_text,
    prompt_line,
    target_text,
)

_ANSWERS: Final = {
    "y": Leave("once"), "yes": Leave("once"), "": Leave("no"), "n": Leave("no"), "no": Leave("no"),
}  # fmt: skip
_LASTING: Final = {"a": Leave("session"), "A": Leave("always"), "always": Leave("always")}


async def leave_given(
    dialogue: Dialogue,
    tool: str,
    doubts: Sequence[Doubt],
    always: Sequence[Permission],
    change: FileChange | None,
    is_command: Callable[[str], bool],
) -> Leave:
    """Show the call and why it is doubted, once, and give what is answered; Enter alone is no.

    Raises:
        Commanded: a command is typed.
        Declined, Cancelled: nothing is.
    """

    def meant(line: str) -> Leave | None:
        if is_command(line):
            raise Commanded(line)
        return _meant(line)

    folded, whole = [  # a difference takes up to half a second
        await asyncio.to_thread(leave_text, tool, doubts, change, is_whole=each)
        for each in (False, True)
    ]
    may_unfold = folded != whole
    dialogue.write(folded + _keys(always, may_unfold))
    while (answer := await typed(dialogue, _prompt(may_unfold), meant)) is None:
        may_unfold = False
        dialogue.write(whole + _keys(always, may_unfold))
    return answer


def _keys(always: Sequence[Permission], may_unfold: bool) -> str:
    """What may be typed, and how far an «always» reaches."""
    meanings = ["y: yes, once", "n or Enter: no", "other words: no, and the model reads them"]
    if may_unfold:
        meanings.append("s: show all")
    targets = " and ".join(dict.fromkeys(map(target_text, always)))
    meant = f"a: yes in this session, A: yes always, for {targets}"
    return keys(*meanings) + keys(meant)


def _prompt(may_unfold: bool) -> str:
    return prompt_line("Allow it?", "y/N/a/A/s" if may_unfold else "y/N/a/A")


def _meant(line: str) -> Leave | None:
    """The answer that a line is; None asks for more to be shown."""
    word = line.strip()
    if word == "!d":
        raise Declined
    if word == "s":
        return None
    if (answer := _LASTING.get(word) or _ANSWERS.get(word.lower())) is not None:
        return answer
    if len(word) == 1 or is_assent(word):
        raise Unfit("expected: y, n, a, A, or some words of a no")
    return Leave("no", word)
