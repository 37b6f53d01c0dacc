"""Our own time a loop iteration: scripted model, no tool call, real sandbox, memory on disk."""

import statistics
import time
from pathlib import Path

from config.schema import AgentProfile, AgentSection
from core.events import Event
from core.session import MultiMCP
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.sandbox import Sandbox
from tests.benchmarks.table import Row, at_most, spread

ROUNDS = 200
ITERATION_MS_AIM = 5.0
PLAN = 'async def solve():\n    return "FINAL_ANSWER: done"\n'


async def _ignore(event: Event) -> None:
    return


async def measure(home: Path) -> list[Row]:
    """Whole requests of one iteration each, perception and session memory included."""
    profile = AgentProfile(agent=AgentSection(name="Bench", id="bench_1"))
    conversation = Conversation(
        profile,
        ModelManager(ScriptedModel([PLAN] * (ROUNDS + 5)), "scripted"),
        MultiMCP([]),
        Sandbox(),
        home / "memory",
        _ignore,
    )
    seconds: list[float] = []
    cpu: list[float] = []
    async with conversation:
        for number in range(ROUNDS + 5):
            if number % 20 == 0:
                conversation.new_session()  # sessions of a realistic length
            started, began = time.perf_counter(), time.process_time()
            outcome = await conversation.ask("say done")
            if number >= 5:
                seconds.append(time.perf_counter() - started)
                cpu.append(time.process_time() - began)
            assert outcome.answer == "done"
    aim = at_most(statistics.median(seconds) * 1000, ITERATION_MS_AIM, " ms")
    return [
        Row("one iteration, everything of ours", spread(seconds), aim),
        Row("the same, CPU of all threads", spread(cpu)),
    ]
