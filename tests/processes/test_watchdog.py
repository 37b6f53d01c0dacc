"""Agents that are killed outright, and what is left of servers that would outlive them: nothing."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.process.server import guarded, spawn, terminate
from core.process.watchdog import StopGrace, Watchdog
from core.process.watchdog_program import living
from tests.core.dispatch.fixture_servers import is_gone

ROOT = Path(__file__).parents[2]
QUICK = StopGrace(stdin_seconds=0.3, term_seconds=0.1, kill_seconds=5.0)

STUBBORN = "trap '' TERM; sleep 600 & echo $$ $!; exec 0<&-; wait"
"""A server that ignores a closed stdin and SIGTERM, with a child that does the same."""

WILLING = "echo $$; cat; sleep 0.1; echo ended > $0"
"""A server that has something to do when its stdin closes."""

AGENT = """
import os, subprocess, sys, time
from pathlib import Path
from config.servers import ServerSpec
from core.process.server import spawn
from core.process.watchdog import StopGrace, Watchdog

watchdog = Watchdog(StopGrace(stdin_seconds=0.3, term_seconds=0.1, kill_seconds=5.0))
script, *arguments = sys.argv[1:]
spec = ServerSpec("s", ("sh", "-c", script, *arguments), Path())
{body}
sys.stdin.read()
"""

SPAWN = """
server = spawn(spec, None, watchdog)
pids = server.stdout.readline().decode().split()
print(*pids, watchdog.pid, flush=True)
"""


@contextmanager
def killed_agent(body: str, script: str, *arguments: str) -> Generator[list[int]]:
    """An agent that ran `body` and was killed; the process ids that it printed, as pidfds."""
    code = AGENT.format(body=textwrap.dedent(body))
    with subprocess.Popen(
        [sys.executable, "-c", code, script, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as agent:
        assert agent.stdout is not None
        pidfds = [os.pidfd_open(int(pid)) for pid in agent.stdout.readline().split()]
        agent.send_signal(signal.SIGKILL)
    try:
        yield pidfds
    finally:
        for pidfd in pidfds:
            with suppress(OSError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)


def ends(pidfd: int, seconds: float = 10.0) -> bool:
    return bool(select.select([pidfd], [], [], seconds)[0])


def test_a_killed_agent_leaves_no_stubborn_server_no_child_of_it_and_no_watchdog() -> None:
    with killed_agent(SPAWN, STUBBORN) as pidfds:
        assert len(pidfds) == 3
        assert all(ends(pidfd) for pidfd in pidfds)


def test_a_killed_agent_leaves_no_child_that_left_its_servers_session() -> None:
    leaving = "setsid sh -c 'echo $$; exec sleep 600' & wait"
    with killed_agent(SPAWN, leaving) as pidfds:
        assert len(pidfds) == 2
        assert all(ends(pidfd) for pidfd in pidfds)


def test_a_server_that_was_just_being_started_is_found_too() -> None:
    body = """
    stdin, ours = os.pipe()
    watchdog.expect(stdin)
    server = subprocess.Popen(
        spec.command, stdin=stdin, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(stdin)
    print(*server.stdout.readline().decode().split(), watchdog.pid, flush=True)
    """
    stubborn = "trap '' TERM; sleep 600 & echo $$ $!; wait"
    with killed_agent(body, stubborn) as pidfds:
        assert all(ends(pidfd) for pidfd in pidfds)


FORK = """
child = os.fork()
if child == 0:
    time.sleep(600)
server = spawn(spec, None, watchdog)
"""

LISTENING = """
def leads_to(link):
    try:
        return os.readlink(link)
    except OSError:  # closed since it was listed
        return ""

descriptors = Path(f"/proc/{watchdog.pid}/fd")
while not any("pidfd" in leads_to(link) for link in descriptors.iterdir()):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("meanwhile", ["", LISTENING], ids=["just started", "at work"])
def test_a_pipe_that_a_fork_of_the_agent_holds_open_hides_nothing(meanwhile: str) -> None:
    begin = "watchdog.expect(0)"  # has it running, with its pipe, before the fork
    body = begin + SPAWN.replace("server = spawn(spec, None, watchdog)\n", FORK)
    body = body.replace("print(", f"{meanwhile}print(").replace("flush", "child, flush", 1)
    with killed_agent(body, STUBBORN) as pidfds:
        *guarded_ones, fork = pidfds
        assert all(ends(pidfd) for pidfd in guarded_ones)
        assert not ends(fork, 0)


def test_a_server_that_ends_by_itself_has_the_time_for_it(tmp_path: Path) -> None:
    with killed_agent(SPAWN, WILLING, str(tmp_path / "farewell")) as pidfds:
        assert all(ends(pidfd) for pidfd in pidfds)
    assert (tmp_path / "farewell").read_text() == "ended\n"


def test_what_was_forgotten_is_left_alone() -> None:
    body = SPAWN.replace("print", "watchdog.forget(server.process.pid)\nprint")
    with killed_agent(body, STUBBORN) as pidfds:
        leader, child, watchdog = pidfds
        assert ends(watchdog)
        assert not ends(leader, 0)
        assert not ends(child, 0)
        for pidfd in (leader, child):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def cat(*, bundled: bool = False) -> ServerSpec:
    return ServerSpec("cat", ("cat",), ROOT, bundled=bundled)


def test_it_runs_while_there_is_something_to_guard_and_no_longer() -> None:
    watchdog = Watchdog(QUICK)
    ours = spawn(cat(bundled=True), None, watchdog)
    assert watchdog.pid is None, "servers of our own end when their stdin closes"
    theirs = spawn(cat(), None, watchdog)
    pid = watchdog.pid
    assert pid is not None
    watchdog.retire()
    assert watchdog.pid == pid
    terminate(theirs)
    assert watchdog.pid is None
    terminate(ours)
    watchdog.retire()
    assert is_gone(pid)


def test_it_knows_a_server_from_before_its_start_until_before_it_is_reaped() -> None:
    told: list[str] = []

    class Recording(Watchdog):
        def expect(self, stdin: int) -> None:
            told.append("expect")

        def guard(self, group: int) -> None:
            told.append(f"guard {group}")

        def forget(self, group: int) -> None:
            state = Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()[0]
            told.append(f"forget {group} in state {state}")

    spawned = spawn(cat(), None, Recording(QUICK))
    terminate(spawned)
    pid = spawned.process.pid
    assert told == ["expect", f"guard {pid}", f"forget {pid} in state Z"]


def test_a_server_that_was_started_before_can_be_guarded_once() -> None:
    watchdog = Watchdog(QUICK)
    spawned = spawn(cat(), None)
    again = guarded(spawned, watchdog)
    assert again.watchdog is watchdog
    assert guarded(again, Watchdog(QUICK)) is again
    assert guarded(spawned, None) is spawned
    terminate(again)
    watchdog.retire()


def test_it_stands_apart_from_the_terminal_and_from_our_output() -> None:
    watchdog = Watchdog(QUICK)
    spawned = spawn(cat(), None, watchdog)
    pid = watchdog.pid
    assert pid is not None
    assert os.getsid(pid) == pid
    open_files = {n: str(Path(f"/proc/{pid}/fd/{n}").readlink()) for n in "012"}
    assert open_files["1"] == open_files["2"] == os.devnull
    assert open_files["0"].startswith("pipe:")
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    terminate(spawned)
    watchdog.retire()


def test_a_watchdog_that_was_killed_is_replaced_and_told_everything() -> None:
    watchdog = Watchdog(QUICK)
    servers = [spawn(cat(), None, watchdog)]
    first = watchdog.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    servers.append(spawn(cat(), None, watchdog))
    assert watchdog.pid not in (None, first)
    for server in servers:
        terminate(server)
    watchdog.retire()


def test_one_that_hangs_does_not_hold_us_up() -> None:
    watchdog = Watchdog(QUICK)
    spawned = spawn(cat(), None, watchdog)
    assert watchdog.pid is not None
    os.kill(watchdog.pid, signal.SIGSTOP)
    for _ in range(20_000):  # more than its pipe can hold
        watchdog.forget(spawned.process.pid)
        watchdog.guard(spawned.process.pid)
    terminate(spawned)
    watchdog.retire()


def test_servers_work_where_there_can_be_no_watchdog(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(QUICK, python="/no/such/python")
    spawned = spawn(cat(), None, watchdog)
    spawned.stdin.write(b"hello\n")
    assert spawned.stdout.readline() == b"hello\n"
    terminate(spawned)
    watchdog.retire()
    assert "could outlive us" in caplog.text
    assert len(caplog.records) == 1


def test_a_group_whose_id_was_given_to_a_stranger_is_not_touched() -> None:
    spawned = spawn(cat(), None)
    group = spawned.process.pid
    started = Path(f"/proc/{group}/stat").read_bytes().rpartition(b")")[2].split()[19]
    assert living({group: started}) == {group}
    assert living({group: b"0"}) == set()
    assert living({}) == set()
    terminate(spawned)
    assert living({group: started}) == set()
