"""A made-up history of 200 sessions, and 100 questions about it.

The data are our own, written by hand (`history.toml`). `single` are exchanges that stand once, each
with a question in other words. `common` are exchanges that stand many times, about another thing
each time: a question names the thing, and must not be answered by the others. What is drawn is
drawn by a seed.
"""

import tomllib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from core.base.memory.exchanges import DatedExchange

DATA: Final = Path(__file__).parent / "history.toml"
SEED: Final = 16
SESSIONS: Final = 200
EXCHANGES: Final = 2_000
QUESTIONS: Final = 100
CHANGED: Final = 20
"""Requests that were asked twice, with another answer the second time."""

NOW: Final = 1_795_000_000.0
YEARS_SECONDS: Final = 2 * 365 * 86_400.0

_FIRST = (
    "Ada Ben Cem Dora Emil Fay Gita Hugo Ines Jon Kaya Liv Max Nora Otto Pia Quin Rosa Sam Tess"
)
_LAST = (
    "Abel Brandt Costa Dahl Ekman Fonseca Grau Holm Iyer Jansen Kovacs Lund Moretti Novak Okafor"
)
_PLACES = (
    "Aarhus Bergen Cadiz Delft Evora Fribourg Graz Haifa Izmir Jaca Kazan Leuven Malmo Nantes Oulu "
    "Porto Quito Riga Split Tartu Utrecht Verona Wroclaw Xanten York Zadar Accra Busan Cusco Davao "
    "Essen Faro Genoa Hobart Ibadan Jena Kyoto Lviv Medan Nairobi"
)
_KINDS = "red old small electric garden kitchen office second spare portable wooden heavy new blue"
_THINGS = (
    "lamp pump drill mower printer kettle heater scanner projector bicycle tent saw ladder radio "
    "camera freezer mixer fan keyboard speaker telescope grill toaster trailer canoe"
)


class Told(NamedTuple):
    """A request, its answer, and a question in other words that it answers."""

    request: str
    answer: str
    question: str


class Question(NamedTuple):
    """A question, and the request of the one exchange that answers it."""

    text: str
    request: str


class Changed(NamedTuple):
    """A question that two exchanges answer, of which the newer one counts."""

    text: str
    newer_answer: str


class History(NamedTuple):
    """Sessions by id, oldest first, and what is asked about them."""

    sessions: dict[str, list[DatedExchange]]
    questions: tuple[Question, ...]
    changed: tuple[Changed, ...]


def history(seed: int = SEED) -> History:
    """The same for the same seed."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    single, common = ([Told(**one) for one in data[kind]] for kind in ("single", "common"))
    chance = Random(seed)  # noqa: S311 - data, not secrets
    told = {one.request: one for one in single}
    while len(told) < EXCHANGES - CHANGED:
        made = _filled(chance.choice(common), chance)
        told.setdefault(made.request, made)
    alone = _alone([*told.values()][len(single) :])
    asked = chance.sample(alone, QUESTIONS - len(single))
    taken = {each.request for each in (*single, *asked)}
    again = chance.sample([one for one in told.values() if one.request not in taken], CHANGED)
    moments = {request: chance.random() for request in told}
    exchanges = [(moments[each.request], each.request, each.answer) for each in told.values()]
    changed: list[Changed] = []
    for one in again:
        before = moments[one.request]
        answer = f"It has changed: {chance.randint(100, 999)} now. {one.answer}"
        exchanges.append((before + (1 - before) * chance.uniform(0.3, 1), one.request, answer))
        changed.append(Changed(one.question, answer))
    exchanges.sort()
    size = EXCHANGES // SESSIONS
    sessions = {
        f"2026/01/01/session-{number}-{number:06}": [
            DatedExchange(NOW - (1 - moment) * YEARS_SECONDS, request, answer)
            for moment, request, answer in exchanges[number * size : (number + 1) * size]
        ]
        for number in range(SESSIONS)
    }
    questions = tuple(Question(each.question, each.request) for each in (*single, *asked))
    return History(sessions, questions, tuple(changed))


def _filled(template: Told, chance: Random) -> Told:
    values = {
        "place": chance.choice(_PLACES.split()),
        "name": f"{chance.choice(_FIRST.split())} {chance.choice(_LAST.split())}",
        "thing": f"{chance.choice(_KINDS.split())} {chance.choice(_THINGS.split())}",
        "n": str(chance.randint(3, 98)),
        "m": str(chance.randint(100, 999)),
    }
    return Told(*(part.format(**values) for part in template))


def _alone(every: list[Told]) -> list[Told]:
    """Those whose question no other answers."""
    times = Counter(each.question for each in every)
    return [each for each in every if times[each.question] == 1]
