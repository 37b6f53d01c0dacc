"""Servers that come, go, change and start anew while a dispatcher lives."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.dispatch.start_failures import StartFailures
from core.errors import CallRefused, ConfigurationError, ServerStartError
from tests.core.dispatch.fixture_servers import all_gone, ask, dispatcher, is_gone, server


async def test_what_stays_lives_on_and_what_is_gone_ends() -> None:
    one, two, three = (server("able", id=name) for name in ("one", "two", "three"))
    async with dispatcher(one, two) as (multi, notices):
        stays, goes = await ask(multi, "one.pid"), await ask(multi, "two.pid")
        await multi.configure([three, replace(one, origin="elsewhere", description="new words")])
        assert await ask(multi, "one.pid") == stays
        assert is_gone(int(goes))
        assert multi.server_descriptions() == {"one": "new words"}
        with pytest.raises(CallRefused, match="two"):
            await ask(multi, "two.pid")
        await multi.initialize()
        assert await ask(multi, "three.pid") not in (stays, goes)
        assert [*multi.server_tools] == [status.id for status in multi.status()] == ["three", "one"]
        assert notices == []


async def test_another_entry_of_the_same_name_is_another_server(tmp_path: Path) -> None:
    async with dispatcher(server("able", id="one")) as (multi, _):
        pid = await ask(multi, "one.pid")
        await multi.configure([server("counting", str(tmp_path / "starts"), id="one")])
        await all_gone([pid])
        assert [*multi.server_tools] == []
        await multi.initialize()
        assert {*multi.tool_map} == {"echo", "other"}


async def test_one_that_still_starts_is_ended_and_not_held_against_it(tmp_path: Path) -> None:
    failures = StartFailures(tmp_path / "failures.json")
    silent = server("silent")
    async with dispatcher(silent, failures=failures, initialize=False) as (multi, notices):
        await multi.start()
        await multi.configure([])
        assert (multi.status(), multi.failures, notices) == ([], {}, [])
        assert failures.of(silent) is None


async def test_two_of_one_id_change_nothing() -> None:
    async with dispatcher(server("able")) as (multi, _):
        pid = await ask(multi, "pid")
        with pytest.raises(ConfigurationError, match="several servers have the id able"):
            await multi.configure([server("able"), server("able")])
        assert await ask(multi, "pid") == pid


async def test_a_restart_ends_one_session_and_begins_another() -> None:
    async with dispatcher(server("able")) as (multi, notices):
        before = await ask(multi, "pid")
        await multi.restart("able")
        assert is_gone(int(before))
        assert await ask(multi, "pid") != before
        assert notices == []


async def test_a_restart_tries_what_failed_before(tmp_path: Path) -> None:
    failures = StartFailures(tmp_path / "failures.json")
    dying = server("dying")
    async with dispatcher(dying, failures=failures) as (multi, _):
        assert failures.resting(dying) is not None
        with pytest.raises(ServerStartError):
            await multi.restart("dying")
        failure = failures.of(dying)
        assert failure is not None
        assert failure.count == 2


async def test_a_restart_of_one_that_still_starts_is_no_failure_of_it(tmp_path: Path) -> None:
    failures = StartFailures(tmp_path / "failures.json")
    silent = replace(server("silent"), start_timeout_seconds=0.5)
    async with dispatcher(silent, failures=failures, logs=tmp_path / "logs", initialize=False) as (
        multi,
        notices,
    ):
        await multi.start()
        for _ in range(9):  # turns of the loop, in which its process is started
            await asyncio.sleep(0)
        assert multi.status()[0].log_path is not None
        with pytest.raises(ServerStartError, match="within"):
            await multi.restart("silent")
        assert notices == []
        failure = failures.of(silent)
        assert failure is not None
        assert failure.count == 1
