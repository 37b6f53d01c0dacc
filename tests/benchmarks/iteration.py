"""Our own time a loop iteration: scripted model, no tool call, real sandbox, memory on disk."""

import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from config.schema import AgentProfile, AgentSection
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.dispatch.known_tools import ToolCache
from core.events import Event
from core.session import MultiMCP
from core.tools.spec import ToolSpec
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.sandbox import Sandbox
from tests.benchmarks.arguments import SEARCH
from tests.benchmarks.table import Row, at_most, spread

ROUNDS = 200
ITERATION_MS_AIM = 6.5
PLAN = 'async def solve():\n    return "FINAL_ANSWER: done"\n'
TOOLS = 22
WORDS = "Searches the shop and gives what fits best, each with its price and a link to it."


async def _ignore(event: Event) -> None:
    return


@dataclass(frozen=True)
class Times:
    """Wall and CPU seconds of each iteration; CPU of all threads."""

    wall: list[float]
    cpu: list[float]


def measure(home: Path) -> list[Row]:
    """Whole requests of one iteration each, perception and session memory included."""
    return asyncio.run(_measured(home))


async def _measured(home: Path) -> list[Row]:
    without = await _iterations(MultiMCP([]), home / "without")
    # Known from a cache: nothing is started.
    spec, cache = ServerSpec("shop", ("none",), home, connection="per_call"), ToolCache(home)
    cache.store(spec, [ToolSpec("shop", f"search_{n}", WORDS, SEARCH) for n in range(TOOLS)])
    tools = MultiMCP([spec], cache=cache)
    beside = await _iterations(tools, home / "with")
    aim = at_most(statistics.median(without.wall) * 1000, ITERATION_MS_AIM, " ms")
    return [
        Row("one iteration, everything of ours", spread(without.wall), aim),
        Row("  … CPU", spread(without.cpu)),
        Row(f"the same with {TOOLS} tools in the prompt", spread(beside.wall)),
        Row("  … CPU", spread(beside.cpu)),
    ]


async def _iterations(dispatcher: MultiMCP, home: Path) -> Times:
    profile = AgentProfile(agent=AgentSection(name="Bench", id="bench_1"))
    conversation = Conversation(
        profile,
        Places(ROOT, home),
        ModelManager(ScriptedModel([PLAN] * (ROUNDS + 5)), "scripted"),
        dispatcher,
        Sandbox(),
        _ignore,
    )
    times = Times([], [])
    async with conversation:
        for number in range(ROUNDS + 5):
            if number % 20 == 0:
                conversation.new_session()  # sessions of a realistic length
            started, began = time.perf_counter(), time.process_time()
            outcome = await conversation.ask("say done")
            if number >= 5:
                times.wall.append(time.perf_counter() - started)
                times.cpu.append(time.process_time() - began)
            assert outcome.answer == "done"
    return times
