"""`/mcp` and `/tools` at the prompt."""

import asyncio
from pathlib import Path

import pytest

from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode
from core.session import MultiMCP
from modules.commands.at_prompt import PromptCommands
from tests.core.fixture_servers import QUICK, server

BOUND_SECONDS = 10


def commands(dispatcher: MultiMCP) -> tuple[PromptCommands, list[str]]:
    """The commands, and the texts that they say."""
    said: list[str] = []
    return PromptCommands(dispatcher, lambda stage, text: said.append(f"{stage}: {text}")), said


@pytest.mark.parametrize("line", ["mcp", "tools", "/mcp list", "/tool", "", "/", "add 1 and 2"])
async def test_other_lines_are_left_alone(line: str) -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert await prompt.run(line) is None
        assert said == []


async def test_without_servers_there_are_none_and_no_tools() -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert [await prompt.run(line) for line in ("/mcp", " /TOOLS ")] == [ExitCode.ANSWERED] * 2
        assert said == ["mcp: 0 servers", "mcp: 0 tools"]


async def test_servers_are_shown_without_starting_any(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with MultiMCP([server("counting", str(starts))], stop_grace=QUICK) as dispatcher:
        prompt, said = commands(dispatcher)
        await prompt.run("/mcp")
        assert said[0].startswith("mcp: 1 server\nNAME")
        assert not starts.exists()


async def test_ctrl_c_stops_the_wait_for_a_server_that_never_answers() -> None:
    async def interrupt(text: str) -> None:
        prompt.interrupt()

    hooks = DispatcherHooks(on_waiting=interrupt)
    dispatcher = MultiMCP(
        [server("silent")], hooks=hooks, stop_grace=QUICK, slow_start_seconds=0.01
    )
    prompt, said = commands(dispatcher)
    prompt.interrupt()  # nothing runs: nothing happens
    async with asyncio.timeout(BOUND_SECONDS), dispatcher:
        assert await prompt.run("/tools") == ExitCode.INTERRUPTED
        assert said == []
        assert await prompt.run("/mcp") == ExitCode.ANSWERED
