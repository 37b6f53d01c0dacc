"""`/permissions`: what needs no yes, shown, allowed by name, taken back."""

import json
from pathlib import Path

import pytest

from core.errors import UsageError
from core.provenance.permissions import Permission
from core.provenance.rules import read_rule
from tests.core.dispatch.fixture_servers import server
from tests.modules.cli.prompt_commands.typed import Typed

ABLE = server("able")


def ruled(rule: str, server: str = "") -> Permission:
    return Permission(read_rule(rule), server)


async def test_what_is_allowed_is_shown_with_its_target_and_taken_back(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        await typed.run("/permissions")
        shown = typed.said.pop()
        assert shown.count("  nothing") == 2 + (not typed.at.conversation.policy.rules)
        assert "allowed by the profile and --approve:\n" in shown
        assert "approvals: changing, provenance: auto" in shown
        held = typed.permissions
        held.allow(ruled("web.read(url=https://a.test/*)"), for_good=False)
        held.allow(ruled("files.write_file(path=/x)"), for_good=True)
        held.allow(ruled("files.write_file(*)"), for_good=True)
        await typed.run("/permissions")
        shown = typed.said.pop()
        assert "  1  web.read(url=https://a.test/*)\n" in shown
        assert "  2  files.write_file(path=/x)\n" in shown
        assert "  3  files.write_file(*)\n" in shown
        await typed.run("/permissions forget 2")
        assert "no longer allowed: files.write_file(path=/x)" in typed.said.pop()
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
        typed.permissions.allow(ruled("able.pid", "able 1"), for_good=True)
        await typed.run("/permissions")
        assert "  1  able.pid; does not count: its server" in typed.said.pop()


async def test_a_rule_is_kept_under_the_tools_whole_name(tmp_path: Path) -> None:
    rules = ["able.pid", "able.pid(*)", "able.pid(path=/srv/*)"]
    async with Typed(tmp_path, servers=[ABLE]) as typed:
        for rule in rules:
            await typed.run(f"/permissions allow {rule.removeprefix('able.')}")
            assert typed.said.pop() == f"tool: allowed always: {rule}"
        rows = json.loads((tmp_path / "permissions.json").read_text(encoding="utf-8"))
        agent = typed.at.setting.profile.agent.id
        assert [row["rule"] for row in rows["agents"][agent]] == rules
        assert typed.proposed("/permissions allow able.pi") == ["able.pid"]
        assert typed.proposed("/permissions forget ") == ["able.pid", "all"]


async def test_what_can_t_be_done_is_told_with_what_can(tmp_path: Path) -> None:
    async with Typed(tmp_path, servers=[ABLE]) as typed:
        for line, why in (
            ("/permissions allow able.pit", "did you mean able.pid"),
            ("/permissions allow able.pid https://", "is no rule"),
            ("/permissions allow able.pid(", "is no rule"),
            ("/permissions allow able.pid(path)", "names no argument"),
            ("/permissions allow", "allow RULE"),
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
        typed.permissions.allow(ruled("a.b"), for_good=False)
        await typed.run("/new")
        assert typed.permissions.session == ()
