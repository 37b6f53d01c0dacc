"""Runs a task graph: all that is ready at once, within a bound; replans what failed.

A subtask that fails is tried again. After three failures, or the first of a critical one, the part
that failed and what depends on it is planned anew, with what is finished kept. Where that is not
possible, what depends on it is blocked, the rest goes on, and the outcome says so.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from graphlib import TopologicalSorter
from typing import Final, Protocol, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import one_line
from core.errors import BudgetSpent, CortexError
from core.events import Replanned, SubtaskChanged
from core.team.graph import GraphOutcome, Subtask, SubtaskState, TaskGraph, filled

_log = logging.getLogger(__name__)

MAX_PARALLEL: Final = 8
"""So many subtasks run at once; each waits for models and tools most of the time."""
TRIES: Final = 3
"""So often is a subtask tried before it is planned anew."""

REPLANS_MAX: Final = 3

BUG_CHARACTERS: Final = 300
"""How much is told of what a subtask raised that nobody foresaw; the log has the rest."""

DEADLINE_SECONDS: Final = 600.0
"""Longest run of one subtask; one that never answers costs itself and not the others."""


@frozen
class Result:
    """What a run of one subtask came to: its text, or why there is none.

    Attributes:
        again: whether another try, or another plan, may do better; not where a person said no.
        note: what the user should know beside the text: who of a committee disagrees, say.
    """

    ok: bool
    text: str
    again: bool = True
    note: str = ""


GraphEvent: TypeAlias = SubtaskChanged | Replanned
Tell: TypeAlias = Callable[[GraphEvent], Awaitable[None]]


class RunSubtask(Protocol):
    """Runs one subtask, with the results of those that it needs and of no other."""

    async def __call__(
        self, subtask: Subtask, asked: str, texts: Mapping[str, str], attempt: int
    ) -> Result:
        """What it came to.

        Raises:
            BudgetSpent: there is nothing left to run any subtask with.
        """
        ...


class Replan(Protocol):
    """Plans a part of a graph anew that failed."""

    async def __call__(
        self, graph: TaskGraph, failed: Subtask, reason: str, done: Mapping[str, str]
    ) -> TaskGraph | None:
        """The whole graph, what is `done` unchanged in it; None if there is no other way."""
        ...


class GraphRun:
    """One run of one graph; `run` may be called once, and cancelled at any moment."""

    def __init__(
        self,
        graph: TaskGraph,
        run_subtask: RunSubtask,
        tell: Tell,
        *,
        clock: Clock,
        replan: Replan | None = None,
        done: Mapping[str, str] | None = None,
        max_parallel: int = MAX_PARALLEL,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        """Start nothing. The graph has no `core.team.graph.problems`; `clock` gives seconds.

        What is `done` has its result and is not run.
        """
        self._graph = graph
        self._run_subtask = run_subtask
        self._tell = tell
        self._clock = clock
        self._replan = replan
        self._deadline_seconds = deadline_seconds
        self._slots = asyncio.Semaphore(max_parallel)
        self._states: dict[str, SubtaskState] = dict.fromkeys(graph.ids, "pending")
        self._ended: dict[str, Result] = {}
        self._results: dict[str, str] = dict(done or {})
        self._states |= dict.fromkeys(self._results, "completed")
        self._reasons: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._tried_graphs = [graph]
        self._running: dict[asyncio.Task[Result], str] = {}

    async def run(self) -> GraphOutcome:
        """Run what can run, to the end. Cancelled, it leaves no subtask running."""
        stopped = ""
        sorter = self._graph.sorter(self._results)
        try:
            while True:
                for id_ in sorter.get_ready():
                    await self._begin(self._graph[id_])
                if not self._running:
                    break
                ended, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                # In the order in which they began: a set's own order differs from run to run.
                for task in [task for task in self._running if task in ended]:
                    sorter = await self._settle(self._running.pop(task), task, sorter)
        except BudgetSpent as error:
            stopped = str(error)
        except _CriticalFailed as failure:
            stopped = str(failure)
        finally:
            await self._end_all()
        return await self.ended(stopped)

    async def ended(self, stopped: str) -> GraphOutcome:
        """The outcome, with what never began told as cancelled; for who has cancelled `run`, too.

        `stopped` says why it ended before its time.
        """
        await self._tell_rest()
        return GraphOutcome(
            self._graph,
            dict(self._states),
            dict(self._results),
            dict(self._reasons),
            stopped,
            dict(self._attempts),
            dict(self._seconds),
            notes=dict(self._notes),
        )

    async def _begin(self, subtask: Subtask) -> None:
        await self._change(subtask, "ready")
        self._running[asyncio.create_task(self._tried(subtask))] = subtask.id

    async def _tried(self, subtask: Subtask) -> Result:
        """Run a subtask until it works, or has failed often enough."""
        tries = 1 if subtask.critical else TRIES
        asked, texts = filled(subtask, self._results)
        self._ended.pop(subtask.id, None)  # of another plan, which failed
        async with self._slots:
            for attempt in range(1, tries + 1):
                await self._change(subtask, "running", attempt)
                began = self._clock()
                result = await self._within_deadline(subtask, asked, texts, attempt)
                if result.ok or not result.again or attempt == tries:
                    self._ended[subtask.id] = result  # it counts, also if telling it is cut off
                    state: SubtaskState = "completed" if result.ok else "failed"
                    await self._change(subtask, state, attempt, result.text, self._clock() - began)
                    return result
        raise AssertionError("a subtask is tried at least once")

    async def _within_deadline(
        self, subtask: Subtask, asked: str, texts: Mapping[str, str], attempt: int
    ) -> Result:
        try:
            async with asyncio.timeout(self._deadline_seconds):
                return await self._run_subtask(subtask, asked, texts, attempt)
        except TimeoutError:
            return Result(False, f"no result within {self._deadline_seconds:g} s")

    async def _settle(
        self, id_: str, task: asyncio.Task[Result], sorter: TopologicalSorter[str]
    ) -> TopologicalSorter[str]:
        """Take a subtask's result; gives the sorter that says what comes next.

        Raises:
            BudgetSpent: the subtask could not be paid for.
            _CriticalFailed: it failed, and nothing else is of use.
        """
        result = _result(task)
        if self._states[id_] in ("ready", "running"):  # it raised something, and told nobody
            attempt = self._attempts.get(id_, 1)
            await self._change(self._graph[id_], "failed", attempt, result.text)
        self._take(id_, result)
        if result.ok:
            sorter.done(id_)
            return sorter
        other = await self._planned_anew(self._graph[id_], result.text) if result.again else None
        if other is not None:
            return await self._go_on_with(other, id_, result.text)
        for user in self._graph.after(id_):
            self._reasons.setdefault(user, f"it needs {id_}, which failed")
            await self._change(self._graph[user], "blocked", text=self._reasons[user])
        if self._graph[id_].critical:
            why = f"{id_} failed, without which the rest is of no use: {result.text}"
            raise _CriticalFailed(why)
        return sorter

    def _take(self, id_: str, result: Result) -> None:
        if result.ok:
            self._results[id_] = result.text
            self._notes |= {id_: result.note} if result.note else {}
        else:
            self._reasons[id_] = result.text

    async def _planned_anew(self, failed: Subtask, reason: str) -> TaskGraph | None:
        """Another graph, unless there have been too many, or it is one that failed already."""
        if self._replan is None or len(self._tried_graphs) > REPLANS_MAX:
            return None
        lost = {failed.id, *self._graph.after(failed.id)}
        if any(self._graph[id_].needs is not None for id_ in lost):
            return None  # another plan would do without the person who has to be asked
        try:
            async with asyncio.timeout(self._deadline_seconds):
                other = await self._replan(self._graph, failed, reason, dict(self._results))
        except TimeoutError:
            return None
        if other is None or any(other.is_same_as(tried) for tried in self._tried_graphs):
            return None
        self._tried_graphs.append(other)
        return other

    async def _go_on_with(
        self, other: TaskGraph, failed: str, reason: str
    ) -> TopologicalSorter[str]:
        """Take another graph's place for the failed part; what runs or is done stays."""
        kept = {*self._results, *self._running.values()}
        before = {subtask.id: subtask for subtask in self._graph.subtasks}
        # A part that is not kept begins anew, under whatever id; one that is kept is as it was.
        subtasks = tuple(before[s.id] if s.id in kept else s for s in other.subtasks)
        missing = tuple(before[id_] for id_ in before if id_ in kept - {s.id for s in subtasks})
        self._graph = TaskGraph(other.goal, (*missing, *subtasks))
        self._states = {
            id_: self._states[id_] if id_ in kept else "pending" for id_ in self._graph.ids
        }
        self._reasons = {id_: why for id_, why in self._reasons.items() if id_ in kept}
        await self._tell(Replanned(failed, reason, self._graph))
        sorter = self._graph.sorter(self._results)
        # Those that run are handed out once more, and not begun again.
        running = {*self._running.values()}
        ready = [id_ for id_ in sorter.get_ready() if id_ not in running]
        for id_ in ready:
            await self._begin(self._graph[id_])
        return sorter

    async def _end_all(self) -> None:
        """Cancel what runs, and wait until it has ended."""
        running, self._running = self._running, {}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for id_ in running.values():
            if id_ in self._ended:
                self._take(id_, self._ended[id_])

    async def _tell_rest(self) -> None:
        """What never began, or was ended, is cancelled."""
        for id_, state in self._states.items():
            if state in ("pending", "ready", "running"):
                await self._change(self._graph[id_], "cancelled")

    async def _change(
        self, subtask: Subtask, state: SubtaskState, attempt: int = 1, text: str = "",
        seconds: float = 0.0,
    ) -> None:  # fmt: skip
        if self._states.get(subtask.id) != state or attempt > 1:
            self._states[subtask.id] = state
            if state == "running":
                self._attempts[subtask.id] = attempt
            elif seconds:
                self._seconds[subtask.id] = seconds
            await self._tell(SubtaskChanged(subtask, state, attempt, text, seconds))


def _result(task: asyncio.Task[Result]) -> Result:
    """What a subtask's task came to; what it raised is why it failed.

    Raises:
        BudgetSpent: it could not be paid for.
    """
    error = task.exception()
    if error is None or isinstance(error, BudgetSpent):
        return task.result()
    if isinstance(error, CortexError):
        return Result(False, str(error), again=False)
    _log.error("a subtask ended in a bug", exc_info=error)
    told = one_line(f"{type(error).__name__}: {error}", BUG_CHARACTERS)
    return Result(False, f"it met a bug of ours ({told})", again=False)


class _CriticalFailed(Exception):
    """A subtask failed that everything else depends on."""
