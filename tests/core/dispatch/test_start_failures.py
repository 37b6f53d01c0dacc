"""Servers that did not start are remembered, left alone for a while, and set aside in the end."""

import asyncio
import json
import os
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.hooks import DispatcherHooks
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import (
    FAILURES_MAX,
    FILE_BYTES_MAX,
    PAUSES_SECONDS,
    SERVERS_MAX,
    StartFailures,
)
from core.errors import ServerStartError
from core.session import MultiMCP
from core.tools.spec import ToolSpec
from tests.core.dispatch.connections import flaky, starts
from tests.core.dispatch.fixture_servers import QUICK, dispatcher, server
from tests.doubles import HandClock

HANGING = ServerSpec("slow", ("sleep", "9"), Path("/"), env={"KEY": "secret-value"})


@pytest.fixture
def clock() -> HandClock:
    return HandClock(1_795_000_000.0)


@pytest.fixture
def failures(tmp_path: Path, clock: HandClock) -> StartFailures:
    return StartFailures(tmp_path / "failures.json", clock)


def test_a_server_rests_longer_after_each_failure_and_is_set_aside_in_the_end(
    failures: StartFailures, clock: HandClock
) -> None:
    assert failures.resting(HANGING) is None
    for pause in PAUSES_SECONDS:
        failures.add(HANGING)
        clock.seconds += pause - 1
        assert failures.resting(HANGING) is not None
        clock.seconds += 2
        assert failures.resting(HANGING) is None, "it is tried again"
    assert failures.add(HANGING).is_set_aside
    clock.seconds += 10 * 365 * 24 * 3600
    resting = failures.resting(HANGING)
    assert resting is not None
    assert resting.told(clock()) == (
        "server 'slow' is set aside: it failed to start 3 times in a row; to see why: "
        "agent.py mcp test slow; to bring it back: agent.py mcp enable slow"
    )


def test_another_process_knows_it_too_and_its_file_is_private_and_holds_no_secret(
    failures: StartFailures, tmp_path: Path, clock: HandClock
) -> None:
    failures.add(HANGING)
    file = tmp_path / "failures.json"
    clock.seconds += 30
    resting = StartFailures(file, clock).resting(HANGING)
    assert resting is not None
    assert "30 s ago and is left alone for another 30 s" in resting.told(clock())
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        {"command": ("sleep", "1")},
        {"env": {"KEY": "another"}},
        {"cwd": Path("/usr")},
        {"url": "http://localhost/mcp"},
        {"headers": {"A": "b"}},
        {"start_timeout_seconds": 60.0},
    ],
)
def test_a_changed_entry_starts_afresh(failures: StartFailures, change: dict[str, object]) -> None:
    for _ in range(FAILURES_MAX):
        failures.add(HANGING)
    changed = replace(HANGING, **change)
    assert failures.resting(changed) is None
    assert failures.add(changed).count == 1


def test_what_is_forgotten_starts_afresh(failures: StartFailures) -> None:
    failures.add(HANGING)
    assert failures.forget("slow")
    assert failures.of(HANGING) is None
    assert not failures.forget("slow")


def test_a_clock_that_was_put_back_keeps_nobody_waiting(
    failures: StartFailures, clock: HandClock
) -> None:
    failures.add(HANGING)
    clock.seconds -= 3600
    assert failures.resting(HANGING) is None


def test_unheeded_failures_are_counted_and_keep_no_server_back(tmp_path: Path) -> None:
    file = tmp_path / "failures.json"
    unheeding = StartFailures(file, is_heeded=False)
    for _ in range(FAILURES_MAX):
        unheeding.add(HANGING)
    assert unheeding.resting(HANGING) is None
    assert StartFailures(file).resting(HANGING) is not None


def test_the_oldest_of_too_many_are_dropped(failures: StartFailures, tmp_path: Path) -> None:
    file = tmp_path / "failures.json"
    failures.add(HANGING)
    kept = json.loads(file.read_text())
    (entry,) = kept["servers"].values()
    kept["servers"] = {f"s{number}": entry for number in range(SERVERS_MAX)}
    file.write_text(json.dumps(kept))
    for number in range(SERVERS_MAX, SERVERS_MAX + 5):
        failures.add(replace(HANGING, id=f"s{number}"))
    assert failures.of(replace(HANGING, id="s4")) is None
    assert failures.of(replace(HANGING, id="s5")) is not None
    assert file.stat().st_size < FILE_BYTES_MAX


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"format": 2, "servers": {}}',
        b'{"format": 1, "servers": {"slow": {"failures": true}}}',
        b'{"format": 1, "servers": [1]}',
        b"[" * 50_000,
        b" " * (FILE_BYTES_MAX + 1),
        b"\xff\xfe",
    ],
)
def test_a_damaged_file_means_no_memory_and_is_replaced(
    failures: StartFailures, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "failures.json"
    file.write_bytes(content)
    assert failures.resting(HANGING) is None
    assert failures.add(HANGING).count == 1
    assert json.loads(file.read_bytes())["servers"]["slow"]["failures"] == 1


def test_what_is_no_file_or_cannot_be_written_means_no_memory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert StartFailures(tmp_path / "pipe").resting(HANGING) is None
    (tmp_path / "file").touch()
    nowhere = StartFailures(tmp_path / "file" / "failures.json")
    assert nowhere.add(HANGING).count == 1
    assert nowhere.resting(HANGING) is None


def remembering(
    failures: StartFailures, *specs: ServerSpec, cache: ToolCache | None = None
) -> AbstractAsyncContextManager[tuple[MultiMCP, list[str]]]:
    """A dispatcher that remembers, and its notices; it has learned nothing yet."""
    return dispatcher(*specs, cache=cache, failures=failures, initialize=False)


async def test_a_failure_is_told_once_and_not_repeated_by_the_next_process(
    failures: StartFailures, tmp_path: Path
) -> None:
    spec = flaky(tmp_path, "exit", "ok")
    async with remembering(failures, spec) as (multi, notices):
        await multi.initialize()
        await multi.initialize()
        assert starts(tmp_path) == 1
        assert len(notices) == 1
        assert "did not start" in notices[0]
    async with remembering(failures, spec) as (multi, notices):
        await multi.initialize()
        await multi.initialize()
        assert starts(tmp_path) == 1, "nobody waits for it again"
        assert len(notices) == 1
        assert "is left alone for another" in notices[0]
        (status,) = multi.status()
        assert status.state == "failed"


async def test_the_third_failure_sets_a_server_aside_with_one_line(
    failures: StartFailures, tmp_path: Path, clock: HandClock
) -> None:
    spec = flaky(tmp_path, "exit")
    told: list[str] = []
    for pause in (*PAUSES_SECONDS, 0):
        async with remembering(failures, spec) as (multi, notices):
            await multi.initialize()
            clock.seconds += pause + 1
        told += notices
    assert len(told) == len(PAUSES_SECONDS) + 1
    assert "\n" not in told[-1]
    assert "mcp test flaky" in told[-1]
    assert "mcp enable flaky" in told[-1]
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, [ToolSpec("flaky", "read", "", {})])
    async with remembering(failures, spec, cache=cache) as (multi, notices):
        await multi.initialize()
        assert multi.get_all_tools() == [], "its cached tools are not offered either"
        assert multi.status()[0].state == "set aside"
    assert starts(tmp_path) == len(PAUSES_SECONDS) + 1


async def test_a_call_tries_a_resting_server_and_success_clears_the_record(
    failures: StartFailures, tmp_path: Path
) -> None:
    spec = flaky(tmp_path, "exit", "exit", "ok")
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, [ToolSpec("flaky", "read", "", {})])
    async with remembering(failures, spec, cache=cache) as (multi, _):
        await multi.initialize()
        for count in (1, 2):
            with pytest.raises(ServerStartError):
                await multi.call_tool("read", {})
            failure = failures.of(spec)
            assert failure is not None
            assert failure.count == count
        assert (await multi.call_tool("read", {})).text == "life 3"
    assert failures.of(spec) is None


async def test_an_entry_that_cannot_be_used_is_told_and_not_counted(
    failures: StartFailures,
) -> None:
    spec = ServerSpec("gone", ("/no/such/program",), Path("/"))
    async with remembering(failures, spec) as (multi, notices):
        await multi.initialize()
        assert "there is no program" in notices[0]
    assert failures.of(spec) is None


async def test_a_server_that_we_end_while_it_starts_has_not_failed(
    failures: StartFailures,
) -> None:
    spec = server("silent")
    async with remembering(failures, spec) as (multi, notices):
        await multi.start_unlearned()
        await asyncio.sleep(0)
    assert failures.of(spec) is None
    assert notices == []


async def test_recalling_starts_no_server_whose_tools_are_unknown(
    failures: StartFailures, tmp_path: Path
) -> None:
    known, unknown = flaky(tmp_path, "ok"), server("counting", str(tmp_path / "other"))
    cache = ToolCache(tmp_path / "cache")
    cache.store(known, [ToolSpec("flaky", "read", "", {})])
    async with remembering(failures, known, unknown, cache=cache) as (multi, _):
        await multi.recall()
        assert multi.unlearned() == [unknown]
        assert await multi.list_all_tools() == ["read"]
        assert await multi.learn_more()
        assert multi.unlearned() == []
        assert not await multi.learn_more()


async def test_a_server_that_npx_may_have_to_download_first_gets_time_and_it_is_said(
    failures: StartFailures, tmp_path: Path
) -> None:
    program = tmp_path / "npx"
    program.symlink_to("/bin/cat")
    waiting: list[str] = []
    told = asyncio.Event()

    async def on_waiting(text: str) -> None:
        waiting.append(text)
        told.set()

    @contextmanager
    def waiting_for(text: str) -> Generator[None]:
        named.append(text)
        try:
            yield
        finally:
            named.append(f"no more: {text}")

    named: list[str] = []
    spec = ServerSpec("fetched", (str(program), "-"), tmp_path)
    hooks = DispatcherHooks(on_waiting=on_waiting, waiting_for=waiting_for)
    multi = MultiMCP([spec], hooks=hooks, stop_grace=QUICK, slow_start_seconds=0)
    async with asyncio.timeout(20), multi:
        await multi.start()
        await told.wait()
    assert waiting == [
        "server 'fetched' is still starting; npx may have to download it first; it has 180 s for it"
    ]
    start, end = "server 'fetched' to start", "the servers to end"
    assert named[:2] == [start, end]
    assert sorted(named[2:]) == [f"no more: {start}", f"no more: {end}"]
