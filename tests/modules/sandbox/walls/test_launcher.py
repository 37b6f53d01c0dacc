"""The second wall: what workers look like behind it, and what happens where a part is missing."""

import logging
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.schema import WALL_NAMES, WallName
from config.settings import ROOT
from core.errors import UserError
from core.values import Json
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.walls.launcher import (
    PLANS_PER_WORKER,
    PROGRAM,
    Launcher,
    NoLauncher,
    Wall,
    examine_walls,
    find_worker,
    require_walls,
)
from modules.sandbox.workers import Workers
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the second wall is Linux's")


@pytest.fixture(scope="module")
def walls() -> dict[WallName, Wall]:
    found: dict[WallName, Wall] = {wall.name: wall for wall in examine_walls(SandboxLimits())}
    if not any(wall.stands for wall in found.values()):
        pytest.skip(f"no worker can be started through a launcher here: {found}")
    return found


@pytest.fixture(scope="module")
def worker(walls: dict[WallName, Wall]) -> Iterator[int]:
    with Workers(1) as workers, workers.pool.checkout() as session:
        assert workers.walled
        assert session.worker_pid is not None
        yield session.worker_pid


def status(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(f"{field}:"))


def test_every_part_is_examined_in_order(walls: dict[WallName, Wall]) -> None:
    assert tuple(walls) == WALL_NAMES
    assert walls["rlimits"].stands
    assert walls["no_new_privs"].stands
    assert all(wall.stands or wall.detail for wall in walls.values())


def test_the_kernel_confirms_what_is_said_to_stand(
    walls: dict[WallName, Wall], worker: int
) -> None:
    assert status(worker, "NoNewPrivs") == "1"
    assert int(status(worker, "CapEff"), 16) == 0
    assert (status(worker, "Seccomp") == "2") == walls["seccomp"].stands
    limits = Path(f"/proc/{worker}/limits").read_text()
    assert " ".join(limits.split("Max file size")[1].split()[:2]) == "0 0"
    assert " ".join(limits.split("Max core file size")[1].split()[:2]) == "0 0"


def test_a_worker_holds_nothing_of_the_host_but_its_two_pipes(worker: int) -> None:
    files = Path(f"/proc/{worker}/fd")
    held = {file.name: str(file.readlink()) for file in files.iterdir()}
    assert held.keys() == {"0", "1", "2"}
    assert held["2"] == os.devnull
    assert Path(f"/proc/{worker}/environ").read_bytes() == b""


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
    async with Sandbox(SandboxLimits(memory_bytes=32 * 1024 * 1024)) as sandbox:
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


@pytest.mark.usefixtures("walls")
def test_a_worker_that_is_taken_over_has_its_cpu_time_limited_by_the_kernel() -> None:
    import resource

    from modules.sandbox.session import PlanSession

    with Workers(1) as workers:
        with workers.pool.checkout() as idle:
            pid = idle.worker_pid
        session = PlanSession(workers.pool, CATALOG, SandboxLimits(cpu_seconds=3))
        session.start(solve("await tools.add(1, 2)"))
        assert pid is not None
        soft, hard = resource.prlimit(pid, resource.RLIMIT_CPU)
        session.worker.release(keep=True)
    assert 3 < soft <= 10
    assert soft < hard != resource.RLIM_INFINITY  # the signal at the soft one can be ignored


def test_a_worker_is_replaced_long_before_the_limit_on_all_its_cpu_time() -> None:
    pids: list[int | None] = []
    with Workers(1) as workers:
        while len(pids) < PLANS_PER_WORKER + 2:
            with workers.pool.checkout() as session:
                pids.append(session.worker_pid)
    assert len(set(pids)) == 2


def test_nothing_of_the_host_stays_open_however_high_its_descriptor(tmp_path: Path) -> None:
    """Also above a limit that was lowered after it was opened."""
    import resource

    secret = os.dup2(os.open(os.devnull, os.O_RDONLY), 300, inheritable=True)
    words = ["memory", str(2**30), "run", "/", "read", "/"]
    look = ["--", sys.executable, "-c", f"import os; os.fstat({secret})"]
    ran = subprocess.run(
        [sys.executable, "-IS", str(PROGRAM), *words, *look],
        close_fds=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        timeout=TEST_TIMEOUT_SECONDS,
    )
    os.close(secret)
    assert ran.returncode == 1  # OSError: bad file descriptor


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


def test_the_launcher_itself_runs_nothing_without_what_is_required(tmp_path: Path) -> None:
    program = shutil.which("true")
    assert program is not None
    words = ["memory", str(2**30), "run", program, "require", "seccomp"]
    ran = subprocess.run([sys.executable, "-IS", str(PROGRAM), *words, "--", program], env={})
    assert ran.returncode == 71


@pytest.mark.usefixtures("walls")
def test_a_python_with_spaces_and_quotes_in_its_path_starts_workers(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b'it\'s a "folder"\n\xff')
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(Path(sys.executable).resolve())
    with Workers(1, python=str(python)) as workers:
        assert workers.walled


def test_where_the_launcher_does_not_run_plans_run_without_it_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING), Workers(1, python="/nonexistent/python") as workers:
        assert not workers.walled
        with workers.pool.checkout() as session:
            assert session.feed_run("1 + 1") == 2
    assert "without the second wall" in caplog.text


@pytest.fixture
def no_file_may_grow() -> Iterator[None]:
    """So that none can be written in memory either."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("no_file_may_grow")
def test_where_the_launcher_can_not_be_kept_a_warning_says_so_and_no_wall_is_claimed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING), Workers(1) as workers:
        assert not workers.walled
    assert "no program can be kept in memory" in caplog.text
    walls = examine_walls(SandboxLimits())
    assert {(wall.stands, "kept in memory" in wall.detail) for wall in walls} == {(False, True)}


def test_where_the_launcher_does_not_run_nothing_runs_that_requires_it() -> None:
    with (
        pytest.raises(RuntimeError, match="do not stand"),
        Workers(1, require=["seccomp"], python="/nonexistent/python"),
    ):
        pass


async def test_a_sandbox_that_requires_what_stands_runs_plans(
    walls: dict[WallName, Wall],
) -> None:
    standing: list[WallName] = [name for name, wall in walls.items() if wall.stands]
    async with Sandbox(require=standing) as sandbox:
        assert (await sandbox.run(solve("return 7"), CATALOG, Tools())).value == 7


@pytest.mark.usefixtures("walls")
def test_a_launcher_leaves_no_file_and_can_be_closed_twice() -> None:
    launcher = Launcher(find_worker(), SandboxLimits())
    path = launcher.path
    assert path == launcher.path
    assert path.exists()
    launcher.close()
    launcher.close()
    assert not path.exists()


def test_a_python_that_is_not_known_is_no_launcher() -> None:
    with pytest.raises(NoLauncher, match="not known"):
        Launcher(find_worker(), SandboxLimits(), python="")


OTHERS_PYTHON = Path("/usr/bin/python3")

AS_SOMEBODY = """
from modules.sandbox.limits import SandboxLimits
from modules.sandbox.walls.launcher import examine_walls
from modules.sandbox.workers import Workers
with Workers(1) as workers, workers.pool.checkout() as session:
    print(workers.walled, session.feed_run("1 + 1"))
print([wall.name for wall in examine_walls(SandboxLimits()) if wall.stands])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_gets_the_same_walls(walls: dict[WallName, Wall]) -> None:
    """With the system's Python, because ours may lie where others can't look."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    ran = subprocess.run(
        [str(OTHERS_PYTHON), "-c", AS_SOMEBODY],
        cwd="/",
        env={"PYTHONPATH": f"{ROOT}:{site}", "MONTY_BIN": str(find_worker())},
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT_SECONDS,
    )
    if "No module named" in ran.stderr or "Permission denied" in ran.stderr:
        pytest.skip("this checkout or a Python of the same version can't be read by others")
    assert ran.returncode == 0, ran.stderr
    standing = [name for name, wall in walls.items() if wall.stands]
    assert ran.stdout.splitlines() == ["True 2", str(standing)]
