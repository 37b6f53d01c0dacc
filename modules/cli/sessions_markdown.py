"""A session as markdown: its requests with their answers."""

from collections.abc import Sequence
from typing import Final

from core.base.clock import moment
from core.base.memory.exchanges import DatedExchange, dated_exchanges, title_of
from core.turn import MemoryItem

TAKEN_BACK: Final = " (taken back)"
"""Behind what counts no more."""


def session_markdown(session_id: str, items: Sequence[MemoryItem]) -> str:
    """All of it, what was taken back too; secrets are the caller's business."""
    parts = [f"# {title_of(items) or session_id}", f"Session `{session_id}`"]
    for each in dated_exchanges(items, with_undone=True):
        quoted = "\n".join(f"> {line}" for line in each.request.splitlines())
        parts += [f"## {asked_text(each)}", quoted, answer_text(each)]
    return "\n\n".join(parts)


def asked_text(each: DatedExchange) -> str:
    """When it was asked, and whether it was taken back."""
    return f"{moment(each.asked_at)}{TAKEN_BACK if each.undone else ''}"


def answer_text(each: DatedExchange) -> str:
    """The answer, or that there is none."""
    return "(no answer)" if each.answer is None else each.answer
