"""Which memories come first: how well they fit, a little less the older they are; each once.

    score = fit * (1 - RECENT + RECENT * 2 ** (-age / HALF_LIFE))

Those that have all words of what is looked for come before those that only mean it. An old
exchange keeps `1 - RECENT` of its score, so that one that fits still comes before new ones
that hardly do; of those that fit alike, the newer comes first.
"""

from collections.abc import Iterable
from typing import Final

from core.base.frozen import frozen
from core.base.memory.indexed import PastExchange

HALF_LIFE_DAYS: Final = 90.0

RECENT: Final = 0.1
"""The share of the score that passes with time."""

WORD_CHARACTERS_MIN: Final = 3
"""Shorter words of what is looked for stand in every text."""

_DAY_SECONDS: Final = 86_400.0


@frozen
class Memory:
    """A past exchange that was found; the newest of `times` that say the same."""

    past: PastExchange
    score: float
    times: int = 1


@frozen
class Found:
    """Memories, best first, and what is to be said about the search."""

    memories: tuple[Memory, ...]
    notes: tuple[str, ...] = ()


def ranked(
    found: Iterable[tuple[PastExchange, float]], now: float, query: str = ""
) -> list[Memory]:
    """Exchanges with how well they fit, from 0 to 1, best first; `now` is Unix time in seconds.

    Those that have the words of the `query` go first.
    """
    words = [word for word in _plain(query).split() if len(word) >= WORD_CHARACTERS_MIN]
    by_text: dict[tuple[str, str], Memory] = {}
    for past, fit in found:
        memory = Memory(past, aged(fit, now - past.exchange.asked_at))
        said = _plain(past.exchange.request), _plain(past.exchange.answer or "")
        if (same := by_text.get(said)) is not None:
            newer = max(same.past, past, key=lambda each: each.exchange.asked_at)
            memory = Memory(newer, max(same.score, memory.score), same.times + 1)
        by_text[said] = memory
    lacking = {
        said for said in by_text if any(word not in f"{said[0]} {said[1]}" for word in words)
    }
    best = sorted(
        by_text.items(),
        key=lambda each: (
            each[0] in lacking,
            -each[1].score,
            -each[1].past.exchange.asked_at,
        ),
    )
    return [memory for _, memory in best]


def aged(fit: float, age_seconds: float) -> float:
    """The score of what fits so well and is so old."""
    half_lives = max(0.0, age_seconds) / _DAY_SECONDS / HALF_LIFE_DAYS
    return fit * (1 - RECENT + RECENT * 2.0**-half_lives)


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(" .?!")
