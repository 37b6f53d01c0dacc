"""Which memories come first."""

import pytest

from core.base.memory.exchanges import DatedExchange
from core.base.memory.indexed import PastExchange
from servers.memory.ranking import HALF_LIFE_DAYS, RECENT, aged, ranked

NOW = 1_000 * 86_400.0


def past(request: str, days_ago: float, answer: str | None = "yes") -> PastExchange:
    return PastExchange("s", "", DatedExchange(NOW - days_ago * 86_400, request, answer))


def test_the_newer_of_two_that_fit_alike_comes_first() -> None:
    found = ranked([(past("old", 400), 0.8), (past("new", 2), 0.8)], NOW)
    assert [each.past.exchange.request for each in found] == ["new", "old"]


def test_an_old_one_that_fits_comes_before_a_new_one_that_hardly_does() -> None:
    found = ranked([(past("new", 0), 0.5), (past("old", 4_000), 0.9)], NOW)
    assert [each.past.exchange.request for each in found] == ["old", "new"]


def test_half_of_what_passes_has_passed_after_the_half_life() -> None:
    assert aged(1.0, 0.0) == 1.0
    assert aged(1.0, HALF_LIFE_DAYS * 86_400) == pytest.approx(1 - RECENT / 2)
    assert aged(1.0, 1e12) == 1 - RECENT
    assert aged(0.5, -1e12) == 0.5  # from a clock that went ahead


def test_what_was_asked_and_answered_alike_is_told_once_with_its_latest_date() -> None:
    again = past("Is the roof red", 1)
    found = ranked(
        [
            (past("is the roof red?", 9), 0.7),
            (again, 0.6),
            (past("is the  roof red?", 5), 0.5),
            (past("is the roof red?", 5, "no"), 0.4),
        ],
        NOW,
    )
    assert [(each.past, each.times) for each in found] == [
        (again, 3),
        (past("is the roof red?", 5, "no"), 1),
    ]
    assert found[0].score == aged(0.7, 9 * 86_400)


def test_what_has_the_words_comes_before_what_only_means_them() -> None:
    meant = (past("how much do I pay for the flat?", 1), 0.9)
    said = (past("when is the RENT due?", 400), 0.5)
    for query, first in (
        ("rent", said),
        ("the rent", said),
        ("rent of the flat", meant),
        ("", meant),
    ):
        found = ranked([meant, said], NOW, query)
        assert found[0].past == first[0], query
