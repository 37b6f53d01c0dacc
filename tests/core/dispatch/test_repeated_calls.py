"""Calls whose server is lost: repeated where that can do no harm, else their effect is unknown."""

from pathlib import Path

import pytest

from core.errors import ServerLost
from core.tools.spec import ToolSpec
from tests.core.dispatch.connections import connected, flaky, starts, text_of

READ, REPEAT, WRITE = (
    ToolSpec("flaky", name, "", {}, read_only=name == "read", idempotent=name == "repeat")
    for name in ("read", "repeat", "write")
)


@pytest.mark.parametrize("tool", [READ, REPEAT])
async def test_what_can_do_no_harm_is_called_again_after_a_crash(
    tmp_path: Path, tool: ToolSpec
) -> None:
    async with connected(flaky(tmp_path, "die", "ok")) as connection:
        assert await text_of(connection, tool) == "life 2"


@pytest.mark.parametrize("tool", [WRITE, "write", "read"])
async def test_any_other_call_is_not_repeated_and_its_effect_is_unknown(
    tmp_path: Path, tool: ToolSpec | str
) -> None:
    async with connected(flaky(tmp_path, "die", "ok"), logs=tmp_path) as connection:
        with pytest.raises(ServerLost, match=r"signal 9.*effect is unknown.*log: .*flaky\.log"):
            await text_of(connection, tool)
        assert starts(tmp_path) == 1


async def test_a_call_that_kills_its_server_is_repeated_once_only(tmp_path: Path) -> None:
    async with connected(flaky(tmp_path, "die")) as connection:
        with pytest.raises(ServerLost, match="was repeated once"):
            await text_of(connection, READ)
        assert starts(tmp_path) == 2


async def test_a_tool_that_the_restart_has_changed_is_not_called_again(tmp_path: Path) -> None:
    async with connected(flaky(tmp_path, "die", "other")) as connection:
        with pytest.raises(ServerLost, match="describes the tool differently now"):
            await text_of(connection, READ)


async def test_a_call_whose_server_does_not_come_back_says_both(tmp_path: Path) -> None:
    async with connected(flaky(tmp_path, "die", "exit"), logs=tmp_path) as connection:
        with pytest.raises(ServerLost, match=r"unknown.*not back: .*given up after 3 failures"):
            await text_of(connection, READ)
