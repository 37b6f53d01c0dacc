"""What memory costs a run: the recorder's share of it, and what is told of tools over sessions.

A run here is a plan of a scripted model with three calls of the math server. Its own events are
then given to a recorder alone, whose file nobody waits for (`sync: never`): the disk's time is
measured by `session_file`. Each recording follows the run that it is held against.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from config.schema import AgentProfile, AgentSection, MemorySection, StorageSection
from config.settings import ROOT, Places
from core.events import Event
from core.session import MultiMCP
from modules.conversation import Conversation
from modules.memory.statistics import memory_statistics
from modules.memory.tool_record import newest_tool_records
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.sandbox import Sandbox
from modules.session.ids import session_path
from modules.session.kept import KeptSessions
from modules.session.memory import MemoryManager
from modules.session.recorder import SessionRecorder
from modules.session.records import MemoryRecord, array_of
from tests.benchmarks.models import MATH
from tests.benchmarks.table import Row, at_most, spread

ROUNDS, WARM_UP, RUNS_A_SESSION = 100, 5, 10
SESSIONS, READINGS = 200, 5
ALL_DAYS = 3_650
AIM_MS = 5
PLAN = """\
async def solve():
    a = await tools.add(a=5, b=7)
    b = await tools.multiply(a=a, b=3)
    c = await tools.subtract(a=b, b=1)
    return f"FINAL_ANSWER: {c}"
"""
SETTINGS = MemorySection(storage=StorageSection(sync="never"))
PROFILE = AgentProfile(agent=AgentSection(name="Bench", id="bench_1"), memory=SETTINGS)


def measure(home: Path) -> list[Row]:
    """Runs and what recording them takes, in turn; then statistics over 200 sessions."""
    return [*asyncio.run(_recording(home)), *asyncio.run(_reading(home / "many"))]


async def _recording(home: Path) -> list[Row]:
    events: list[Event] = []

    async def keep(event: Event) -> None:
        events.append(event)

    model = ModelManager(ScriptedModel([PLAN] * ROUNDS))
    dispatcher = MultiMCP([MATH])
    places = Places(ROOT, home / "runs")
    talk = Conversation(PROFILE, places, model, dispatcher, Sandbox(), keep)
    memory = _session(home, 0)
    runs: list[float] = []
    walls: list[float] = []
    cpus: list[float] = []
    async with talk:
        await dispatcher.initialize()
        for number in range(ROUNDS):
            if number % RUNS_A_SESSION == 0:
                talk.new_session()
                memory = _session(home, number)
            events.clear()
            began = time.perf_counter()
            outcome = await talk.ask("what is 3 times the sum of 5 and 7, less 1?")
            took = time.perf_counter() - began
            assert (outcome.answer, len(outcome.steps[0].result.calls)) == ("35", 3)
            recorder = SessionRecorder(memory, SETTINGS)
            began, spent = time.perf_counter(), time.process_time()
            for event in events:
                assert await recorder(event) is None
            if number >= WARM_UP:
                cpus.append(time.process_time() - spent)
                walls.append(time.perf_counter() - began)
                runs.append(took)
    items = len(memory.get_session_items()) / RUNS_A_SESSION
    share = statistics.median(walls)
    ratio = share / statistics.median(runs)
    return [
        Row("a run with 3 calls, its recording included", spread(runs)),
        Row(
            f"the recorder alone, {items:.0f} items",
            spread(walls),
            at_most(share * 1000, AIM_MS, " ms"),
        ),
        Row("  … CPU", spread(cpus)),
        Row("  against the run", f"{ratio:.2f}"),
    ]


def _session(home: Path, number: int) -> MemoryManager:
    return MemoryManager(f"session_{number}", home / "alone", sync="never")


async def _reading(home: Path) -> list[Row]:
    """Sessions of ten runs each, all of them read, and the newest for a tenth of a second."""
    folder = PROFILE.memory_folder(home)
    runs = _keep_sessions(folder, _run_items(home.parent / "alone"))
    kept = KeptSessions(PROFILE, home, _complain)
    files = [kept.path(session_id).read_bytes() for session_id in kept.ids()]
    parsing = _times(lambda: [json.loads(data) for data in files])
    reading = _times(lambda: memory_statistics(kept, ALL_DAYS))
    found = memory_statistics(kept, ALL_DAYS)
    assert (found.sessions, found.total.requests) == (SESSIONS, runs)
    waiting: list[float] = []
    held = [await _held_up(folder, waiting) for _ in range(READINGS)]
    ratio = statistics.median(reading) / statistics.median(parsing)
    size = sum(map(len, files)) / 1e6
    return [
        Row(f"statistics of {SESSIONS} sessions, {runs:,} runs, {size:.1f} MB", spread(reading)),
        Row("  against json.loads of the files", f"{ratio:.1f}"),
        Row("what a plan after a failed one waits for tools' records", spread(waiting)),
        Row("  … the longest that holds up the event loop", spread(held)),
    ]


def _run_items(folder: Path) -> Sequence[MemoryRecord]:
    """What one session of the runs above holds."""
    memory = MemoryManager("session_0", folder)
    memory.load()
    return [MemoryRecord.of(item) for item in memory.get_session_items()]


def _keep_sessions(folder: Path, records: Sequence[MemoryRecord]) -> int:
    """Write the sessions, all with these items; gives the number of their runs."""
    data = array_of(records)
    for number in range(SESSIONS):
        day = f"2026/{number % 12 + 1:02}/{number // 12 + 1:02}"
        path = session_path(f"{day}/session-{1_770_000_000 + number}-abcdef", folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return SESSIONS * RUNS_A_SESSION


def _complain(stage: str, text: str) -> None:
    raise AssertionError(f"[{stage}] {text}")


async def _held_up(folder: Path, waiting: list[float]) -> float:
    """The longest pause of the event loop while a thread reads; what that takes is appended."""
    longest, last = 0.0, time.perf_counter()
    began = last
    work = asyncio.create_task(asyncio.to_thread(newest_tool_records, folder, "date"))
    while not work.done():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    waiting.append(time.perf_counter() - began)
    assert {record.successes for record in work.result().values()} == {20}
    return longest


def _times(work: Callable[[], object]) -> list[float]:
    times: list[float] = []
    for _ in range(READINGS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return times
