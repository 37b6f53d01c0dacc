"""The schedule of a task graph: order, bounds, failures, replanning, and its end."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TypedDict, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BudgetSpent, UsageError
from core.team.graph import Subtask, SubtaskState, TaskGraph
from core.team.schedule import (
    REPLANS_MAX,
    TRIES,
    GraphEvent,
    GraphOutcome,
    GraphRun,
    Replan,
    Replanned,
    Result,
    SubtaskChanged,
)
from tests.core.team.graphs import graph, random_graphs, subtask


class Options(TypedDict, total=False):
    """What a run may be given beside its graph."""

    replan: Replan
    max_parallel: int
    deadline_seconds: float


Work = Callable[[Subtask, int], Awaitable[Result]]


class Team:
    """Runs subtasks by `work`, and sees that nothing that may not happen does."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.asked: dict[str, str] = {}
        self.texts: dict[str, Mapping[str, str]] = {}
        self.running: set[str] = set()
        self.most_at_once = 0
        self.done: list[str] = []
        self.told: list[GraphEvent] = []

    async def __call__(
        self, subtask: Subtask, asked: str, texts: Mapping[str, str], attempt: int
    ) -> Result:
        assert subtask.id not in self.running, "it runs twice at the same time"
        assert subtask.id not in self.done, "it runs again, though it is done"
        assert {*subtask.dependencies} <= {*self.done}, "it runs before what it needs"
        self.asked[subtask.id], self.texts[subtask.id] = asked, texts
        self.running.add(subtask.id)
        self.most_at_once = max(self.most_at_once, len(self.running))
        try:
            result = await self.work(subtask, attempt)
        finally:
            self.running.discard(subtask.id)
        if result.ok:
            self.done.append(subtask.id)
        return result

    async def tell(self, event: GraphEvent) -> None:
        self.told.append(event)

    def states_of(self, id_: str) -> list[SubtaskState]:
        return [e.state for e in self.told if isinstance(e, SubtaskChanged) and e.subtask.id == id_]

    async def run(self, todo: TaskGraph, **options: Unpack[Options]) -> GraphOutcome:
        run = GraphRun(todo, self, self.tell, clock=itertools.count().__next__, **options)
        async with asyncio.timeout(20):
            return await run.run()


async def works(subtask: Subtask, attempt: int) -> Result:
    await asyncio.sleep(0)
    return Result(True, f"<{subtask.id}>")


def failing(*ids: str, times: int = 99) -> Work:
    """These fail so many times, the others work."""

    async def work(subtask: Subtask, attempt: int) -> Result:
        await asyncio.sleep(0)
        if subtask.id in ids and attempt <= times:
            return Result(False, f"{subtask.id} is broken")
        return Result(True, f"<{subtask.id}>")

    return work


DIAMOND = graph(
    subtask("a"),
    subtask("b", "use {{a}}"),
    subtask("c", "use {{a}}"),
    subtask("d", "join", "b", "c"),
)


async def test_each_runs_when_what_it_needs_is_there_and_gets_that_alone() -> None:
    team = Team(works)
    outcome = await team.run(DIAMOND)
    assert outcome.is_complete
    assert not outcome.stopped
    assert outcome.results["d"] == "<d>"
    assert team.most_at_once == 2
    assert team.asked["b"] == "use a"
    assert team.texts["b"] == {"a": "<a>"}
    assert team.texts["d"] == {"b": "<b>", "c": "<c>"}
    assert team.states_of("d") == ["ready", "running", "completed"]


async def test_no_more_run_at_once_than_may() -> None:
    team = Team(works)
    await team.run(graph(*(subtask(f"t{n}") for n in range(20))), max_parallel=3)
    assert team.most_at_once == 3


async def test_what_fails_is_tried_again() -> None:
    team = Team(failing("b", times=TRIES - 1))
    outcome = await team.run(DIAMOND)
    assert outcome.is_complete
    assert team.states_of("b").count("running") == TRIES
    assert outcome.attempts == {"a": 1, "b": TRIES, "c": 1, "d": 1}
    assert outcome.seconds.keys() == outcome.attempts.keys()
    assert all(outcome.seconds.values()), "each took a tick of the clock at least"


async def test_what_needs_a_failed_one_is_blocked_and_the_rest_goes_on() -> None:
    team = Team(failing("b"))
    outcome = await team.run(graph(*DIAMOND.subtasks, subtask("e")))
    assert outcome.states == {
        "a": "completed", "b": "failed", "c": "completed", "d": "blocked", "e": "completed",
    }  # fmt: skip
    assert outcome.reasons == {"b": "b is broken", "d": "it needs b, which failed"}
    assert not outcome.is_complete
    told = [e.text for e in team.told if isinstance(e, SubtaskChanged) and e.state == "blocked"]
    assert told == ["it needs b, which failed"]


async def test_a_critical_one_is_not_tried_again_and_ends_the_rest() -> None:
    waits = asyncio.Event()

    async def work(subtask: Subtask, attempt: int) -> Result:
        if subtask.id == "slow":
            await waits.wait()
        return Result(subtask.id != "key", subtask.id)

    team = Team(work)
    outcome = await team.run(
        graph(subtask("key", critical=True), subtask("slow"), subtask("last", "", "key", "slow"))
    )
    assert outcome.states == {"key": "failed", "slow": "cancelled", "last": "blocked"}
    assert outcome.stopped == "key failed, without which the rest is of no use: key"
    assert team.states_of("key").count("running") == 1
    assert team.running == set()


async def test_one_that_never_answers_costs_itself_alone() -> None:
    async def work(subtask: Subtask, attempt: int) -> Result:
        if subtask.id == "b":
            await asyncio.Event().wait()
        return Result(True, "x")

    outcome = await Team(work).run(DIAMOND, deadline_seconds=0.01)
    assert outcome.states["b"] == "failed"
    assert outcome.reasons["b"] == "no result within 0.01 s"
    assert outcome.states["c"] == "completed"


async def test_a_spent_budget_ends_all_and_keeps_what_is_done() -> None:
    async def work(subtask: Subtask, attempt: int) -> Result:
        await asyncio.sleep(0)
        if subtask.id == "c":
            raise BudgetSpent("the run may use no more than $0.10")
        return Result(True, "x")

    team = Team(work)
    outcome = await team.run(DIAMOND)
    assert outcome.stopped == "the run may use no more than $0.10"
    assert outcome.results["a"] == "x"
    assert outcome.states["d"] == "cancelled"
    assert team.running == set()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("odd"), "it met a bug of ours (KeyError: 'odd')"),
        (UsageError("there is no model 'deap'"), "there is no model 'deap'"),
    ],
)
async def test_what_a_subtask_raises_costs_it_alone(error: Exception, told: str) -> None:
    async def work(subtask: Subtask, attempt: int) -> Result:
        await asyncio.sleep(0)
        if subtask.id == "b":
            raise error
        return Result(True, "x")

    team = Team(work)
    outcome = await team.run(DIAMOND)
    assert outcome.states == {"a": "completed", "b": "failed", "c": "completed", "d": "blocked"}
    assert outcome.reasons["b"] == told
    assert team.states_of("b") == ["ready", "running", "failed"]
    assert team.running == set()


class Planner:
    """Plans anew by a list of graphs; None where it is at its end."""

    def __init__(self, *graphs: TaskGraph | None) -> None:
        self.graphs = [*graphs]
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    async def __call__(
        self, graph: TaskGraph, failed: Subtask, reason: str, done: Mapping[str, str]
    ) -> TaskGraph | None:
        self.asked.append((failed.id, reason, dict(done)))
        return self.graphs.pop(0) if self.graphs else None


async def test_the_failed_part_is_planned_anew_and_what_is_done_stays() -> None:
    other = graph(
        subtask("a", "changed, though it is done"),
        subtask("b2", "another way, from {{a}}"),
        subtask("c", "use {{a}}"),
        subtask("d", "join", "b2", "c"),
    )
    team, planner = Team(failing("b")), Planner(other)
    outcome = await team.run(DIAMOND, replan=planner)
    assert outcome.is_complete
    assert planner.asked[0][:2] == ("b", "b is broken")
    assert planner.asked[0][2]["a"] == "<a>"
    assert team.done.count("a") == 1
    assert outcome.graph["a"] == DIAMOND["a"]
    assert team.texts["d"] == {"b2": "<b2>", "c": "<c>"}
    assert sum(isinstance(event, Replanned) for event in team.told) == 1


async def test_a_graph_that_failed_is_not_tried_again_under_other_names() -> None:
    renamed = graph(
        subtask("a"), subtask("bb", "use {{a}}"), subtask("c", "use {{a}}"),
        subtask("d", "join", "bb", "c"),
    )  # fmt: skip
    team = Team(failing("b", "bb"))
    outcome = await team.run(DIAMOND, replan=Planner(renamed))
    assert outcome.states["b"] == "failed"
    assert "bb" not in outcome.states


async def test_planning_anew_that_never_ends_holds_up_nothing() -> None:
    async def replan(
        graph: TaskGraph, failed: Subtask, reason: str, done: Mapping[str, str]
    ) -> TaskGraph | None:
        return await asyncio.get_running_loop().create_future()

    outcome = await Team(failing("b")).run(DIAMOND, replan=replan, deadline_seconds=0.05)
    assert outcome.states == {"a": "completed", "b": "failed", "c": "completed", "d": "blocked"}


async def test_what_a_person_has_to_allow_is_not_planned_without_the_person() -> None:
    pays = Subtask("pay", "pay {{b}}", needs="approval")
    planner = Planner(
        graph(subtask("a"), subtask("b2", "from {{a}}"), subtask("pay", "pay {{b2}}"))
    )
    outcome = await Team(failing("b")).run(
        graph(subtask("a"), subtask("b", "use {{a}}"), pays), replan=planner
    )
    assert planner.asked == []
    assert outcome.states == {"a": "completed", "b": "failed", "pay": "blocked"}


async def test_planning_anew_comes_to_an_end() -> None:
    graphs = [graph(subtask(f"b{n}", f"way {n}", critical=True)) for n in range(REPLANS_MAX + 5)]
    planner = Planner(*graphs[1:])
    outcome = await Team(failing(*(f"b{n}" for n in range(99)))).run(graphs[0], replan=planner)
    assert len(planner.asked) == REPLANS_MAX
    assert outcome.states == {f"b{REPLANS_MAX}": "failed"}
    assert outcome.stopped


@settings(deadline=None, max_examples=40)
@given(random_graphs(), st.randoms(use_true_random=False), st.integers(1, 8))
def test_any_graph_ends_in_order_whatever_fails(todo: TaskGraph, random: Random, most: int) -> None:

    async def work(subtask: Subtask, attempt: int) -> Result:
        for _ in range(random.randint(0, 3)):
            await asyncio.sleep(0)
        return Result(random.random() > 0.2, subtask.id)

    team = Team(work)
    outcome = asyncio.run(team.run(todo, max_parallel=most))
    assert team.most_at_once <= most
    assert team.running == set()
    assert {*outcome.states} == {*todo.ids}
    for one in todo.subtasks:
        state = outcome.states[one.id]
        assert state not in ("pending", "ready", "running")
        assert (state == "completed") == (one.id in outcome.results) == (one.id in team.done)
        if state == "blocked":
            assert any(outcome.states[d] in ("failed", "blocked") for d in one.dependencies)
        if state == "cancelled":
            assert outcome.stopped


@settings(deadline=None, max_examples=40)
@given(random_graphs(most=60), st.integers(0, 300))
def test_cancelled_at_any_moment_nothing_is_left_running(todo: TaskGraph, after: int) -> None:
    team = Team(works)

    async def cancelled() -> None:
        run = asyncio.create_task(team.run(todo))
        for _ in range(after):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait({run})
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(cancelled())
    assert team.running == set()


@settings(deadline=None, max_examples=40)
@given(random_graphs(most=40), st.randoms(use_true_random=False))
def test_replanning_runs_nothing_twice_and_ends(todo: TaskGraph, random: Random) -> None:
    numbers = itertools.count()

    async def work(subtask: Subtask, attempt: int) -> Result:
        for _ in range(random.randint(0, 2)):
            await asyncio.sleep(0)
        return Result(random.random() > 0.4, subtask.id)

    async def replan(
        graph: TaskGraph, failed: Subtask, reason: str, done: Mapping[str, str]
    ) -> TaskGraph | None:
        other = f"r{next(numbers)}"
        gone = {failed.id, *graph.after(failed.id)}
        kept = tuple(s for s in graph.subtasks if s.id not in gone)
        needs = tuple(id_ for id_ in failed.dependencies if id_ not in gone)
        return TaskGraph(graph.goal, (*kept, Subtask(other, f"instead {other}", after=needs)))

    team = Team(work)
    outcome = asyncio.run(team.run(todo, replan=replan))
    assert sum(isinstance(event, Replanned) for event in team.told) <= REPLANS_MAX
    assert team.running == set()
    assert {*outcome.states} == {*outcome.graph.ids}
