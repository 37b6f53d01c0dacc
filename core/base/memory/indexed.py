"""A past exchange as a chunk of an index, and back: its words as text, all else as headings.

Written by the memory server, read by it and by whoever else looks into its index.
"""

from collections.abc import Sequence
from typing import Final

from core.base.frozen import frozen
from core.base.memory.exchanges import DatedExchange

INDEX_FOLDER: Final = "index"
"""In the memory folder; what it holds is made from the sessions."""

REQUEST_CHARACTERS_MAX: Final = 2_000
ANSWER_CHARACTERS_MAX: Final = 4_000
"""More of a request or an answer is neither found nor shown; the session's file has it all."""

TOOLS_MAX: Final = 20

_HEADINGS: Final = 5
_NO_ANSWER: Final = -1
_BETWEEN: Final = "\n\n"


@frozen
class PastExchange:
    """An exchange, and the session that it stood in; `title` is empty where that has none."""

    session_id: str
    title: str
    exchange: DatedExchange


def chunk_text(exchange: DatedExchange) -> str:
    """What is searched: the request, and the answer below it."""
    request = exchange.request[:REQUEST_CHARACTERS_MAX]
    if exchange.answer is None:
        return request
    return f"{request}{_BETWEEN}{exchange.answer[:ANSWER_CHARACTERS_MAX]}"


def chunk_headings(past: PastExchange) -> tuple[str, ...]:
    """All that is known of it besides; two exchanges have the same only if they are one."""
    asked, answer = past.exchange.request[:REQUEST_CHARACTERS_MAX], past.exchange.answer
    begin = _NO_ANSWER if answer is None else len(asked) + len(_BETWEEN)
    tools = " ".join(past.exchange.tools[:TOOLS_MAX])
    return past.session_id, repr(past.exchange.asked_at), str(begin), tools, past.title


def past_exchange(headings: Sequence[str], text: str) -> PastExchange | None:
    """The exchange that a chunk stands for; None if it stands for none."""
    if len(headings) != _HEADINGS:
        return None
    session_id, asked_at, begin, tools, title = headings
    try:
        place = int(begin)
        when = float(asked_at)
    except ValueError:
        return None
    request = text if place == _NO_ANSWER else text[: place - len(_BETWEEN)]
    answer = None if place == _NO_ANSWER else text[place:]
    exchange = DatedExchange(when, request, answer, tuple(tools.split()))
    return PastExchange(session_id, title, exchange)
