"""What outlasts a session, at the prompt: searched, shown, forgotten."""

from pathlib import Path

import pytest

from config.schema import load_profile
from config.server_list import memory_server, server_list
from config.settings import ROOT, Places
from core.base.memory.exchanges import DatedExchange
from core.errors import ExitCode, UsageError
from tests.core.base.memory.session_files import write_session
from tests.doubles import profile
from tests.modules.cli.prompt_commands.typed import Typed

ANSWER = "async def solve():\n    return 'FINAL_ANSWER: noted'"


async def test_what_was_stated_is_shown_and_forgotten(tmp_path: Path) -> None:
    async with Typed(tmp_path, ANSWER, ANSWER) as typed:
        await typed.run("/memory")
        assert typed.said.pop() == "memory: nothing that you have stated is kept"
        await typed.ask("Remember that I live in Oslo and my dog is called Rex.")
        await typed.ask("Remember that I moved to Rome.")
        await typed.run("/memory")
        home, dog = typed.said.pop().splitlines()
        assert "I moved to Rome (" in home
        assert "before: I live in Oslo" in home
        assert "my dog is called Rex" in dog
        await typed.run("/memory dog")
        assert "Rome" not in typed.said.pop()
        await typed.run("/forget my dog")
        assert typed.said.pop() == "memory: forgotten: my dog is called Rex"
        with pytest.raises(UsageError, match="nothing is kept that says 'my dog'"):
            await typed.run("/forget my dog")


async def test_earlier_sessions_are_searched(tmp_path: Path) -> None:
    usual = profile()
    kept = DatedExchange(1.7e9, "how long is the notice period?", "three months")
    write_session(usual.memory_folder(tmp_path), "lease", [kept])
    places = Places(ROOT, tmp_path)
    servers = server_list(usual, places, tmp_path / "profile.yaml")
    server = memory_server(servers, usual, places, {"CORTEX_HOME": str(tmp_path)})
    async with Typed(tmp_path, servers=[server]) as typed:
        assert await typed.run("/search notice period") == ExitCode.ANSWERED
        assert "three months" in typed.said[-1]


async def test_what_can_t_be_searched_or_forgotten_is_said(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        for line, why in (
            ("/search", "say what to look for"),
            ("/search x", "no memory server"),
            ("/forget", "say what to forget"),
        ):
            with pytest.raises(UsageError, match=why):
                await typed.run(line)
    async with Typed(tmp_path, profile=profile().without_memory()) as typed:
        for line in ("/search x", "/memory", "/forget x"):
            with pytest.raises(UsageError, match="memory is off"):
                await typed.run(line)


def test_the_shipped_profile_has_the_server_last(tmp_path: Path) -> None:
    shipped = load_profile(ROOT / "config" / "profiles.yaml")
    servers = server_list(shipped, Places(ROOT, tmp_path), ROOT / "config" / "profiles.yaml")
    assert memory_server(servers, shipped, Places(ROOT, tmp_path), {}) == servers.specs[-1]
