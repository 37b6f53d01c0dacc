"""The harness of `make bench`: that what it prints is what it measured, and that failures show."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.benchmarks import environments, stdlib_server
from tests.benchmarks.contest import Contender, Contest, Outcome
from tests.benchmarks.drivers.turns import Batch, Order, Target
from tests.benchmarks.peers import FLOORS, LANGCHAIN_DEFAULT, OURS, PEERS, SDK_CLIENT, YARDSTICK
from tests.benchmarks.table import at_most

EVERYONE = (OURS, YARDSTICK, SDK_CLIENT, *PEERS, LANGCHAIN_DEFAULT, *FLOORS)
BLOCKING, IN_A_LOOP = FLOORS
LISTED: dict[str, list[str]] = tomllib.loads(environments.LIST.read_text("utf-8"))["environments"]
TEXT_SERVER = Target([sys.executable, str(Path(stdlib_server.__file__))])


def text_of(megabytes: int, expected: str = stdlib_server.END_OF_TEXT) -> Order:
    return Order("text", {"megabytes": megabytes}, expected, count=3, warm_up=1)


@pytest.mark.parametrize("name", LISTED)
def test_what_we_are_measured_against_is_pinned_to_one_version(name: str) -> None:
    assert all(re.fullmatch(r"[\w.\[\]-]+==[\w.]+", pin) for pin in LISTED[name])


@pytest.mark.parametrize("contender", EVERYONE, ids=lambda c: c.name)
def test_every_contender_has_a_driver_and_a_listed_environment(contender: Contender) -> None:
    assert importlib.util.find_spec(contender.driver) is not None
    assert contender.environment in {"", *LISTED}


async def test_contenders_take_turns_and_each_call_of_a_turn_is_timed() -> None:
    seldom = Contender(IN_A_LOOP.name, IN_A_LOOP.driver, every=2, turn=(0, 1))
    outcomes = await Contest((BLOCKING, seldom), TEXT_SERVER, text_of(0)).run(rounds=3)
    assert all(outcome.failure is None for outcome in outcomes.values())
    often, rare = outcomes[BLOCKING.name], outcomes[seldom.name]
    assert [len(batch.seconds) for batch in often.batches.values()] == [3, 3, 3]
    assert {number: len(batch.seconds) for number, batch in rare.batches.items()} == {0: 1, 2: 1}
    assert len(rare.ratios(often)) == 2


async def test_a_wrong_result_is_a_failure_and_no_figure() -> None:
    contest = Contest((BLOCKING,), TEXT_SERVER, text_of(0, expected="something else"))
    outcome = (await contest.run(rounds=2))[BLOCKING.name]
    assert outcome.seconds == []
    assert outcome.failure is not None
    assert "text gave" in outcome.failure


async def test_a_contender_that_does_not_start_costs_the_others_nothing() -> None:
    broken = Contender("broken", "tests.benchmarks.drivers.not_there")
    outcomes = await Contest((broken, BLOCKING), TEXT_SERVER, text_of(0)).run(rounds=1)
    assert "not_there" in (outcomes["broken"].failure or "")
    assert len(outcomes[BLOCKING.name].seconds) == 3


def test_ratios_are_taken_within_rounds_so_that_a_busy_spell_cancels_out() -> None:
    yardstick = Outcome(YARDSTICK, {n: Batch([0.010 * n], 0.0) for n in (1, 2, 3)})
    ours = Outcome(OURS, {n: Batch([0.005 * n], 0.0) for n in (1, 2, 3, 4)})
    assert ours.ratios(yardstick) == pytest.approx([0.5, 0.5, 0.5])
    assert ours.ratio_text(yardstick) == "0.50 (0.50 … 0.50)"


def test_an_aim_is_held_against_the_figure_as_it_is_printed() -> None:
    assert at_most(0.904, 0.9) == "aim: at most 0.9: met"
    assert at_most(0.906, 0.9) == "aim: at most 0.9: MISSED"
