"""A tool's record: its success rate, and when it is evidence."""

import pytest

from core.tools.record import UNKNOWN_RATE, ToolRecord


@pytest.mark.parametrize(
    ("calls", "successes", "rate"),
    [(0, 0, 0.5), (1, 1, 2 / 3), (1, 0, 1 / 3), (8, 8, 0.9), (98, 49, 0.5)],
)
def test_few_calls_say_little(calls: int, successes: int, rate: float) -> None:
    assert ToolRecord("a.b", calls, successes).success_rate == pytest.approx(rate)
    assert UNKNOWN_RATE == 0.5


@pytest.mark.parametrize(
    ("calls", "successes", "mostly"),
    [(4, 0, False), (5, 0, True), (5, 2, True), (5, 3, False), (6, 3, True), (0, 0, False)],
)
def test_a_tool_fails_mostly_where_at_most_half_of_five_calls_work(
    calls: int, successes: int, mostly: bool
) -> None:
    assert ToolRecord("a.b", calls, successes).fails_mostly is mostly
