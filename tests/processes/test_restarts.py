"""Restarts after crashes, wedged servers, turns, new tools: how a connection lives on."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.connections import PerCallConnection, ServerConnection
from core.dispatch.instance import ConnectionSettings
from core.errors import ServerLost, ServerStartError, ToolTimeout
from core.mcp.hooks import Question, Reply, SessionHooks
from core.process.server import spawn
from core.process.watchdog import Watchdog
from core.tools.spec import ToolSpec
from tests.core.dispatch.connections import connected, flaky, killed, starts, text_of
from tests.core.dispatch.fixture_servers import QUICK, SERVERS, is_gone, server
from tests.doubles import HandClock


async def test_the_first_start_ever_that_fails_is_told_at_once(tmp_path: Path) -> None:
    clock = HandClock()
    async with connected(flaky(tmp_path, "exit", "ok"), clock) as connection:
        with pytest.raises(ServerStartError, match=r"'flaky' did not start: it exited with code 1"):
            await connection.start()
        assert connection.status().state == "failed"
        assert "exited with code 1" in str(connection.status().problem)
        assert await text_of(connection, "write") == "life 2"
        assert connection.status().state == "up"
    assert clock.pauses == []


async def test_a_server_that_did_well_is_restarted_without_a_wait(tmp_path: Path) -> None:
    clock = HandClock()
    async with connected(flaky(tmp_path, "ok"), clock) as connection:
        for life in (1, 2, 3, 4, 5):
            assert await text_of(connection, "write") == f"life {life}"
            await killed(connection)
    assert clock.pauses == []


async def test_a_server_that_only_answered_a_ping_did_well_too(tmp_path: Path) -> None:
    clock = HandClock()
    async with connected(flaky(tmp_path, "ok"), clock) as connection:
        await connection.ping()
        await killed(connection)
        assert await text_of(connection, "write") == "life 2"
        await killed(connection)
        await connection.start()
        await killed(connection)
        assert await text_of(connection, "write") == "life 4"
    assert clock.pauses == [0.5], "only the third life answered nothing"


async def test_restarts_that_fail_are_tried_again_at_growing_intervals(tmp_path: Path) -> None:
    clock = HandClock()
    async with connected(flaky(tmp_path, "ok", "exit", "exit", "ok"), clock) as connection:
        await text_of(connection, "write")
        await killed(connection)
        assert await text_of(connection, "write") == "life 4"
    assert clock.pauses == [0.5, 1.0]


async def test_three_failures_in_a_row_are_given_up_and_the_next_use_begins_anew(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    spec = flaky(tmp_path, "ok", "exit", "exit", "exit", "exit", "ok")
    async with connected(spec, clock, logs=tmp_path) as connection:
        await text_of(connection, "write")
        await killed(connection)
        with pytest.raises(ServerStartError) as caught:
            await text_of(connection, "write")
        told = str(caught.value)
        assert "server 'flaky' was given up after 3 failures in a row" in told
        assert "it exited with code 2; then it exited with code 3; then it exited with" in told
        assert f"log: {tmp_path / 'flaky.log'}" in told
        assert "the next use tries anew" in told
        assert clock.pauses == [0.5, 1.0]
        assert await text_of(connection, "write") == "life 6"
    assert clock.pauses == [0.5, 1.0, 0.5]


async def test_a_life_that_ended_before_it_answered_anything_is_a_failure(tmp_path: Path) -> None:
    clock = HandClock()
    async with connected(flaky(tmp_path, "ok", "leave", "exit", "exit", "ok"), clock) as connection:
        await text_of(connection, "write")
        await killed(connection)
        with pytest.raises(ServerLost, match="exited with code 7 before it answered 'write'"):
            await text_of(connection, "write")
        with pytest.raises(ServerStartError, match=r"code 7 before it had.* code 3.* 4"):
            await text_of(connection, "write")
    assert clock.pauses == [0.5, 1.0]


async def test_waits_count_against_the_time_for_the_start(tmp_path: Path) -> None:
    clock = HandClock()
    spec = replace(flaky(tmp_path, "ok", "exit"), start_timeout_seconds=1.2)
    async with connected(spec, clock) as connection:
        await text_of(connection, "write")
        await killed(connection)
        with pytest.raises(ServerStartError, match=r"2 failures.*1\.2 s .*are over|3 failures"):
            await text_of(connection, "write")
    assert sum(clock.pauses) <= 1.2


async def test_what_is_wrong_with_the_entry_is_never_tried_twice(tmp_path: Path) -> None:
    clock = HandClock()
    for name in ("rpc.py", "flaky_server.py"):
        (tmp_path / name).write_text((SERVERS / name).read_text())
    python = server("flaky").command[0]
    command = (python, str(tmp_path / "flaky_server.py"), str(tmp_path / "starts"), "ok")
    spec = ServerSpec("flaky", command, tmp_path, origin="in /home/me/mcp.json")
    async with connected(spec, clock) as connection:
        await text_of(connection, "write")
        (tmp_path / "flaky_server.py").unlink()
        await killed(connection)
        with pytest.raises(ServerStartError, match=r"not there.*'flaky' in /home/me/mcp\.json"):
            await text_of(connection, "write")
    problem = "server 'flaky' in /home/me/mcp.json can't be used: key 'env.X': Y is not set"
    async with connected(replace(spec, problem=problem), clock) as connection:
        with pytest.raises(ServerStartError) as caught:
            await connection.start()
    assert str(caught.value) == problem
    assert clock.pauses == []


async def test_calls_at_the_same_time_share_one_restart_and_a_cancelled_one_leaves_it(
    tmp_path: Path,
) -> None:
    async with connected(flaky(tmp_path, "ok")) as connection:
        await text_of(connection, "write")
        await killed(connection)
        calls = [asyncio.create_task(text_of(connection, "write")) for _ in range(5)]
        await asyncio.sleep(0)
        calls[0].cancel()
        assert await asyncio.gather(*calls[1:]) == ["life 2"] * 4
        assert calls[0].cancelled()
    assert starts(tmp_path) == 2


async def test_a_wedged_server_is_recycled_and_its_other_calls_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.dispatch.instance.PING_SECONDS", 0.1)
    spec = replace(server("able"), tool_timeout_seconds={"block": 0.05})
    async with connected(spec) as connection:
        pid = int(await text_of(connection, "pid"))
        hanging = asyncio.create_task(text_of(connection, "hang"))
        with pytest.raises(ToolTimeout, match="did not answer a ping either, and was recycled"):
            await text_of(connection, "block")
        with pytest.raises(ServerLost, match=r"recycled because it did not.*'hang'"):
            await hanging
        assert int(await text_of(connection, "pid")) != pid
        assert is_gone(pid)


async def test_a_verdict_that_takes_long_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.dispatch.connections.VERDICT_SECONDS", 0.01)
    spec = replace(server("able"), tool_timeout_seconds={"block": 0.05})
    async with connected(spec) as connection:
        with pytest.raises(ToolTimeout, match="unless it answers a ping soon, it is recycled"):
            await text_of(connection, "block")


async def test_a_ping_is_timed_and_an_unanswered_one_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.dispatch.instance.PING_SECONDS", 0.2)
    async with connected(server("able")) as connection:
        assert 0 < await connection.ping() < 5
        blocking = asyncio.create_task(text_of(connection, "block"))
        await asyncio.sleep(0)
        with pytest.raises(ServerLost, match="was recycled because it did not answer a ping"):
            await connection.ping()
        with pytest.raises(ServerLost):
            await blocking


async def test_calls_beyond_the_limit_wait_their_turn_and_the_wait_is_theirs() -> None:
    spec = replace(
        server("able"), concurrent_calls=1, tool_timeout_seconds={"pid": 0.05, "late": 5}
    )
    async with connected(spec) as connection:
        await connection.start()
        hanging = asyncio.create_task(text_of(connection, "hang"))
        await asyncio.sleep(0)
        with pytest.raises(
            ToolTimeout, match=r"'pid' within 0\.05 s .*busy with another call.*not"
        ):
            await text_of(connection, "pid")
        waiting = asyncio.create_task(text_of(connection, "echo"))
        await asyncio.sleep(0)
        waiting.cancel()
        hanging.cancel()
        await asyncio.wait({waiting, hanging})
        assert await text_of(connection, "echo") == ""


async def test_changed_tools_are_listed_again_while_calls_go_on() -> None:
    listings: list[list[str]] = []
    seen = asyncio.Event()

    async def on_tools(tools: list[ToolSpec], left_out: Sequence[str]) -> None:
        listings.append([tool.name for tool in tools])
        if "grown" in listings[-1]:
            seen.set()

    async with connected(server("able"), on_tools=on_tools) as connection:
        await connection.start()
        for _ in range(60):
            await connection.call("grow", {"name": "grow", "times": 5})
        await connection.call("grow", {"name": "grown"})
        await seen.wait()
        assert await text_of(connection, "echo") == ""
        assert "grown" in [tool.name for tool in await connection.start()]
        assert connection.status().tools == len(listings[-1])
    assert len(listings) <= 3, "one at the start, one at once, and one for all that came meanwhile"


async def test_a_listing_that_fails_keeps_the_old_list_and_says_so() -> None:
    told: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()
    hooks = SessionHooks(on_log=lambda name, level, text: told.put_nowait((name, level, text)))
    async with connected(server("able"), hooks=hooks) as connection:
        before = await connection.start()
        await connection.call("lose_list", {})
        name, level, text = await told.get()
        assert (name, level) == ("able", "warning")
        assert "the old list stays: it answered tools/list with an error (not now)" in text
        assert await connection.start() == before


async def test_a_question_stops_the_clock_of_those_who_wait_for_their_turn() -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def ask(question: Question) -> Reply:
        asked.set()
        await answered.wait()
        return Reply("decline")

    spec = replace(
        server("able"), concurrent_calls=1, tool_timeout_seconds={"echo": 0.4, "question": 5}
    )
    async with connected(spec, hooks=SessionHooks(ask=ask)) as connection:
        await connection.start()
        asking = asyncio.create_task(text_of(connection, "question"))
        await asked.wait()
        waiting = asyncio.create_task(text_of(connection, "echo"))
        await asyncio.sleep(0.8)  # twice its time
        answered.set()
        assert await asking == "decline"
        assert await waiting == ""


async def test_the_status_tells_what_is_known(tmp_path: Path) -> None:
    async with connected(server("able"), logs=tmp_path) as connection:
        assert connection.status().state == "not started"
        tools = await connection.start()
        status = connection.status()
        assert (status.id, status.state, status.title, status.version) == (
            "able",
            "up",
            "fixture",
            "1",
        )
        assert (status.tools, status.log_path) == (len(tools), tmp_path / "able.log")
        assert status.protocol_version.startswith("20")
        assert status.pid == int(await text_of(connection, "pid"))
        assert status.start_seconds is not None
        await killed(connection)
        assert connection.status().state == "down"
        assert connection.status().pid is None
    with pytest.raises(ServerLost, match="was closed"):
        await connection.start()


async def test_processes_per_call_keep_to_the_limit_and_tell_their_status(tmp_path: Path) -> None:
    spec = replace(server("able"), connection="per_call", concurrent_calls=2)
    settings = ConnectionSettings(tmp_path, QUICK, SessionHooks(), watchdog=Watchdog(QUICK))
    connection = PerCallConnection(spec, settings)
    async with asyncio.timeout(20):
        assert connection.status().state == "not started"
        assert 0 < await connection.ping() < 5
        results = await asyncio.gather(*(connection.call("pid", {}) for _ in range(4)))
        assert len({result.text for result in results}) == 4
        assert connection.status().state == "down"
        assert connection.status().tools
        with pytest.raises(ServerLost):
            await connection.call("die", {})
        assert connection.status().state == "failed"
        await connection.aclose()
        with pytest.raises(ServerLost, match="was closed"):
            await connection.call("pid", {})


@pytest.mark.parametrize("turns", range(6))
async def test_a_process_that_was_given_ends_however_early_its_server_is_closed(turns: int) -> None:
    spec = server("able")
    spawned = spawn(spec, None)
    settings = ConnectionSettings(None, QUICK, SessionHooks(), watchdog=Watchdog(QUICK))
    connection = ServerConnection(spec, settings, spawned)
    starting = asyncio.create_task(connection.start())
    async with asyncio.timeout(10):
        for _ in range(turns):
            await asyncio.sleep(0)
        await connection.aclose()
        await asyncio.wait({starting})
    assert isinstance(starting.exception(), ServerStartError | ServerLost)
    assert spawned.process.returncode is not None
