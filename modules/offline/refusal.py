"""Why the offline planner wrote no plan, and the text that tells the user."""

import re
from typing import Final

EXCERPT_CHARACTERS: Final = 40
"""How much of the user's own text a message quotes."""

ABILITIES: Final = (
    "It does arithmetic in symbols and words (roots, powers, percent, factorials, trigonometry,\n"
    "Fibonacci numbers, character codes, lists), quotes what your documents say, searches the\n"
    "web, sums up a page or quotes what it says, and calls a tool that you name with its arguments."
)
CONNECT: Final = "For anything else connect a model: set GEMINI_API_KEY or pass --model."


class Refusal(Exception):
    """The request can't be planned; `reason` is one sentence for the user, without full stop."""

    def __init__(self, reason: str) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


class Decided(Refusal):
    """The request is understood and can't be answered: no tool is to be tried for it."""


class Ambiguous(Decided):
    """The request has more than one reading; which ones, says the reason."""


class Exhausted(Refusal):
    """The request's plan failed and there is no other; the reason quotes the failure."""


def quoted(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """`text` on one line in double quotes: shortened, control characters replaced by spaces."""
    clean = _on_one_line(text[: limit * 4])
    if len(clean) > limit:
        clean = clean[: limit - 1].rstrip() + "…"
    return f'"{clean}"'


def explain(refusal: Refusal) -> str:
    """The whole message of a declined request: reason, abilities, how to connect a model.

    The reason may quote the request or a server, so it is kept to printable characters.
    """
    reason = _on_one_line(refusal.reason).rstrip(".")
    if isinstance(refusal, Exhausted):
        return f"The offline planner has no other plan. {reason}.\n{CONNECT}"
    return f"The offline planner wrote no plan: {reason}.\n{ABILITIES}\n{CONNECT}"


def _on_one_line(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"\s+", " ", printable).strip()
