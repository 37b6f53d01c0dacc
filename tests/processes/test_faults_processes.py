"""Every fault that a server process can have, each with a real process."""

import asyncio
import gc
import os
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import RESULT_BYTES_MAX, ServerSpec
from core.dispatch.connections import ServerConnection
from core.dispatch.instance import ConnectionSettings
from core.errors import ServerError, ServerLost, ToolTimeout
from core.mcp.hooks import SessionHooks
from core.process.watchdog import Watchdog
from core.tools.spec import ToolSpec
from tests.core.dispatch.fault_checks import (
    assert_tells,
    open_descriptors,
    processes_with,
    unharmed,
)
from tests.core.dispatch.fixture_servers import QUICK, ROOT, SERVERS, ask, server

MB = 1_000_000
REPLY = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"TEXT"}]}}'


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        (server("dying"), ["exited with code 1", "'ImportError: no module named teapot'"]),
        (
            replace(server("silent"), start_timeout_seconds=0.2),
            ["within 0.2 s (start_timeout_seconds of 'silent' under mcp_servers"],
        ),
        (server("babbling"), ["exited with code 0", "'Usage: babble [options]'"]),
        (server("cut_off"), ["exited with code 0"]),
        (server("endless"), ["more than 100 pages"]),
        (server("odd", "refuse"), ["answered initialize with an error (not today)"]),
    ],
    ids=lambda value: value.id if isinstance(value, ServerSpec) else "",
)
async def test_a_start_that_fails_is_told_and_harms_nobody(
    spec: ServerSpec, parts: list[str], tmp_path: Path
) -> None:
    async with unharmed(spec, tmp_path) as multi:
        error = multi.failures[spec.id]
        assert_tells(error, spec.id, f"log: {tmp_path / spec.id}.log", "did not start", *parts)


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "parts"),
    [
        ("die", {}, ServerLost, ["was ended by signal 9", "effect is unknown"]),
        ("close_output", {}, ServerLost, ["before it answered", "effect is unknown"]),
        ("big", {"bytes": 68 * MB}, ServerLost, ["sent a message of more than 67,108,864 bytes"]),
        (
            "late",
            {"seconds": 0.3},
            ToolTimeout,
            [
                "within 0.1 s (tool_timeout_seconds of 'bad' under mcp_servers in the profile)",
                "the server itself is well",
            ],
        ),
        ("block", {}, ToolTimeout, ["within 0.1 s", "not answer a ping either, and was recycled"]),
    ],
    ids=["killed in flight", "closes its output", "endless line", "late answer", "blocked loop"],
)
async def test_a_call_that_fails_is_told_harms_nobody_and_the_next_one_works(
    tool: str,
    arguments: dict[str, int | float],
    kind: type[ServerError],
    parts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.dispatch.instance.PING_SECONDS", 0.1)
    seconds = {"late": 0.1, "block": 0.1}
    spec = replace(server("able", id="bad"), tool_timeout_seconds=seconds)
    async with unharmed(spec, tmp_path) as multi:
        with pytest.raises(kind) as caught:
            await multi.call_tool(f"bad.{tool}", dict(arguments))
        assert_tells(caught.value, "bad", f"log: {tmp_path / 'bad.log'}", f"'{tool}'", *parts)
        assert await ask(multi, "bad.echo", text="again") == "again"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"{REPLY}\r\n", "TEXT"),
        (f"\n\nlog: x\n[1]\n{REPLY}\n", "TEXT"),
        (REPLY.replace("TEXT", "\xff") + "\n", "\ufffd"),
        ('{"jsonrpc":"2.0","id":ID,"result":[]}\n', "the server's answer is malformed"),
    ],
    ids=["CRLF", "stray text", "invalid UTF-8", "malformed reply"],
)
async def test_odd_lines_cost_no_session(line: str, text: str, tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        pid = await ask(multi, "bad.pid")
        assert await ask(multi, "bad.raw", line=line) == text
        assert await ask(multi, "bad.pid") == pid


async def test_a_line_that_comes_in_parts_is_one_line(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        first = asyncio.create_task(ask(multi, "bad.raw", line=REPLY[:40]))
        await asyncio.sleep(0)
        second = ask(multi, "bad.raw", line=f"{REPLY[40:]}\n{REPLY}\n".replace("TEXT", "rest"))
        assert await second == "rest"
        assert await first == "rest"


@pytest.mark.parametrize("size", [10 * MB, 50 * MB])
async def test_a_long_line_is_read_and_cut_at_the_servers_limit(size: int, tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi, asyncio.timeout(10):
        result = await multi.call_tool("bad.big", {"bytes": size})
        assert len(result.text) + result.omitted_bytes >= size
        assert (result.omitted_bytes > 0) == (size > RESULT_BYTES_MAX)
        assert ("[cut: " in result.text[-300:]) == (result.omitted_bytes > 0)


async def test_a_flood_on_stderr_holds_nobody_up(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        assert await ask(multi, "bad.flood", bytes=5 * MB) == "flooded"


async def test_a_result_that_breaks_its_promise_is_an_error_of_the_tool(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        result = await multi.call_tool("bad.unfit", {})
        assert result.is_error
        assert "does not fit what it promised" in result.text


async def test_tools_that_change_can_be_called_without_a_restart(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        pid = await ask(multi, "bad.pid")
        await ask(multi, "bad.grow", name="grown")
        async with asyncio.timeout(5):
            while "bad.grown" not in multi.catalog:  # noqa: ASYNC110 - it is known when it is
                await asyncio.sleep(0)
        assert (await multi.call_tool("bad.grown", {})).text == "no tool grown"
        assert await ask(multi, "bad.pid") == pid


async def test_a_child_that_outlives_its_server_is_ended_with_it(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        child = int(await ask(multi, "bad.fork"))
        with pytest.raises(ServerLost):
            await ask(multi, "bad.die")
        assert int(await ask(multi, "bad.pid")) != child


async def test_a_server_that_ignores_its_stdin_and_sigterm_is_ended(tmp_path: Path) -> None:
    async with unharmed(server("stubborn"), tmp_path) as multi:
        assert len((await ask(multi, "pids")).split()) == 2


async def test_a_server_that_is_killed_while_idle_is_back_at_the_next_call(tmp_path: Path) -> None:
    async with unharmed(server("able", id="bad"), tmp_path) as multi:
        pid = int(await ask(multi, "bad.pid"))
        os.kill(pid, 9)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - so nobody notices
        assert await ask(multi, "bad.echo", text="back") == "back"
        assert int(await ask(multi, "bad.pid")) != pid


ROUNDS, WARM_UP = 60, 10


async def test_sixty_deaths_and_restarts_leave_nothing_behind(tmp_path: Path) -> None:
    # One in the shell, for sixty interpreters would take all of three seconds.
    spec = ServerSpec("bad", ("sh", str(SERVERS / "brief_server.sh"), str(tmp_path)), ROOT)
    settings = ConnectionSettings(tmp_path, QUICK, SessionHooks(), watchdog=Watchdog(QUICK))
    connection = ServerConnection(spec, settings)
    pid = ToolSpec("bad", "pid", "", {}, read_only=True)
    seen: set[int] = set()
    before, tasks, objects = open_descriptors(), asyncio.all_tasks(), 0
    for number in range(ROUNDS):
        server_pid = int((await connection.call(pid, {})).text)
        seen.add(server_pid)
        os.kill(server_pid, 9)
        if number == WARM_UP:
            objects = live_objects()
    assert len(seen) == ROUNDS
    assert live_objects() - objects < ROUNDS
    await connection.aclose()
    assert open_descriptors() == before
    assert asyncio.all_tasks() == tasks
    assert processes_with(str(tmp_path)) == []


def live_objects() -> int:
    """How many objects the garbage collector knows: it grows by some each round where one leaks."""
    gc.collect()
    return len(gc.get_objects())
