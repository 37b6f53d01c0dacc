"""Servers, tools and documents at the prompt."""

import asyncio
from pathlib import Path

from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode
from tests.core.dispatch.fixture_servers import server
from tests.modules.cli.prompt_commands.typed import Typed

BOUND_SECONDS = 10


async def test_without_servers_there_are_none_and_no_tools(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert [await typed.run(line) for line in ("/mcp", " /TOOLS ")] == [ExitCode.ANSWERED] * 2
        assert typed.said == ["mcp: 0 servers", "mcp: 0 tools"]


async def test_servers_are_shown_without_starting_any(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with Typed(tmp_path, servers=[server("counting", str(starts))]) as typed:
        await typed.run("/mcp")
        hint = "one that is down starts when it is needed"
        assert typed.said[0].startswith(f"mcp: 1 server; {hint}\nNAME")
        assert not starts.exists()


async def test_servers_that_are_switched_off_are_named(tmp_path: Path) -> None:
    async with Typed(tmp_path, disabled=[server("silent")]) as typed:
        await typed.run("/mcp")
        assert typed.said[0].startswith("mcp: 0 servers\nswitched off: silent;")


async def test_ctrl_c_stops_the_wait_for_a_server_that_never_answers(tmp_path: Path) -> None:
    async def interrupt(text: str) -> None:
        typed.commands.interrupt()

    hooks = DispatcherHooks(on_waiting=interrupt)
    typed = Typed(tmp_path, servers=[server("silent")], hooks=hooks, slow_start_seconds=0.01)
    typed.commands.interrupt()  # nothing runs: nothing happens
    async with asyncio.timeout(BOUND_SECONDS), typed:
        assert await typed.run("/tools") == ExitCode.INTERRUPTED
        assert typed.said == []
        assert await typed.run("/mcp") == ExitCode.ANSWERED


async def test_documents_are_managed_with_the_words_as_they_were_typed(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run("/docs watch") == ExitCode.BAD_USAGE
        assert await typed.run("/DOCS search 'Notice") == ExitCode.BAD_USAGE
        assert typed.said[1] == "docs: No closing quotation: search 'Notice"
        assert await typed.run("/docs serch Notice") == ExitCode.BAD_USAGE
        assert typed.said[2].endswith("did you mean search?; see /help docs")
