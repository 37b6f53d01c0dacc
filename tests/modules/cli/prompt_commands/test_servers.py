"""Servers, tools and documents at the prompt."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from config.server_list import server_list
from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode, ServerStartError, UsageError
from core.values import JsonObject
from modules.cli.mcp_list import NOTHING_CONFIGURED
from tests.command_line import write_profile
from tests.core.dispatch.fixture_servers import SERVERS, is_gone, server
from tests.doubles import profile
from tests.modules.cli.prompt_commands.typed import Typed

BOUND_SECONDS = 10


async def test_without_servers_there_are_none_and_no_tools(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert [await typed.run(line) for line in ("/mcp", " /TOOLS ")] == [ExitCode.ANSWERED] * 2
        assert typed.said == [f"mcp: {NOTHING_CONFIGURED}", "mcp: 0 tools"]


async def test_servers_are_shown_without_starting_any(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with Typed(tmp_path, servers=[server("counting", str(starts))]) as typed:
        await typed.run("/mcp")
        hint = "one that does not run starts when it is needed"
        assert typed.said[0].startswith(f"mcp: 1 server; {hint}\nNAME")
        assert "counting  not started" in typed.said[0]
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
        assert typed.said == ["loop: /tools was stopped"]
        assert await typed.run("/mcp") == ExitCode.ANSWERED


async def test_documents_are_managed_with_the_words_as_they_were_typed(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run("/docs watch") == ExitCode.BAD_USAGE
        assert await typed.run("/DOCS search 'Notice") == ExitCode.BAD_USAGE
        assert typed.said[1] == "docs: No closing quotation: search 'Notice"
        assert await typed.run("/docs serch Notice") == ExitCode.BAD_USAGE
        assert typed.said[2].endswith("did you mean search?; see /help docs")


def entry(name: str = "able") -> JsonObject:
    """The entry of a fixture server in an mcp.json."""
    return {"command": sys.executable, "args": [str(SERVERS / f"{name}_server.py")]}


def write_servers(home: Path, **entries: JsonObject) -> Path:
    """The mcp.json of a home, as `agent.py mcp add` in another terminal leaves it."""
    file = home / "config" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    # A name more each time, so that the size differs whatever the clock says.
    file.write_text(json.dumps({"mcpServers": entries}, indent=len(entries)), encoding="utf-8")
    return file


@pytest.fixture
async def watching(tmp_path: Path) -> AsyncGenerator[Typed]:
    """A prompt that knows the servers of its home's mcp.json, which has `one` and `two`."""
    write_servers(tmp_path, one=entry(), two=entry())
    write_profile(tmp_path / "config").rename(tmp_path / "config" / "profiles.yaml")
    typed = Typed(tmp_path)
    setting = typed.at.setting
    found = server_list(profile(), setting.places, setting.profile_file)
    typed.at.setting = replace(setting, servers=found)
    async with asyncio.timeout(2 * BOUND_SECONDS), typed:
        await typed.dispatcher.configure(found.specs)
        await typed.dispatcher.initialize()
        yield typed


async def pid_of(typed: Typed, name: str) -> str:
    return (await typed.dispatcher.call_tool(f"{name}.pid", {})).text


async def test_servers_that_others_add_change_and_remove_are_seen_at_the_next_line(
    watching: Typed, tmp_path: Path
) -> None:
    one, two = [await pid_of(watching, name) for name in ("one", "two")]
    file = write_servers(tmp_path, one=entry(), two=entry("counting"), three=entry())
    await watching.run("a request")
    assert watching.said == [
        "mcp: server 'two' has another entry now, and starts anew when it is needed",
        f"mcp: server 'three' is there now, in {file}",
    ]
    assert await pid_of(watching, "one") == one
    assert is_gone(int(two))
    file.unlink()
    await watching.run("/usage")
    gone = [f"mcp: server '{name}' is gone" for name in ("one", "two", "three")]
    assert watching.said[2:5] == gone
    assert is_gone(int(one))
    del watching.said[:]
    await watching.run("another request")
    assert watching.said == []


async def test_a_broken_file_of_servers_is_told_once_and_changes_nothing(
    watching: Typed, tmp_path: Path
) -> None:
    one = await pid_of(watching, "one")
    file = tmp_path / "config" / "mcp.json"
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[:-2], encoding="utf-8")
    for _ in range(2):
        await watching.run("a request")
    assert len(watching.said) == 1
    assert watching.said[0].startswith(f"mcp: {file}:")
    assert watching.said[0].endswith("; the servers stay as they were")
    assert await pid_of(watching, "one") == one
    file.write_text(whole, encoding="utf-8")
    await watching.run("a request")
    assert (len(watching.said), await pid_of(watching, "one")) == (1, one)


async def test_a_server_is_started_anew(watching: Typed) -> None:
    before = await pid_of(watching, "one")
    assert await watching.run("/mcp restart one") == ExitCode.ANSWERED
    assert watching.said[0].startswith("mcp: 'one' was started anew: ")
    assert is_gone(int(before))
    assert await pid_of(watching, "one") != before


async def test_a_server_that_does_not_start_again_says_why(tmp_path: Path) -> None:
    async with Typed(tmp_path, servers=[server("dying")]) as typed:
        with pytest.raises(ServerStartError, match="server 'dying' did not start"):
            await typed.run("/mcp restart dying")
        assert await typed.run("/mcp status") == ExitCode.WORLD_FAILED
        assert "failed" in typed.said[-1]


async def test_a_server_is_switched_off_and_on_at_once(watching: Typed, tmp_path: Path) -> None:
    pid, file = await pid_of(watching, "one"), tmp_path / "config" / "mcp.json"
    await watching.run("/mcp disable one")
    assert watching.said == ["mcp: server 'one' is switched off"]
    assert is_gone(int(pid))
    assert [*watching.dispatcher.server_tools] == ["two"]
    assert json.loads(file.read_text())["mcpServers"]["one"]["disabled"] is True
    with pytest.raises(UsageError, match="'one' is switched off; /mcp enable one"):
        await watching.run("/mcp restart one")
    await watching.run("/mcp enable one")
    assert watching.said[1] == f"mcp: server 'one' is there now, in {file}"
    assert watching.said[2].startswith("mcp: 'one' has started: ")
    await watching.run("/mcp enable one")
    assert watching.said[3] == "mcp: 'one' is enabled already"
    assert "disabled" not in file.read_text()


async def test_entries_states_tools_and_logs_are_shown(watching: Typed) -> None:
    assert await watching.run("/mcp list") == ExitCode.ANSWERED
    assert watching.said[-1].startswith("mcp: 2 servers\nNAME")
    assert await watching.run("/mcp status") == ExitCode.ANSWERED
    assert [line.split()[:2] for line in watching.said[-1].splitlines()[2:]] == [
        ["one", "up"],
        ["two", "up"],
    ]
    await watching.run("/mcp tools two")
    assert watching.said[-1].startswith("mcp: two: ")
    assert "one." not in watching.said[-1]
    logs = watching.at.setting.places.server_logs
    logs.mkdir(parents=True)
    (logs / "one.log").write_text("".join(f"line {n}\n" for n in range(30)), encoding="utf-8")
    await watching.run("/mcp logs one")
    assert watching.said[-1].split("\n")[0] == "mcp: line 10"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/mcp restrat one", r"no action 'restrat'; did you mean restart"),
        ("/mcp restart", "say which server: one, two"),
        ("/mcp logs tow", r"no server 'tow'; did you mean two\?"),
    ],
)
async def test_wrong_words_behind_mcp_are_told(line: str, why: str, watching: Typed) -> None:
    with pytest.raises(UsageError, match=why):
        await watching.run(line)


async def test_an_entry_of_the_profile_is_the_users_to_edit(tmp_path: Path) -> None:
    file = write_profile(tmp_path, "id: able\ncommand: python")
    arguments = ["--profile", str(file)]
    async with Typed(tmp_path, servers=[server("able")], arguments=arguments) as typed:
        with pytest.raises(UsageError, match="is yours to edit: set 'disabled: true' there"):
            await typed.run("/mcp disable able")
        assert [spec.id for spec in typed.dispatcher.specs] == ["able"]


async def test_what_stands_behind_mcp_is_completed(watching: Typed) -> None:
    assert watching.proposed("/mcp re") == ["restart"]
    assert watching.proposed("/mcp restart ") == ["one", "two"]
    assert watching.proposed("/mcp status ") == []
    await watching.run("/mcp disable one")
    assert watching.proposed("/mcp restart ") == ["two"]
    assert watching.proposed("/mcp enable ") == ["two", "one"]
