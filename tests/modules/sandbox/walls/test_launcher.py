"""The second wall: what workers look like behind it, and what happens where a part is missing."""

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from config.schema import WALL_NAMES, WallName
from config.settings import ROOT
from core.errors import SandboxUnavailable, UserError
from core.values import Json
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.component import compiled
from modules.sandbox.walls.launcher import (
    PLANS_PER_WORKER,
    Wall,
    examine_walls,
    require_walls,
    worker_command,
)
from modules.sandbox.worker import Worker, WorkerLost
from tests.modules.sandbox.host_state import children
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

PYTHON = Path(sys.executable).resolve()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the second wall is Linux's")


@pytest.fixture(scope="module")
def walls() -> dict[WallName, Wall]:
    found: dict[WallName, Wall] = {wall.name: wall for wall in examine_walls(SandboxLimits())}
    if not any(wall.stands for wall in found.values()):
        pytest.skip(f"no wall can be put up here: {found}")
    return found


@pytest_asyncio.fixture
async def worker(walls: dict[WallName, Wall]) -> AsyncIterator[int]:
    """The process id of a worker that has run a plan, while it waits for another."""
    before = children()
    async with Sandbox() as sandbox:
        assert (await sandbox.run(solve("return 1"), CATALOG, Tools())).value == 1
        (pid,) = children() - before
        yield pid


def said(pid: int, of: str) -> str:
    """What the kernel says of a process."""
    return Path(f"/proc/{pid}/{of}").read_text()


def descriptors(pid: int) -> dict[str, str]:
    """What a process holds open."""
    return {file.name: str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()}


def statuses(pid: int, field: str) -> set[str]:
    """What the kernel says of every thread."""
    lines = [
        line
        for status in Path(f"/proc/{pid}/task").glob("*/status")
        for line in status.read_text().splitlines()
    ]
    return {line.split(":")[1].strip() for line in lines if line.startswith(f"{field}:")}


def test_every_part_is_examined_in_order(walls: dict[WallName, Wall]) -> None:
    assert tuple(walls) == WALL_NAMES
    assert walls["rlimits"].stands
    assert walls["no_new_privs"].stands
    assert all(wall.stands or wall.detail for wall in walls.values())


async def test_the_kernel_confirms_of_each_thread_what_is_said_to_stand(
    walls: dict[WallName, Wall], worker: int
) -> None:
    assert said(worker, "status").split("Threads:")[1].split()[0] == "2"  # one is the clock
    assert statuses(worker, "NoNewPrivs") == {"1"}
    assert {int(held, 16) for held in statuses(worker, "CapEff")} == {0}
    assert (statuses(worker, "Seccomp") == {"2"}) == walls["seccomp"].stands


LIMITED = {
    "RLIMIT_DATA": 512 * 2**20,
    "RLIMIT_AS": 16 * 2**30,
    "RLIMIT_STACK": 8 * 2**20,
    "RLIMIT_CPU": PLANS_PER_WORKER * 7,
    "RLIMIT_NOFILE": 16,
    "RLIMIT_FSIZE": 0,
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
}


async def test_the_kernel_limits_what_a_worker_uses(worker: int) -> None:
    for name, most in LIMITED.items():
        soft, hard = resource.prlimit(worker, getattr(resource, name))
        assert 0 <= soft == hard <= most, name


async def test_a_worker_holds_nothing_of_the_host_but_its_two_pipes(worker: int) -> None:
    held = descriptors(worker)
    assert held.keys() == {"0", "1", "2", "3"}
    assert all(held[end].startswith("pipe:") for end in ("0", "1"))
    assert held["2"] == os.devnull
    assert held["3"] == str(compiled().resolve())
    flags = said(worker, "fdinfo/3").split("flags:")[1].split()[0]
    assert int(flags, 8) & os.O_ACCMODE == os.O_RDONLY
    assert said(worker, "environ") == ""


async def test_no_memory_of_a_worker_is_both_writable_and_executable(worker: int) -> None:
    protections = {line.split()[1][:3] for line in said(worker, "maps").splitlines()}
    assert "r-x" in protections
    assert not [protection for protection in protections if protection.endswith("wx")]


async def test_nothing_of_the_host_is_in_its_workers_memory(
    walls: dict[WallName, Wall], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "planted-" + os.urandom(16).hex()
    monkeypatch.setenv("CORTEX_TEST_SECRET", secret)
    before = children()
    async with Sandbox() as sandbox:
        await sandbox.run(solve("return 1"), CATALOG, Tools())
        (pid,) = children() - before
        assert secret.encode() not in memory(pid)
        assert b"worker_program.py" in memory(pid)  # else it would be looked for in vain


def memory(pid: int) -> bytes:
    """What a process has written to its memory, stack and arguments included."""
    pieces: list[bytes] = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as file:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, protection, *_ = line.split()
            start, end = (int(at, 16) for at in span.split("-"))
            if protection.startswith("rw") and end - start < 2**28:
                file.seek(start)
                pieces.append(file.read(end - start))
    return b"".join(pieces)


async def test_plans_run_as_they_do_without_it() -> None:
    plan = solve("a = await tools.add(1, 2)", "return json.dumps({'a': a, 'x': 10 ** 30})")
    results: list[tuple[Json, int]] = []
    for second_wall in (True, False):
        async with Sandbox(second_wall=second_wall) as sandbox:
            result = await sandbox.run(f"import json\n{plan}", CATALOG, Tools())
            assert result.failure is None
            results.append((result.value, len(result.calls)))
    assert results[0] == results[1]


async def test_a_plan_that_is_too_big_for_one_allocation_says_nothing_on_our_stderr(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with Sandbox(SandboxLimits(memory_bytes=64 * 1024 * 1024)) as sandbox:
        plan = solve("x = [0]", "while True: x = x + x")
        result = await sandbox.run(plan, CATALOG, Tools())
    assert result.failure is not None
    assert result.failure.kind == "limit"
    assert capfd.readouterr().err == ""


SPIN = """
import asyncio
from modules.sandbox import Sandbox, SandboxLimits
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools

PLAN = '''
async def solve():
    await tools.add(1, 2)
    while True: pass
'''

async def call(tool, arguments):
    import os
    threads = os.listdir("/proc/self/task")
    pids = " ".join(open(f"/proc/self/task/{t}/children").read() for t in threads)
    print(pids, flush=True)
    return await Tools()(tool, arguments)

async def main():
    async with Sandbox(SandboxLimits(cpu_seconds=600, wall_seconds=600)) as sandbox:
        await sandbox.run(PLAN, CATALOG, call)

asyncio.run(main())
"""


def test_a_spinning_worker_ends_when_the_agent_is_killed() -> None:
    command = [sys.executable, "-c", SPIN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as agent:
        try:
            assert agent.stdout is not None
            (pid,) = map(int, agent.stdout.readline().split())
            pidfd = os.pidfd_open(pid)
        finally:
            agent.kill()
    ended, _, _ = select.select([pidfd], [], [], TEST_TIMEOUT_SECONDS)
    os.close(pidfd)
    assert ended, "the worker goes on without its agent"


async def test_a_worker_is_replaced_long_before_the_limit_on_all_its_cpu_time() -> None:
    before, seen = children(), set[int]()
    async with Sandbox() as sandbox:
        for _ in range(PLANS_PER_WORKER + 1):
            await sandbox.run(solve("return 1"), CATALOG, Tools())
            seen |= children() - before
    assert len(seen) == 2


def test_nothing_of_the_host_stays_open_however_high_its_descriptor() -> None:
    """Also above a limit that was lowered after it was opened."""
    secret = os.dup2(os.open(os.devnull, os.O_RDONLY), 300, inheritable=True)
    with subprocess.Popen(
        worker_command(SandboxLimits()),
        close_fds=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.read(5)[4:] == b"W"
            held = descriptors(process.pid).keys()
        finally:
            process.kill()
            os.close(secret)
    assert held == {"0", "1", "2", "3"}


@pytest.mark.parametrize("required", [["landlock"], ["seccomp", "landlock"]])
def test_a_required_part_that_is_missing_is_named_with_what_to_do(
    required: list[WallName],
) -> None:
    def examine(limits: SandboxLimits) -> tuple[Wall, ...]:
        return tuple(Wall(n, n == "rlimits", "the kernel lacks it") for n in WALL_NAMES)

    with pytest.raises(UserError, match=r"landlock: the kernel lacks it \(needs Linux 5\.13"):
        require_walls(required, SandboxLimits(), examine)
    require_walls(["rlimits"], SandboxLimits(), examine)
    require_walls([], SandboxLimits(), examine)


async def test_a_worker_without_a_required_part_does_not_serve() -> None:
    command = worker_command(SandboxLimits(), ["seccomp"])
    policy = json.loads(command[-1]) | {"filter": ""}  # as where no filter is known
    with pytest.raises(WorkerLost, match="has ended"):
        await Worker.started([*command[:-1], json.dumps(policy)], 1.0)
    lax = json.loads(worker_command(SandboxLimits())[-1]) | {"filter": ""}
    worker = await Worker.started([*command[:-1], json.dumps(lax)], 1.0)
    await worker.end()
    assert worker.walls == {"rlimits", "no_new_privs", "landlock"} & worker.walls


@pytest.mark.usefixtures("walls")
async def test_a_python_with_spaces_and_quotes_in_its_path_starts_workers(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b'it\'s a "folder"\n\xff')
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(PYTHON)
    worker = await Worker.started(worker_command(SandboxLimits(), python=str(python)), 1.0)
    assert worker.walls
    await worker.end()


def test_a_python_that_is_not_known_starts_nothing_and_says_so() -> None:
    with pytest.raises(SandboxUnavailable, match="unknown"):
        worker_command(SandboxLimits(), python="")


async def test_a_sandbox_that_requires_what_stands_runs_plans(
    walls: dict[WallName, Wall],
) -> None:
    standing: list[WallName] = [name for name, wall in walls.items() if wall.stands]
    async with Sandbox(require=standing) as sandbox:
        assert (await sandbox.run(solve("return 7"), CATALOG, Tools())).value == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_gets_the_same_walls(walls: dict[WallName, Wall]) -> None:
    """With the system's Python, because ours may lie where others can't look."""
    _, *flags, program, packages, machine_code, policy = worker_command(SandboxLimits())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder, "plan.cwasm")
        shutil.copyfile(machine_code, copy)
        copy.chmod(0o644)
        words = [*flags, program, packages, str(copy), policy, "--report"]
        ran = subprocess.run(
            [OTHERS_PYTHON, *words],
            cwd="/",
            env={},
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=3 * TEST_TIMEOUT_SECONDS,
        )
    if ran.returncode and "\t" not in ran.stdout:
        pytest.skip("this checkout or a Python can't be read by others")
    told = dict(line.split("\t") for line in ran.stdout.splitlines())
    assert {name: told[name] == "" for name in WALL_NAMES} == {
        name: wall.stands for name, wall in walls.items()
    }


OTHERS_PYTHON = "/usr/bin/python3"
