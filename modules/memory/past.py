"""What a prompt is told of the past, within its room: of this session, and of earlier ones."""

from collections.abc import Sequence
from dataclasses import replace

from core.base.frozen import frozen
from core.ports import ModelTraits
from core.run.observation import shorten
from core.strategy import CHARACTERS_PER_TOKEN
from core.turn import Exchange

CONTEXT_SHARE = 4
"""At most one part in so many of a model's context is about the past."""

CUT_NOTE_CHARACTERS = 50
"""Room for the statement of what was cut off."""

MARKS_CHARACTERS = 24
"""What stands around a request, its calls and its answer."""


@frozen
class Past:
    """What is told.

    `summary` stands for the first `summarised` exchanges of the session, `turns` are the newest,
    oldest first; `left_out` of those between are told of nowhere. `facts` are what the user has
    stated, `kept` those of them that the request itself states, and `memories` are passages of
    earlier sessions, with their date and session.
    """

    turns: tuple[Exchange, ...] = ()
    summary: str = ""
    summarised: int = 0
    left_out: int = 0
    facts: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


NOTHING_PAST = Past()


def room_characters(prompt_tokens: int, traits: ModelTraits) -> int:
    """How many characters are told of the past.

    Tokens are as long as the model's own tokenizer made them in the prompts that it has read;
    before the first, 4 characters are taken for one.
    """
    if traits.context_tokens is not None:
        prompt_tokens = min(prompt_tokens, traits.context_tokens // CONTEXT_SHARE)
    return int(prompt_tokens * (traits.characters_per_token or CHARACTERS_PER_TOKEN))


def newest_within(history: Sequence[Exchange], room: int) -> tuple[Exchange, ...]:
    """The newest exchanges that fit, oldest first.

    The last is always there, without the end of what is too long.
    """
    kept: list[Exchange] = []
    for exchange in reversed(history):
        size = exchange_characters(exchange)
        if size > room:
            if not kept:
                kept.append(_cut(exchange, room))
            break
        room -= size
        kept.append(exchange)
    return tuple(reversed(kept))


def exchange_characters(exchange: Exchange) -> int:
    """How much of the room an exchange takes."""
    said = (exchange.request, exchange.answer or "", *exchange.calls)
    return sum(map(len, said)) + MARKS_CHARACTERS


def _cut(exchange: Exchange, room: int) -> Exchange:
    """The exchange with the end of its request, or of its answer, or of both left out."""
    room = max(room - MARKS_CHARACTERS - 2 * CUT_NOTE_CHARACTERS, 0)
    request = shorten(exchange.request, max(room // 2, room - len(exchange.answer or "")))
    if exchange.answer is None:
        return replace(exchange, request=request, calls=())
    return Exchange(request, shorten(exchange.answer, max(room - len(request), 0)))
