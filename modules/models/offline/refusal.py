"""Why the offline planner wrote no plan, and the text that tells the user."""

from typing import Final

from core.base.text import one_line, sentence

EXCERPT_CHARACTERS: Final = 40
"""How much of the user's own text a message quotes."""

CONNECT: Final = (
    "Connect a model for it (agent.py models says how), or see what works without one: "
    "ask for `help`"
)

ABLE: Final = (
    "No model is connected; without one I do sums, units, dates, texts, your documents and tools "
    "by name."
)

MEND: Final = "Put that right and ask again: the offline planner knows no other way to do it."

UNSURE: Final = (
    "No sentence there plainly answers this. Whether these passages do, the offline planner "
    "can't tell."
)
CONNECT_TO_READ: Final = "A model can read them: agent.py models says how to connect one."


class Refusal(Exception):
    """The request can't be planned; `reason` is one sentence for the user, without full stop.

    `advice` says what to do, in a sentence; empty where a model is what it takes.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


class Misfit(Refusal):
    """A word stands where arithmetic has no such word: where there is no digit, it is none."""


class Beyond(Refusal):
    """The request asks for something of another kind; `reason` is the nearest thing it can do."""


class Decided(Refusal):
    """The request is understood and can't be answered: no tool is to be tried for it."""


class Ambiguous(Decided):
    """The request has more than one reading; which ones, says the reason."""


class Unsure(Refusal):
    """No sentence plainly answers; `reason` holds the passages that come nearest, in lines."""


class Exhausted(Refusal):
    """The request's plan failed and there is no other; the reason quotes the failure."""


def quoted(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """`text` on one line in double quotes: shortened, control characters replaced by spaces."""
    return f'"{one_line(text, limit)}"'


def explain(refusal: Refusal) -> str:
    """The whole message of a declined request: a line why, and a line what to do.

    The reason may quote the request or a server, so it is kept to printable characters.
    """
    if isinstance(refusal, Unsure):
        return f"{UNSURE}\n{_in_lines(refusal.reason)}\n{CONNECT_TO_READ}"
    if isinstance(refusal, Beyond):
        nearest = f"{sentence(one_line(refusal.reason))}\n" if refusal.reason else ""
        return f"{ABLE}\n{nearest}{CONNECT}"
    reason = sentence(one_line(refusal.reason))
    connect = MEND if isinstance(refusal, Exhausted) else CONNECT
    return f"No answer: {reason}\n{refusal.advice or connect}"


def _in_lines(text: str) -> str:
    return "\n".join(
        "".join(c if c.isprintable() else " " for c in line).rstrip() for line in text.splitlines()
    )
