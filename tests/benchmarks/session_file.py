"""A session's file: an item more, at the beginning and at 10,000 items, and opening it.

The items are made here: results of a tool, of some 500 bytes each in the file. Rewriting is what
an item cost before: the whole array written beside the file, synced, and renamed over it.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from core.base.files import write_atomically
from core.turn import MemoryItem
from modules.session.memory import MemoryManager
from tests.benchmarks.table import Row, at_most, middle_half

FEW, MANY = 10, 10_000
APPENDED, REWRITTEN, OPENED = 50, 10, 5
RATIO_AIM = 1.5
FASTER_AIM = 20
OPENING_AIM_MS = 150


def measure(home: Path) -> list[Row]:
    """Appending at both sizes, against each other and against rewriting; then opening."""
    short, long = _session(home, "short", FEW), _session(home, "long", MANY)
    few, many = [_appending(memory, APPENDED) for memory in (short, long)]
    data = long.path.read_bytes()
    rewriting = _times(lambda: write_atomically(long.path, data), REWRITTEN)
    ratio = statistics.median(many) / statistics.median(few)
    faster = statistics.median(rewriting) / statistics.median(many)
    opening = _times(lambda: MemoryManager("long", home).load(), OPENED)
    parsing = _times(lambda: json.loads(data), OPENED)
    opening_ms = statistics.median(opening) * 1000
    return [
        Row(f"an item more, synced, at {FEW} items", middle_half(few)),
        Row(f"an item more, synced, at {MANY:,} items", middle_half(many)),
        Row("  the second against the first", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)),
        Row(f"writing the file anew ({len(data) / 1e6:.1f} MB)", middle_half(rewriting)),
        Row(
            "  against an item more",
            f"{faster:.0f} times",
            f"aim: at least {FASTER_AIM}: {'met' if faster >= FASTER_AIM else 'MISSED'}",
        ),
        Row(
            f"opening {MANY:,} items",
            middle_half(opening),
            at_most(opening_ms, OPENING_AIM_MS, " ms"),
        ),
        Row("  against json.loads of it", f"{opening_ms / statistics.median(parsing) / 1000:.1f}"),
    ]


def _session(home: Path, name: str, count: int) -> MemoryManager:
    """A session that holds so many items, as a run would find it."""
    path = home / f"{name}.json"
    items = [_item(number).model_dump(exclude_none=True) for number in range(count)]
    path.write_text(json.dumps(items, indent=2), encoding="utf-8")
    memory = MemoryManager(name, home)
    memory.load()
    memory.add(_item(count))  # written whole once: it is laid out as ours from then on
    return memory


def _item(number: int) -> MemoryItem:
    return MemoryItem(
        timestamp=number,
        type="tool_output",
        text="x" * 300,
        tool_name="add",
        tool_args={"a": number, "b": 1},
        tool_result={"result": number + 1},
        success=True,
    )


def _appending(memory: MemoryManager, count: int) -> list[float]:
    items = iter([_item(number) for number in range(count)])
    return _times(lambda: memory.add(next(items)), count)


def _times(work: Callable[[], object], count: int) -> list[float]:
    """Seconds of each; a process that answers has set its own objects aside before."""
    gc.collect()
    gc.freeze()
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    gc.unfreeze()
    return times
