"""The service under load: 50 conversations at once over HTTP, beside a handler without an agent.

A scripted model, the real math server, two calls a request; a plan runs in the sandbox each time.
"""

import asyncio
import json
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import httpx2

from core.values import JsonObject
from modules.service.served.runs import RUNS_MAX
from tests.benchmarks.processes import DRIVERS, JsonProcess
from tests.benchmarks.table import Row
from tests.command_line import plan, script

CONVERSATIONS = 50
WARMING = 3
"""Requests of each conversation until all is there that stays: runs that are kept for readers."""

REQUESTS = 4
"""Of each conversation then."""

STEADY = (250, 1000)
"""Memory is looked at after so many conversations of one request each.

The first is more than what stays by design: `CONVERSATIONS_MAX` of the pool, `FINISHED_KEPT` runs.
"""

REQUEST = "add 2 and 3, then multiply the sum by 7"
LONG_REQUEST = f"{REQUEST}\n{'x' * 20_000}"
"""Whatever is kept of a conversation that has ended is seen in the memory by it."""

ANSWER = "35"
PLAN = plan(
    'a = await tools.add(a=2, b=3)\nb = await tools.multiply(a=a, b=7)\nreturn f"FINAL_ANSWER: {b}"'
)
WAIT_SECONDS = 120.0


@dataclass(frozen=True)
class Load:
    """What a service did: seconds of each request and of all, its CPU time, and its memory."""

    each: list[float]
    seconds: float
    cpu_seconds: float
    warm_mb: float
    end_mb: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.each) / self.seconds


def measure(home: Path) -> list[Row]:
    """The bare handler, the service without and with memory on the disk."""
    count = CONVERSATIONS * (WARMING + REQUESTS)
    model = script(home, [PLAN] * count)
    bare = _loaded(home, "bare")
    rows = _rows("bare handler, two calls", bare, bare)
    for memory, title in (("false", "service, nothing kept"), ("true", "service, sessions kept")):
        (folder := home / memory).mkdir()
        rows += _rows(title, _loaded(folder, "ours", model, memory), bare)
    first, last = steady_mb(home, *STEADY)
    shown = f"{first:.0f} MB {last - first:+.1f} MB"
    return [*rows, Row("  … after {} and {} conversations".format(*STEADY), shown)]


def steady_mb(home: Path, first: int, last: int) -> tuple[float, float]:
    """Memory of a service after so many requests, each in a conversation of its own."""
    (folder := home / "steady").mkdir()
    arguments = [str(folder), script(folder, [PLAN] * last), "true"]
    with JsonProcess(f"{DRIVERS}.service", "ours", *arguments, home=folder) as process:
        port, pid = process.first["port"], process.first["pid"]
        return asyncio.run(_met(port, pid, 0, first)), asyncio.run(_met(port, pid, first, last))


async def _met(port: int, pid: int, first: int, end: int) -> float:
    """The memory when these conversations have had their request, as many at once as may be."""
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=url, timeout=WAIT_SECONDS) as client:
        for at in range(first, end, RUNS_MAX):
            names = [f"m{number}" for number in range(at, min(at + RUNS_MAX, end))]
            await asyncio.gather(*(_asked(client, name, LONG_REQUEST) for name in names))
    return _resident_mb(pid)


def _rows(title: str, load: Load, bare: Load) -> list[Row]:
    p95 = statistics.quantiles(load.each, n=20)[-1]
    cpu = [1000 * each.cpu_seconds / len(each.each) for each in (load, bare)]
    is_bare = load is bare
    ratio = "" if is_bare else f"{bare.rate / load.rate:.1f} times the bare one's time"
    more = "" if is_bare else f"{cpu[0] / cpu[1]:.1f} times the bare one's"
    grown = load.end_mb - load.warm_mb
    return [
        Row(title, f"{load.rate:.0f} requests a second", ratio),
        Row("  … median, p95", f"{statistics.median(load.each):.2f} s, {p95:.2f} s"),
        Row("  … CPU time a request", f"{cpu[0]:.1f} ms", more),
        Row("  … memory, warm to the end", f"{load.warm_mb:.0f} MB {grown:+.1f} MB"),
    ]


def _loaded(home: Path, kind: str, *arguments: str) -> Load:
    with JsonProcess(f"{DRIVERS}.service", kind, str(home), *arguments, home=home) as process:
        return asyncio.run(_load(process.first["port"], process.first["pid"]))


async def _load(port: int, pid: int) -> Load:
    """All conversations at once, each with one request after the other."""
    limits = httpx2.Limits(max_connections=CONVERSATIONS)
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=url, timeout=WAIT_SECONDS, limits=limits) as client:
        names = [f"c{number}" for number in range(CONVERSATIONS)]
        await asyncio.gather(*(_talked(client, name, WARMING) for name in names))
        warm, cpu, began = _resident_mb(pid), _cpu_seconds(pid), time.perf_counter()
        each = await asyncio.gather(*(_talked(client, name, REQUESTS) for name in names))
        seconds = time.perf_counter() - began
        cpu = _cpu_seconds(pid) - cpu
    return Load([one for talk in each for one in talk], seconds, cpu, warm, _resident_mb(pid))


async def _talked(client: httpx2.AsyncClient, name: str, count: int) -> list[float]:
    return [await _asked(client, name) for _ in range(count)]


async def _asked(client: httpx2.AsyncClient, name: str, request: str = REQUEST) -> float:
    """Seconds from the request to the end of its stream.

    Raises:
        RuntimeError: the answer is wrong.
    """
    began = time.perf_counter()
    body = {"conversation_id": name, "message": request}
    last: JsonObject = {}
    async with client.stream("POST", "/chat", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    if last.get("answer") != ANSWER:
        raise RuntimeError(f"{name}: {response.status_code}, it ended in {last}")
    return time.perf_counter() - began


def _cpu_seconds(pid: int) -> float:
    """Of the process itself, without those of servers and of the sandbox."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the process has no memory")
