"""A tool whose definition has changed is not called before the user agreed, whatever happens."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ConnectionMode, ServerSpec
from core.dispatch.hooks import Approve, DispatcherHooks, ToolChange, refuse
from core.dispatch.tool_pins import ToolPins
from core.errors import CallRefused
from core.session import MultiMCP
from tests.core.dispatch.fixture_servers import QUICK, server


def pinned(spec: ServerSpec, folder: Path, approve: Approve = refuse) -> MultiMCP:
    return MultiMCP(
        [spec],
        pins=ToolPins(folder / "pins.json"),
        hooks=DispatcherHooks(approve=approve),
        stop_grace=QUICK,
    )


@pytest.mark.parametrize("connection", ["per_call", "persistent"])
async def test_a_call_that_finds_its_tool_changed_and_refused_is_not_sent(
    connection: ConnectionMode, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    words.write_text("harmless")
    spec = replace(server("redefined", str(words)), connection=connection)
    async with asyncio.timeout(20), pinned(spec, tmp_path) as multi:
        await multi.initialize()
        assert (await multi.call_tool("read", {})).text == "a note"
        words.write_text("poisoned")
        if (pid := multi.status()[0].pid) is not None:
            os.kill(pid, 9)
            while multi.status()[0].state == "up":  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        with pytest.raises(CallRefused, match="left out"):
            await multi.call_tool("read", {})


async def test_tools_of_a_bundled_server_change_with_the_program(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("harmless")
    spec = replace(server("redefined", str(words)), bundled=True, connection="per_call")
    async with asyncio.timeout(20), pinned(spec, tmp_path) as multi:
        await multi.initialize()
        words.write_text("other")
        assert (await multi.call_tool("read", {})).text == "a note"
    assert not (tmp_path / "pins.json").exists()


async def test_a_question_that_the_servers_end_cut_short_is_asked_again(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("harmless")
    asked: list[str] = []
    is_asked = asyncio.Event()

    async def approve(changes: Sequence[ToolChange]) -> bool:
        asked.extend(change.tool for change in changes)
        is_asked.set()
        if len(asked) == 1:
            await asyncio.Event().wait()
        return False

    async with (
        asyncio.timeout(20),
        pinned(server("turning", str(words)), tmp_path, approve) as multi,
    ):
        await multi.initialize()
        await multi.call_tool("turn", {})
        await is_asked.wait()
        with pytest.raises(CallRefused, match="left out"):
            await multi.call_tool("read", {})
    assert asked == ["read", "read"]
