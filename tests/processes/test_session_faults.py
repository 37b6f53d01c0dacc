"""Servers that fail, each a real process: nothing hangs, nothing leaks, the others go on."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.hooks import DispatcherHooks
from core.errors import CallRefused, ServerLost, ToolTimeout
from core.process.server_log import LOG_BYTES_MAX
from core.session import MultiMCP
from tests.core.dispatch.fixture_servers import (
    QUICK,
    ROOT,
    all_gone,
    ask,
    dispatcher,
    is_gone,
    server,
)


async def test_failing_servers_are_named_and_the_others_work(tmp_path: Path) -> None:
    silent = replace(server("silent"), start_timeout_seconds=0.2)
    absent = ServerSpec("absent", ("no-such-program-at-all",), ROOT)
    refusing = server("odd", "refuse", id="refusing")
    specs = [server(name) for name in ("able", "babbling", "dying", "endless")]
    async with dispatcher(*specs, silent, absent, refusing, logs=tmp_path) as (multi, notices):
        assert await ask(multi, "echo", text="fine") == "fine"
        assert set(multi.failures) == {spec.id for spec in (*specs[1:], silent, absent, refusing)}
        assert set(multi.server_descriptions()) == {"able"}
        told = {name: str(error) for name, error in multi.failures.items()}
        assert sorted(told.values()) == sorted(notices)
    assert "'Usage: babble [options]'" in told["babbling"]
    assert "exited with code 1" in told["dying"]
    assert "'ImportError: no module named teapot'" in told["dying"]
    assert str(tmp_path / "dying.log") in told["dying"]
    assert "more than 100 pages" in told["endless"]
    assert "within 0.2 s" in told["silent"]
    assert "answered initialize with an error (not today)" in told["refusing"]
    assert "no-such-program-at-all" in told["absent"]
    for name, text in told.items():
        assert f"server '{name}' did not start" in text


async def test_a_server_that_starts_slowly_is_named_while_it_is_waited_for() -> None:
    told: list[str] = []

    async def on_waiting(text: str) -> None:
        told.append(text)

    silent = replace(server("silent"), start_timeout_seconds=0.2)
    async with (
        asyncio.timeout(20),
        MultiMCP(
            [silent, server("able")],
            hooks=DispatcherHooks(on_waiting=on_waiting),
            stop_grace=QUICK,
            slow_start_seconds=0.1,
        ) as multi,
    ):
        await multi.initialize()
        assert "server 'silent' is still starting; it has 0.2 s for it" in told
        await multi.prepare(multi.resolve("echo"))
        with pytest.raises(CallRefused):
            multi.resolve("nonsense")


async def test_a_banner_on_stdout_does_not_matter() -> None:
    async with dispatcher(server("noisy")) as (multi, _):
        assert await ask(multi, "echo", text="hi") == "hi"


async def test_a_server_without_tools_is_no_failure() -> None:
    async with dispatcher(server("odd", "toolless")) as (multi, notices):
        assert multi.server_tools == {"odd": []}
        assert notices == []


async def test_a_running_servers_log_is_kept_in_bounds(tmp_path: Path) -> None:
    async with dispatcher(server("able"), logs=tmp_path) as (multi, _):
        await ask(multi, "flood", bytes=3 * LOG_BYTES_MAX)
    assert 0 < (tmp_path / "able.log").stat().st_size <= LOG_BYTES_MAX


async def test_a_call_that_takes_too_long_is_cancelled_and_the_server_lives_on() -> None:
    spec = replace(server("able"), tool_timeout_seconds={"hang": 0.1})
    async with dispatcher(spec) as (multi, _):
        pid = await ask(multi, "pid")
        with pytest.raises(ToolTimeout, match=r"'able' did not answer 'hang' within 0\.1 s"):
            await ask(multi, "hang")
        await until_cancelled(multi)
        assert await ask(multi, "pid") == pid


async def test_cancelling_a_caller_cancels_its_call_only() -> None:
    async with dispatcher(server("able")) as (multi, _):
        pid = await ask(multi, "pid")
        hanging = asyncio.create_task(ask(multi, "hang"))
        other = asyncio.create_task(ask(multi, "meet"))
        assert await ask(multi, "meet") == "met"  # by now the call before it was sent too
        hanging.cancel()
        await asyncio.wait({hanging})
        assert hanging.cancelled()
        assert await other == "met"
        await until_cancelled(multi)
        assert await ask(multi, "pid") == pid


async def until_cancelled(multi: MultiMCP) -> None:
    """Wait until the server has heard of one cancellation: it is sent a turn of the loop later."""
    while await ask(multi, "cancelled") != "1":  # noqa: ASYNC110 - only the server knows
        await asyncio.sleep(0)


async def test_a_killed_server_fails_every_open_call_and_the_next_call_restarts_it() -> None:
    async with dispatcher(server("able")) as (multi, _):
        pid = await ask(multi, "pid")
        hanging = asyncio.create_task(ask(multi, "hang"))
        await ask(multi, "echo")  # by now the call before it was sent too
        async with asyncio.timeout(2):
            with pytest.raises(ServerLost, match=r"signal 9 .*'die'.*unknown"):
                await ask(multi, "die")
            with pytest.raises(ServerLost, match="'hang'"):
                await hanging
        assert await ask(multi, "pid") != pid
        assert is_gone(int(pid))


async def test_a_lost_server_is_gone_before_its_successor_starts() -> None:
    grace = replace(QUICK, lost_seconds=0.7)  # longer than a call waits for details of the loss
    async with dispatcher(server("stubborn"), grace=grace) as (multi, _):
        pid, child = (await ask(multi, "pids")).split()
        with pytest.raises(ServerLost, match="closed its output"):
            await ask(multi, "close_output")
        assert not is_gone(int(pid))
        again, _ = (await ask(multi, "pids")).split()
        assert again != pid
        assert is_gone(int(pid))
        await all_gone([pid, child])


async def test_a_server_whose_child_holds_the_pipe_is_lost_at_once_and_the_child_ended() -> None:
    async with dispatcher(server("orphaning")) as (multi, _):
        pids = (await ask(multi, "pids")).split()
        async with asyncio.timeout(3):
            with pytest.raises(ServerLost, match="signal 9"):
                await ask(multi, "die")
            await all_gone(pids)


async def test_a_server_that_ignores_everything_is_gone_with_its_child_after_the_end() -> None:
    async with dispatcher(server("stubborn")) as (multi, _):
        pids = (await ask(multi, "pids")).split()
    async with asyncio.timeout(3):
        await all_gone(pids)


async def test_the_end_while_a_server_starts_and_while_a_call_is_open_is_clean() -> None:
    async with dispatcher(server("able")) as (multi, _):
        pid = int(await ask(multi, "pid"))
        hanging = asyncio.create_task(ask(multi, "hang"))
        await ask(multi, "echo")
    with pytest.raises(ServerLost, match="closed"):
        await hanging
    with pytest.raises(ServerLost, match="closed"):
        await multi.call_tool("echo", {})
    assert is_gone(pid)
    multi = MultiMCP([server("silent")], stop_grace=QUICK)
    await multi.start()
    starting = asyncio.create_task(multi.initialize())
    await asyncio.sleep(0)
    await multi.aclose()
    await multi.aclose()
    await starting
    assert multi.failures == {}, "who is ended while it starts has not failed"


async def test_a_cancelled_end_still_ends_the_servers() -> None:
    async with dispatcher(server("stubborn")) as (multi, _):
        pids = (await ask(multi, "pids")).split()
        closing = asyncio.create_task(multi.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()
        await all_gone(pids)


async def test_children_that_left_the_session_end_with_their_server() -> None:
    async with dispatcher(server("leaving")) as (multi, _):
        pids = (await ask(multi, "pids")).split()
        assert len(pids) == 2
        assert not any(is_gone(int(pid)) for pid in pids)
    async with asyncio.timeout(5):
        await all_gone(pids)


@pytest.mark.parametrize("tool", ["references", "circle", "old", "invalid"])
async def test_a_schema_or_result_that_would_trap_the_check_is_not_checked(tool: str) -> None:
    async with dispatcher(server("trapping")) as (multi, _):
        result = await multi.call_tool(tool, {})
    assert not result.is_error
    assert result.structured is not None


@pytest.mark.parametrize("tool", ["broken", "regex"])
async def test_a_result_that_breaks_its_schema_is_an_error_of_the_tool(tool: str) -> None:
    async with dispatcher(server("trapping")) as (multi, _):
        result = await multi.call_tool(tool, {})
    assert result.is_error
    assert "does not fit what it promised" in result.text


async def test_tools_that_nobody_can_name_are_left_out() -> None:
    async with dispatcher(server("trapping")) as (multi, _):
        assert all(tool.name.isprintable() and tool.name for tool in multi.catalog)
        assert len(multi.catalog) == 6
