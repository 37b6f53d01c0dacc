"""One server's share of the event loop."""

from core.mcp.budget import BURST_SECONDS, SHARE, SLICE_SECONDS, ReadingBudget


class Clocks:
    """Time that passes when it is told to; work takes of both clocks."""

    def __init__(self) -> None:
        self.now = 100.0
        self.cpu = 5.0

    def budget(self) -> ReadingBudget:
        return ReadingBudget(lambda: self.now, lambda: self.cpu)

    def work(self, budget: ReadingBudget, seconds: float) -> None:
        with budget:
            self.now += seconds
            self.cpu += seconds


def test_others_have_their_turn_after_a_slice_of_work() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    clocks.work(budget, SLICE_SECONDS / 2)
    assert not budget.is_turn_over
    clocks.work(budget, SLICE_SECONDS)
    assert budget.is_turn_over
    assert budget.end_turn() == 0
    assert not budget.is_turn_over


def test_a_server_may_take_a_burst_and_then_only_its_share_of_the_time() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    began_at, began_cpu = clocks.now, clocks.cpu
    while clocks.now < began_at + 60:
        clocks.work(budget, 0.05)
        clocks.now += budget.end_turn()
    took, passed = clocks.cpu - began_cpu, clocks.now - began_at
    assert SHARE * passed <= took <= SHARE * passed + BURST_SECONDS + 0.05


def test_time_without_messages_gives_the_burst_back_but_no_more() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    clocks.work(budget, 3 * BURST_SECONDS)
    assert budget.end_turn() > 0
    clocks.now += 3600
    assert budget.end_turn() == 0
    clocks.work(budget, 3 * BURST_SECONDS)
    assert budget.end_turn() > 0


def test_one_who_waits_for_the_processor_is_not_counted() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    with budget:
        clocks.now += 60
    assert not budget.is_turn_over
    assert budget.end_turn() == 0
