"""The harness of `make bench`: that what it prints is what it measured, and that failures show."""

import importlib.util
import re
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from modules.sandbox import SandboxLimits
from tests.benchmarks import environments, exhaustion, sandbox, stdlib_server
from tests.benchmarks.__main__ import MEASURES
from tests.benchmarks.contest import Contender, Contest, Outcome
from tests.benchmarks.drivers.attempts import Trial
from tests.benchmarks.drivers.turns import Batch, Order, Target
from tests.benchmarks.drivers.without_async import without_async
from tests.benchmarks.escapes import attack, is_about_coroutines
from tests.benchmarks.executors import (
    EXECUTORS,
    PLAIN_EXEC,
    TRIMMED_EXEC,
    Attacked,
    Executor,
)
from tests.benchmarks.peers import FLOORS, LANGCHAIN_DEFAULT, OURS, PEERS, SDK_CLIENT, YARDSTICK
from tests.benchmarks.plan_texts import ONE_CALL, dense_plans
from tests.benchmarks.processes import ProcessFailed
from tests.benchmarks.table import at_most
from tests.modules.sandbox.escapes.attempts import Attempt
from tests.modules.sandbox.heartbeat import BEAT_SECONDS, Heartbeat

EVERYONE = (OURS, YARDSTICK, SDK_CLIENT, *PEERS, LANGCHAIN_DEFAULT, *FLOORS, *sandbox.EXECUTORS)
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


def test_contenders_take_turns_and_each_call_of_a_turn_is_timed() -> None:
    seldom = replace(IN_A_LOOP, every=2, turn=(0, 1))
    outcomes = Contest((BLOCKING, seldom), TEXT_SERVER, text_of(0)).run(rounds=3)
    assert all(outcome.failure is None for outcome in outcomes.values())
    often, rare = outcomes[BLOCKING.name], outcomes[seldom.name]
    assert [len(batch.seconds) for batch in often.batches.values()] == [3, 3, 3]
    assert {number: len(batch.seconds) for number, batch in rare.batches.items()} == {0: 1, 2: 1}
    assert len(rare.ratios(often)) == 2


def test_a_wrong_result_is_a_failure_and_no_figure() -> None:
    contest = Contest((BLOCKING,), TEXT_SERVER, text_of(0, expected="something else"))
    outcome = contest.run(rounds=2)[BLOCKING.name]
    assert outcome.seconds == []
    assert outcome.failure is not None
    assert "text gave" in outcome.failure


def test_a_contender_that_does_not_start_costs_the_others_nothing() -> None:
    broken = Contender("broken", "tests.benchmarks.drivers.not_there")
    outcomes = Contest((broken, BLOCKING), TEXT_SERVER, text_of(0)).run(rounds=1)
    assert "not_there" in (outcomes["broken"].failure or "")
    assert len(outcomes[BLOCKING.name].seconds) == 3


def test_ratios_are_taken_within_rounds_so_that_a_busy_spell_cancels_out() -> None:
    yardstick = Outcome(YARDSTICK, {n: Batch([0.010 * n], 0.0) for n in (1, 2, 3)})
    ours = Outcome(OURS, {n: Batch([0.005 * n], 0.0) for n in (1, 2, 3, 4)})
    assert ours.ratios(yardstick) == pytest.approx([0.5, 0.5, 0.5])
    assert ours.ratio_text(yardstick) == "0.50 (0.50 … 0.50)"


@pytest.mark.parametrize("name", MEASURES)
def test_every_measurement_is_a_module(name: str) -> None:
    found = importlib.util.find_spec(f"tests.benchmarks.{name}")
    assert found is not None
    assert "\ndef measure(" in Path(str(found.origin)).read_text("utf-8")


def test_an_aim_is_held_against_the_figure_as_it_is_printed() -> None:
    assert at_most(0.904, 0.9) == "aim: at most 0.9: met"
    assert at_most(0.906, 0.9) == "aim: at most 0.9: MISSED"


def test_the_same_plan_gives_the_same_in_our_sandbox_and_in_others() -> None:
    ours, *_, floor = sandbox.EXECUTORS
    order = Order("plan", {"source": ONE_CALL}, "8888888", count=2, warm_up=1)
    outcomes = Contest((ours, floor), Target(), order).run(rounds=1)
    assert {name: outcome.failure for name, outcome in outcomes.items()} == {
        ours.name: None,
        floor.name: None,
    }


async def test_the_heartbeat_notices_what_blocks_the_loop() -> None:
    async with Heartbeat() as heart:
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
    assert 0.03 - BEAT_SECONDS <= heart.longest_gap_seconds < 1


def test_dense_plans_are_as_long_as_a_plan_may_be() -> None:
    size = SandboxLimits().source_bytes
    assert all(0.99 * size < len(plan) <= size for plan in dense_plans(size).values())


@pytest.mark.parametrize(
    ("source", "without"),
    [
        ("async def solve():\n    return await f(1)", "def solve():\n    return f(1)"),
        ("async def solve():\n    return f'{await f(1)}'", "def solve():\n    return f'{f(1)}'"),
        ("async with a:\n    [x async for x in b]", "with a:\n    [x for x in b]"),
        ("def solve():  # as it is\n    return  1", "def solve():  # as it is\n    return  1"),
        ("async def (", "async def ("),
    ],
)
def test_plans_without_async_stay_the_same_plans(source: str, without: str) -> None:
    assert without_async(source) == without


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda e: e.name)
def test_every_executor_has_a_driver_and_a_listed_environment(executor: Executor) -> None:
    assert importlib.util.find_spec(executor.driver[0]) is not None
    assert executor.environment in {"", *LISTED}


READ = Attempt("reading", "open", "file", "async def solve():\n    return open('@FILE@').read()")
TOUCH = "import os\ndef solve():\n    os.system('touch @MARKER@')"
SPAWN = Attempt("process", "run", "process", TOUCH)
TOOL = Attempt("tools", "add", "file", "async def solve():\n    return await add(1, 2)", True)


def test_what_gets_out_is_counted_and_what_is_held_is_not(tmp_path: Path) -> None:
    plain = attack(PLAIN_EXEC, [READ, SPAWN, TOOL], tmp_path)
    assert plain.ran == 2
    assert plain.by_proof == {"file": 1, "process": 1}
    trimmed = attack(TRIMMED_EXEC, [READ, SPAWN], tmp_path)
    assert (trimmed.ran, trimmed.escaped, trimmed.usual_plan) == (2, [], "")


def test_an_executor_that_runs_nothing_is_not_said_to_hold_anything(tmp_path: Path) -> None:
    refusing = Executor("refusing", ("tests.benchmarks.drivers.not_there",))
    with pytest.raises(ProcessFailed, match="not_there"):
        attack(refusing, [READ], tmp_path)


def test_only_a_plan_that_ends_by_itself_counts_as_contained(tmp_path: Path) -> None:
    bodies = {
        "return 1": True,
        "raise ValueError": True,
        "while True: pass": False,
        "x = [0] * 10**9": False,
        "import os; os.kill(os.getpid(), 9)": False,
    }
    place = environments.own_environment()
    with Attacked(PLAIN_EXEC, place, tmp_path, {}) as attacked:
        for body, contained in bodies.items():
            trial = Trial(f"def solve():\n    {body}", 0.5, exhaustion.MEMORY_BYTES)
            assert exhaustion.is_contained(attacked.run(trial)) == contained, body


def test_a_plan_that_takes_much_memory_is_not_contained_even_if_it_ends(tmp_path: Path) -> None:
    plan = "def solve():\n    return len(b'x' * 50_000_000)"
    place = environments.own_environment()
    with Attacked(PLAIN_EXEC, place, tmp_path, {}) as attacked:
        ending = attacked.run(Trial(plan, 5, exhaustion.MEMORY_BYTES))
    assert 45_000_000 < ending.grown_bytes < 60_000_000
    much = replace(ending, grown_bytes=exhaustion.GROWN_BYTES_MAX + 1)
    assert exhaustion.is_contained(ending)
    assert not exhaustion.is_contained(much)


def test_a_plan_that_ends_its_host_costs_later_ones_nothing(tmp_path: Path) -> None:
    place = environments.own_environment()
    killing = "import os\ndef solve():\n    os.kill(os.getppid(), 9)"
    with Attacked(PLAIN_EXEC, place, tmp_path, {}) as attacked:
        assert attacked.run(Trial(killing, 5, exhaustion.MEMORY_BYTES)).how == "died"
        later = attacked.run(Trial("def solve(): return 7", 5, exhaustion.MEMORY_BYTES))
    assert later.output.startswith("7")


def test_plans_about_coroutines_are_told_from_those_that_only_await() -> None:
    assert is_about_coroutines("async def f(): pass\ndef solve(): return f().cr_frame")
    assert is_about_coroutines("def solve(): return getattr(f(), 'ag_frame')")
    assert not is_about_coroutines("async def solve(): return await f()")


def test_the_exhaustion_table_has_plans_that_every_executor_could_run() -> None:
    assert len(exhaustion.plans(1)) >= 80
    assert len(exhaustion.plans()) == -(-len(exhaustion.plans(1)) // exhaustion.EVERY)
