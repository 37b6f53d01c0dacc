"""Waits between tries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.timing import FIRST_WINDOW_SECONDS, LONGEST_WINDOW_SECONDS, Backoff


def longest_waits(failures: int) -> list[float]:
    backoff = Backoff(lambda: 1.0)
    waits: list[float] = []
    for _ in range(failures + 1):
        waits.append(backoff.seconds())
        backoff.failed()
    return waits


def test_the_window_begins_at_nothing_and_doubles_up_to_a_bound() -> None:
    waits = longest_waits(7)
    assert waits[:3] == [0.0, FIRST_WINDOW_SECONDS, 2 * FIRST_WINDOW_SECONDS]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WINDOW_SECONDS


@given(st.integers(0, 2000), st.floats(0, 1))
def test_every_wait_lies_in_its_window(failures: int, drawn: float) -> None:
    backoff = Backoff(lambda: drawn)
    for _ in range(failures):
        backoff.failed()
    window = longest_waits(min(failures, 10))[-1]
    assert backoff.seconds() == pytest.approx(drawn * window)
    backoff.reset()
    assert backoff.seconds() == 0.0
