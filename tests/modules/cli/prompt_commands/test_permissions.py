"""`/permissions`: what needs no yes, shown, allowed by name, taken back."""

import json
from pathlib import Path

import pytest

from core.errors import UsageError
from core.provenance.permissions import Permission
from tests.core.dispatch.fixture_servers import server
from tests.modules.cli.prompt_commands.typed import Typed

ABLE = server("able")


async def test_what_is_allowed_is_shown_with_its_target_and_taken_back(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        await typed.run("/permissions")
        shown = typed.said.pop()
        assert shown.count("  nothing") == 2
        assert "allowed by --approve: nothing" in shown
        assert "approvals: changing, provenance: auto" in shown
        held = typed.permissions
        held.allow(
            Permission("web.read", "host", "https://a.test", "https://a.test"), for_good=False
        )
        held.allow(Permission("files.write_file", "path", "/x", "/x\x1b[2J"), for_good=True)
        held.allow(Permission("files.write_file", "any"), for_good=True)
        await typed.run("/permissions")
        shown = typed.said.pop()
        assert "  1  web.read: any address of https://a.test\n" in shown
        assert "  2  files.write_file: the path /x\\x1b[2J, whatever text goes with it\n" in shown
        assert "  3  files.write_file: any arguments\n" in shown
        await typed.run("/permissions forget 2")
        assert "no longer allowed: files.write_file: the path /x" in typed.said.pop()
        await typed.run("/permissions forget files.write_file")
        assert held.kept == ()
        await typed.run("/permissions forget all")
        assert held.session == ()
        for line in ("/permissions forget all", "/permissions forget 1", "/permissions forget x"):
            with pytest.raises(UsageError, match="nothing is allowed under"):
                await typed.run(line)


async def test_what_another_server_of_that_name_was_allowed_is_said_not_to_count(
    tmp_path: Path,
) -> None:
    async with Typed(tmp_path, servers=[ABLE]) as typed:
        typed.permissions.allow(Permission("able.pid", "any", server="able 1"), for_good=True)
        await typed.run("/permissions")
        assert "  1  able.pid: any arguments; does not count: its server" in typed.said.pop()


async def test_a_tool_is_allowed_by_name_with_any_arguments_or_one_target(tmp_path: Path) -> None:
    async with Typed(tmp_path, servers=[ABLE]) as typed:
        await typed.run("/permissions allow pid")
        assert typed.said.pop() == "tool: allowed always: able.pid: any arguments"
        await typed.run("/permissions allow able.pid https://a.test/")
        assert "able.pid: any address of https://a.test" in typed.said.pop()
        await typed.run("/permissions allow able.pid /srv/a file.txt")
        assert "able.pid: the path /srv/a file.txt" in typed.said.pop()
        rows = json.loads((tmp_path / "permissions.json").read_text(encoding="utf-8"))
        assert [row["kind"] for row in rows["agents"][typed.at.setting.profile.agent.id]] == [
            "any",
            "host",
            "path",
        ]
        assert typed.proposed("/permissions allow able.pi") == ["able.pid"]
        assert typed.proposed("/permissions forget ") == ["able.pid", "all"]


async def test_what_can_t_be_done_is_told_with_what_can(tmp_path: Path) -> None:
    async with Typed(tmp_path, servers=[ABLE]) as typed:
        for line, why in (
            ("/permissions allow able.pit", "did you mean able.pid"),
            ("/permissions allow able.pid https://", "is no address"),
            ("/permissions allow", "allow TOOL"),
            ("/permissions forget", "forget NUMBER"),
            ("/permissions show", "alone shows them"),
        ):
            with pytest.raises(UsageError, match=why):
                await typed.run(line)
        (tmp_path / "permissions.json").mkdir()
        await typed.run("/permissions allow pid")
        (told,) = typed.said
        assert told.startswith("tool: allowed for this session only: ")
        assert [each.tool for each in typed.permissions.session] == ["able.pid"]


async def test_another_session_begins_without_what_held_for_the_last(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        typed.permissions.allow(Permission("a.b", "any"), for_good=False)
        await typed.run("/new")
        assert typed.permissions.session == ()
