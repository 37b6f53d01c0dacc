"""What a prompt says of the past: this session's, and what earlier ones left."""

from core.provenance.borders import Borders, harmless
from modules.memory.past import Past

FIRST_REQUEST = "(this is the first request)"

FACTS = "The user has told before; heed it unless the request says otherwise:"
KEPT = "Of this request these facts are kept already; no plan needs to remember them:"
MEMORIES = "Found in earlier sessions by the words of the request; it may be out of date:"


def past_text(past: Past, borders: Borders | None) -> str:
    """The past in words, the session first: it only grows at its end from request to request.

    So the beginning of a prompt stays as it was, and services need not read it again. No borders
    stand in it, then: they differ from run to run, and models that read their own answers within
    borders write such answers. `borders` go around what earlier sessions found, as soon as this one
    is careful; what the user stated is the user's own.
    """
    parts = ["\n".join(_session_lines(past)), "\n".join(_fact_lines(past))]
    if past.memories:
        found = "\n".join(f"- {memory}" for memory in past.memories)
        told = found if borders is None else f"{borders.note}\n{borders.around(found)}"
        parts.append(f"{MEMORIES}\n{told}")
    return "\n\n".join(filter(None, parts))


def _session_lines(past: Past) -> list[str]:
    lines: list[str] = []
    if past.summary:
        head = f"Notes on the first {_requests(past.summarised)}"
        lines.append(f"{head}: {_within_its_lines(past.summary)}")
    if past.left_out:
        lines.append(f"({_requests(past.left_out)} left out here)")
    for exchange in past.turns:
        lines.append(f"User: {exchange.request}")
        if exchange.calls:
            lines.append(f"Calls: {_within_its_lines('; '.join(exchange.calls))}")
        answer = "(none)" if exchange.answer is None else exchange.answer
        lines.append(f"Answer: {_within_its_lines(answer)}")
    return lines or [FIRST_REQUEST]


def _fact_lines(past: Past) -> list[str]:
    lines = [FACTS, *(f"- {fact}" for fact in past.facts)] if past.facts else []
    if past.kept:
        lines += ["", KEPT] if lines else [KEPT]
        lines += [f"- {fact}" for fact in past.kept]
    return lines


def _within_its_lines(text: str) -> str:
    """A text that may repeat what a page said, so that no line of it looks like another's."""
    return harmless(text).replace("\n", "\n  ")


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"
