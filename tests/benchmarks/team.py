"""Requests in parts: what scheduling costs, what running parts at once gains."""

import asyncio
import statistics
import time
from collections.abc import Mapping
from pathlib import Path

from config.schema import AgentProfile, AgentSection
from config.settings import ROOT, Places
from core.ports import ModelReply
from core.session import MultiMCP
from core.team.graph import Subtask, TaskGraph
from core.team.schedule import GraphRun, Result
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import PacedReply, Reply, ScriptedModel
from modules.sandbox import Sandbox
from tests.benchmarks.table import Row, at_most, spread

SUBTASKS = 1_000
WIDTH = 10
PARTS = 5
PART_SECONDS = 0.2
ROUNDS = 20
SUBTASK_MS_AIM = 1.0
PARALLEL_AIM = 1.3


async def _ignore(event: object) -> None:
    return


async def _nothing(subtask: Subtask, asked: str, texts: Mapping[str, str], attempt: int) -> Result:
    return Result(True, asked)


def measure(home: Path) -> list[Row]:
    """A wide graph of parts that do nothing, scheduled; five slow parts and one that joins them."""
    scheduled = [asyncio.run(_scheduled()) for _ in range(ROUNDS)]
    parallel = asyncio.run(_parallel(home))
    least = 2 * PART_SECONDS
    share = statistics.median(scheduled) / SUBTASKS * 1000
    ratio = statistics.median(parallel) / least
    joined = f"{PARTS} parts of {PART_SECONDS * 1000:g} ms and one that joins them"
    return [
        Row(f"{SUBTASKS:,} subtasks that do nothing", spread(scheduled)),
        Row("  … a subtask", f"{share:.3f} ms", at_most(share, SUBTASK_MS_AIM, " ms")),
        Row(joined, spread(parallel)),
        Row(f"  … / {least * 1000:g} ms", f"{ratio:.2f}", at_most(ratio, PARALLEL_AIM)),
    ]


async def _scheduled() -> float:
    """Seconds for rows of ten, each part of which needs the row above."""
    parts: list[Subtask] = []
    for number in range(SUBTASKS):
        row = number // WIDTH
        above = range((row - 1) * WIDTH, row * WIDTH) if row else range(0)
        parts.append(Subtask(f"s{number}", "do it", after=tuple(f"s{each}" for each in above)))
    run = GraphRun(
        TaskGraph("a thousand", tuple(parts)),
        _nothing,
        _ignore,
        clock=time.perf_counter,
        max_parallel=WIDTH,
    )
    began = time.perf_counter()
    outcome = await run.run()
    if not outcome.is_complete:
        raise RuntimeError("not every subtask has run")
    return time.perf_counter() - began


async def _parallel(home: Path) -> list[float]:
    """Seconds for whole requests: a scripted model that takes its time, sandbox, memory on disk."""
    names = [f"p{number}" for number in range(PARTS)]
    wanted = " and ".join(f"{{{{{name}}}}}" for name in names)
    parts = (*(Subtask(name, f"find {name}") for name in names), Subtask("all", f"join {wanted}"))
    graph = TaskGraph("five facts", parts)
    one = PacedReply(
        ModelReply('async def solve():\n    return "FINAL_ANSWER: one"\n'), after=PART_SECONDS
    )
    replies: list[Reply] = [one] * ((PARTS + 1) * (ROUNDS + 1))
    talk = Conversation(
        AgentProfile(agent=AgentSection(name="Bench", id="bench_1")).model_copy(),
        Places(ROOT, home),
        ModelManager(ScriptedModel({"decision": replies}), "scripted"),
        MultiMCP([]),
        Sandbox(),
        _ignore,
    )
    seconds: list[float] = []
    async with talk:
        for number in range(ROUNDS + 1):
            began = time.perf_counter()
            outcome = await talk.ask(graph.goal, graph=graph)
            if outcome.answer != "one":
                raise RuntimeError(outcome.message)
            if number:
                seconds.append(time.perf_counter() - began)
    return seconds
