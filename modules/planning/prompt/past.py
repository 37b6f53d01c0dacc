"""What a prompt says of the past: this session's, and what earlier ones left."""

from core.provenance.borders import Borders
from core.turn import Exchange
from modules.memory.past import Past

FIRST_REQUEST = "(this is the first request)"

FACTS = "The user has told before; heed it unless the request says otherwise:"
MEMORIES = "Found in earlier sessions by the words of the request; it may be out of date:"


def past_text(past: Past, borders: Borders | None) -> str:
    """The past in words; `borders` go around what may repeat what a page has said.

    What earlier sessions found is bordered as soon as this one is careful; what the user stated is
    the user's own.
    """
    parts = ["\n".join(_session_lines(past, borders))]
    if past.facts:
        parts.append("\n".join((FACTS, *(f"- {fact}" for fact in past.facts))))
    if past.memories:
        found = "\n".join(f"- {memory}" for memory in past.memories)
        parts.append(f"{MEMORIES}\n{found if borders is None else borders.around(found)}")
    if borders is not None and (past.summary or past.turns or past.memories):
        parts.insert(0, borders.note)
    return "\n\n".join(parts)


def _session_lines(past: Past, borders: Borders | None) -> list[str]:
    lines: list[str] = []
    if past.summary:
        summary = past.summary if borders is None else borders.within(past.summary)
        lines.append(f"Notes on the first {_requests(past.summarised)}: {summary}")
    if past.left_out:
        lines.append(f"({_requests(past.left_out)} left out here)")
    lines += [_turn_text(exchange, borders) for exchange in past.turns]
    return lines or [FIRST_REQUEST]


def _turn_text(exchange: Exchange, borders: Borders | None) -> str:
    answer = exchange.answer
    if answer is None:
        answer = "(none)"
    elif borders is not None:
        answer = borders.within(answer)
    return f"User: {exchange.request}\nAnswer: {answer}"


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"
