"""Starting a server process: what it gets, what it doesn't, and how a failed start reads."""

import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.errors import ServerStartError
from core.process.left_session import MARK, end_marked, left_behind, marked
from core.process.server import last_log_line, server_environment, spawn, terminate
from core.process.watchdog import StopGrace
from tests.screens import wait_until

QUICK = StopGrace(stdin_seconds=0.05, term_seconds=0.05, kill_seconds=5.0)
SERVERS = Path(__file__).parents[2] / "fixtures" / "servers"
ROOT = Path(__file__).parents[3]


def shell(script: str, cwd: Path = ROOT) -> ServerSpec:
    return ServerSpec("shell", ("sh", "-c", script), cwd)


def test_a_spawned_server_speaks_through_its_pipes_and_leads_its_own_group() -> None:
    spawned = spawn(ServerSpec("cat", ("cat",), ROOT), None)
    spawned.stdin.write(b"hello\n")
    assert spawned.stdout.readline() == b"hello\n"
    assert os.getpgid(spawned.process.pid) == spawned.process.pid != os.getpgid(0)
    terminate(spawned)
    assert spawned.process.returncode == 0


def test_it_works_where_the_user_is_and_imports_nothing_that_lies_there(tmp_path: Path) -> None:
    (tmp_path / "rlcompleter.py").write_text("print('hostile')", encoding="utf-8")
    folder = ServerSpec("pwd", ("pwd",), ROOT, runs_in=tmp_path)
    module = replace(folder, command=(sys.executable, "-m", "rlcompleter"))
    for spec, said in ((folder, f"{tmp_path}\n".encode()), (module, b"")):
        spawned = spawn(spec, None)
        assert spawned.stdout.read() == said
        terminate(spawned)


def test_only_the_listed_variables_and_its_own_reach_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "hunter2")
    monkeypatch.setenv("SHELL", "() { :; }")
    monkeypatch.setenv("HOME", "/home/us")
    environment = server_environment({"COLOUR": "its own"})
    assert environment["HOME"] == "/home/us"
    assert environment["COLOUR"] == "its own"
    assert not {"PLANTED_SECRET", "SHELL"} & set(environment)


def test_stderr_goes_to_a_private_log_that_each_start_empties(tmp_path: Path) -> None:
    for word in ("first", "second"):
        spawned = spawn(shell(f"echo {word} >&2"), tmp_path / "logs")
        assert spawned.stdout.read() == b""  # it has ended
        terminate(spawned)
    log = tmp_path / "logs" / "shell.log"
    assert spawned.log_path == log
    assert log.read_text() == "second\n"
    assert log.stat().st_mode & 0o077 == 0


def test_a_server_id_is_never_a_path(tmp_path: Path) -> None:
    spawned = spawn(ServerSpec("../evil/id", ("true",), ROOT), tmp_path / "logs")
    terminate(spawned)
    assert spawned.log_path is not None
    assert spawned.log_path.parent == tmp_path / "logs"


def test_a_log_folder_that_cannot_be_written_means_no_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    spawned = spawn(shell("echo lost >&2"), tmp_path / "file")
    terminate(spawned)
    assert spawned.log_path is None
    assert last_log_line(spawned.log_path) is None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (ServerSpec("s", ("no-such-program-at-all",), ROOT), ["no-such-program-at-all", "command"]),
        (ServerSpec("s", (sys.executable, "gone.py"), ROOT), [str(ROOT / "gone.py"), "'script'"]),
        (ServerSpec("s", ("true",), ROOT / "nowhere"), [str(ROOT / "nowhere"), "'cwd'"]),
        (ServerSpec("s", (str(ROOT / "README.md"),), ROOT), ["may not be executed", "command"]),
        (ServerSpec("s", ("tr\0ue",), ROOT), ["null byte", "command"]),
        (ServerSpec("s", ("true", "x" * 10_000_000), ROOT), ["too long", "command"]),
    ],
    ids=["program", "script", "folder", "permission", "null byte", "too long"],
)
def test_a_start_that_fails_names_what_to_correct(spec: ServerSpec, said: list[str]) -> None:
    with pytest.raises(ServerStartError) as caught:
        spawn(spec, None)
    assert caught.value.server == "s"
    for part in ["server 's' did not start", "'s' under mcp_servers", *said]:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("python server.py", 'write "command": "python", "args": ["server.py"]'),
        ("npx -y 'some server'", 'write "command": "npx", "args": ["-y", "some server"]'),
        ("no-such-program", "install it"),
        ("it's here", "install it"),
    ],
)
def test_a_command_line_in_the_place_of_a_program_is_told_as_such(program: str, hint: str) -> None:
    with pytest.raises(ServerStartError) as caught:
        spawn(ServerSpec("s", (program,), ROOT), None)
    assert f"there is no program '{program}'; {hint}" in str(caught.value)


def test_a_full_process_table_asks_for_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(ServerStartError, match="no more processes"):
        spawn(shell("true"), None)


@pytest.mark.parametrize(
    "script",
    ["exec cat", "trap '' TERM; while :; do sleep 60; done", "sleep 60 & exec cat"],
    ids=["willing", "ignores everything", "leaves a child"],
)
def test_terminate_leaves_nothing_of_the_group(script: str) -> None:
    spawned = spawn(shell(f"echo ready; {script}"), None)
    assert spawned.stdout.readline() == b"ready\n"
    members = group_members(spawned.process.pid)
    assert members
    terminate(spawned, grace=QUICK)
    terminate(spawned, grace=QUICK)
    assert spawned.process.returncode is not None
    assert spawned.stdin.closed
    assert spawned.stdout.closed
    for pidfd in members:
        assert select.select([pidfd], [], [], 5)[0], "a process of the group lives on"
        os.close(pidfd)


def group_members(group: int) -> list[int]:
    """A pidfd for each process of a process group."""
    return [
        os.pidfd_open(int(stat.parent.name))
        for stat in Path("/proc").glob("[0-9]*/stat")
        if (fields := _stat(stat)) and fields[2] == str(group)
    ]


def _stat(path: Path) -> list[str]:
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def test_a_server_ends_when_we_are_killed_outright() -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from config.servers import ServerSpec; from core.process.server import spawn\n"
        f"spec = ServerSpec('a', (sys.executable, {str(SERVERS / 'able_server.py')!r}), Path())\n"
        "print(spawn(spec, None).process.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        pidfd = os.pidfd_open(int(agent.stdout.readline()))
        try:
            agent.send_signal(signal.SIGKILL)
            assert select.select([pidfd], [], [], 10)[0], "the server outlived us"
        finally:
            os.close(pidfd)


def test_a_child_that_left_the_session_ends_with_its_server(tmp_path: Path) -> None:
    script = "setsid sh -c 'echo $$; exec sleep 600' & cat"
    server = spawn(ServerSpec("s", ("sh", "-c", script), tmp_path), None)
    pid = int(server.stdout.readline())
    mark = server.mark
    assert mark is not None
    wait_until(lambda: pid in marked(mark))  # a process that begins another program has no mark yet
    terminate(server)
    assert marked(mark) == []


def test_what_outlived_its_agent_is_named_with_its_server() -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=-1)
    mark = f"{int(ended.stdout)}:notes:word"
    child = subprocess.Popen(["sleep", "600"], env={MARK: mark, "PATH": os.environ["PATH"]})
    try:
        assert (child.pid, "notes") in left_behind()
    finally:
        end_marked(mark)
    assert child.wait(10) == -signal.SIGKILL
    assert (child.pid, "notes") not in left_behind()
