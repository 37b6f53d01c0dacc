"""A program that shows the events of a request in parts at its terminal, as a run would tell them.

Each line end at stdin lets it go on to the next act; at the end of stdin, or at Ctrl-C, what goes
on is cancelled, as in a run.

`python -m tests.processes.team_events [quiet|normal|verbose] [SUBTASKS]`
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import cast

from core.events import (
    ActionChosen,
    Event,
    GraphPlanned,
    ModelAnswered,
    ModelAsked,
    Notice,
    PlanWritten,
    RoleChosen,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from core.team.graph import GraphOutcome, Subtask, SubtaskState, TaskGraph
from core.turn import Plan, RunOutcome, ToolCall, Usage
from modules.terminal.progress import Loudness, Progress

CALL = ToolCall("web.read", {"url": "https://example.org/prices"}, True, "42 zlotys", 0.5)
USED = Usage(1, 3_000, 201)


def graph(parts: int) -> TaskGraph:
    """So many parts that read prices, a table of them, and a summary."""
    read = tuple(Subtask(f"prices_{n}", f"read price list {n}") for n in range(1, parts + 1))
    table = Subtask("table", "a table of them", after=tuple(part.id for part in read))
    return TaskGraph("compare prices", (*read, table, Subtask("summary", "say {{table}}")))


def inner(part: Subtask, event: Event) -> Event:
    """An event of a part's own run."""
    return SubtaskEvent(part.id, 1, event)


def acts(todo: TaskGraph) -> Iterator[list[Event]]:
    """All parts begin, the first ends well and the second badly, and the rest is blocked."""
    first, second, *_ = todo.subtasks
    yield [RunStarted("notes", todo.goal, "gemini"), ActionChosen("graph", "independent parts"),
           GraphPlanned(todo)]  # fmt: skip
    begun: list[Event] = []
    for part in todo.subtasks[:-2]:
        begun += [RoleChosen(part.id, "researcher", "it may read pages"),
                  SubtaskChanged(part, "running"), inner(part, RunStarted("notes", "x", "gemini")),
                  inner(part, ModelAsked("gemini", "decision"))]  # fmt: skip
    yield begun
    plan = PlanWritten(1, 1, Plan("async def solve():\n    pass"), "p.txt")
    yield [inner(first, ModelAnswered("gemini", "decision", USED, 0.5, None)), inner(first, plan),
           inner(first, ToolCallStarted(1, CALL.tool, CALL.arguments))]  # fmt: skip
    yield [inner(first, ToolCallFinished(1, CALL)),
           SubtaskChanged(first, "completed", 1, "The price is 42 zlotys\nand rising", 1.5),
           inner(second, Notice("memory", "a part has a notice"))]  # fmt: skip
    yield [
        SubtaskChanged(second, "failed", 3, "no such host: example.org", 2.5),
        *(SubtaskChanged(part, "blocked", 1, "it needs table") for part in todo.subtasks[-2:]),
    ]


def ending(todo: TaskGraph, states: dict[str, SubtaskState]) -> list[Event]:
    """What is told when a run ends: what was not done is cancelled."""
    over: list[Event] = []
    for part in todo.subtasks:
        if states.get(part.id, "pending") in ("pending", "ready", "running"):
            states[part.id] = "cancelled"
            over.append(SubtaskChanged(part, "cancelled"))
    ended = GraphOutcome(todo, {part.id: states[part.id] for part in todo.subtasks})
    outcome = RunOutcome("no_answer", None, "No answer", usage=USED, durations={"total": 3.0},
                         graph=ended)  # fmt: skip
    return [*over, RunFinished(outcome)]


async def next_line() -> bytes:
    """A line end of stdin, waited for without a thread, which Ctrl-C would have to wait for."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, lambda: line.done() or line.set_result(os.read(descriptor, 1)))
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)


async def show(loudness: Loudness, parts: int) -> None:
    progress, todo = Progress(sys.stderr, loudness), graph(parts)
    states: dict[str, SubtaskState] = {}
    try:
        for act in acts(todo):
            for event in act:
                await progress(event)
                if isinstance(event, SubtaskChanged):
                    states[event.subtask.id] = event.state
            if not await next_line():
                break
    except asyncio.CancelledError:
        pass
    for event in ending(todo, states):
        await progress(event)


if __name__ == "__main__":
    loudness, parts = [*sys.argv[1:], "normal", "2"][:2] if len(sys.argv) < 3 else sys.argv[1:3]
    asyncio.run(show(cast("Loudness", loudness), int(parts)))
