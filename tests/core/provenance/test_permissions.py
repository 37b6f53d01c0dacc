"""«Always»: the rules that answers keep, for a session or in a file, and no page widens them."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from core.asking import Holds, Leave, LeaveQuestion
from core.base.redaction import Redactor
from core.provenance.guard import Provenance, ProvenanceGuard
from core.provenance.known import Known, Mode, ProvenancePolicy
from core.provenance.permissions import PERMISSIONS_MAX, Permission, Permissions
from core.provenance.rules import Rule, read_rule
from core.run.kept_results import call_key
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from tests.doubles import tool

READ = replace(tool("read", "web", "Read a page.", url="string"), read_only=True)
FETCH = replace(tool("fetch", "other", "Read a page.", url="string"), read_only=True)
LOAD = replace(tool("load", "files", path="string"), read_only=True)
WRITE = tool("write_file", "files", path="string", content="string")
RUN = tool("run", "shell", command="string", cwd="string")
POST = tool("post", "web", url="string", body="string")
MAIL = tool("send_email", "mail", to="string", body="string")
TOOLS = ToolCatalog([READ, FETCH, LOAD, WRITE, RUN, POST, MAIL])


class User:
    """Says «always», or what it is told to, and counts."""

    def __init__(self, holds: Holds = "session") -> None:
        self.holds: Holds = holds
        self.asked = 0

    async def __call__(self, question: LeaveQuestion) -> Leave:
        self.asked += 1
        return Leave(self.holds)


async def guard(
    permissions: Permissions, user: User | None = None, mode: Mode = "auto", key: str = ""
) -> ProvenanceGuard:
    """A run of its own, which has read a hostile page; `key` is what the server `web` is."""
    known = Known(ProvenancePolicy(mode, server_keys={"web": key} if key else {}))
    guarded = ProvenanceGuard(Provenance(known, user, permissions), lambda: TOOLS, ["add 5 and 7"])
    await guarded.note(READ, {"url": "https://a.example"}, "obey")
    return guarded


async def may(guarded: ProvenanceGuard, spec: ToolSpec, **arguments: Json) -> bool:
    return await guarded.refusal(spec, dict(arguments)) is None


async def allowed(spec: ToolSpec, **arguments: Json) -> ProvenanceGuard:
    """A later run with nobody there, after «always» was said to this call."""
    permissions = Permissions()
    assert await may(await guard(permissions, User()), spec, **arguments)
    later = await guard(permissions)
    assert await may(later, spec, **arguments)
    return later


async def test_of_an_address_it_is_the_host_for_this_tool_and_for_no_other() -> None:
    later = await allowed(READ, url="https://docs.example/a")
    assert await may(later, READ, url="https://DOCS.example/b?c=d")
    for other in (
        "https://evil.example/a",
        "http://docs.example/a",
        "https://docs.example:8443/a",
        "https://secret.docs.example/a",
        "https://docs.example@evil.example/",
        "https://user:data@docs.example/a",
        "https://docs.example.evil.example/",
        "https://docs.example/ https://evil.example/",
        "https://docs.example/,https://evil.example/",
        "https://docs.example\\@evil.example/",
        "docs.example/a",
        "ftp://docs.example/a",
    ):
        assert not await may(later, READ, url=other), other
    assert not await may(later, FETCH, url="https://docs.example/a")
    assert not await may(later, POST, url="https://docs.example/a", body="x")


async def test_values_beside_the_allowed_ones_are_looked_at_however_many_there_are() -> None:
    later = await allowed(READ, url="https://docs.example/a")
    good: list[Json] = [f"https://docs.example/{number}" for number in range(20)]
    assert await may(later, READ, url=good[:3])
    assert not await may(later, READ, url=[*good[:3], "https://evil.example/"])
    assert not await may(later, READ, url=[*good, "https://evil.example/"])


async def test_of_a_path_it_is_that_path() -> None:
    later = await allowed(LOAD, path="/srv/a.txt")
    for other in ("/srv/b.txt", "/srv", "/srv/a.txt/b", "/srv/a.txt.old", "/srv/A.txt"):
        assert not await may(later, LOAD, path=other), other
    assert not await may(later, WRITE, path="/srv/a.txt", content="")


async def test_of_a_call_that_changes_something_it_is_each_value_that_is_no_text() -> None:
    later = await allowed(WRITE, path="/srv/a.txt", content="one")
    assert await may(later, WRITE, path="/srv/a.txt", content="two")
    assert not await may(later, WRITE, path="/srv/b.txt", content="one")
    assert not await may(later, WRITE, path="/srv/a.txt", content="two", also="/srv/b.txt")
    later = await allowed(RUN, command="ls", cwd="/srv")
    assert not await may(later, RUN, command="rm -rf .", cwd="/srv")
    assert not await may(later, RUN, command="ls", cwd="/etc")
    later = await allowed(MAIL, to="bob@example.org", body="1")
    assert not await may(later, MAIL, to="eve@evil.example", body="1")


async def test_once_and_for_a_session_hold_no_longer(tmp_path: Path) -> None:
    permissions = Permissions(tmp_path / "permissions.json", "me")
    for user, times in ((User("once"), 2), (User("no"), 2), (User("session"), 1)):
        for _ in range(2):
            await may(await guard(permissions, user), READ, url="https://a.test/x")
        assert user.asked == times, user.holds
    permissions.begin_session()
    assert not await may(await guard(permissions), READ, url="https://a.test/x")
    assert not (tmp_path / "permissions.json").exists()


async def test_two_calls_at_once_are_asked_about_once() -> None:
    user = User()
    guarded = await guard(Permissions(), user)
    urls = [f"https://a.test/{number}" for number in range(5)]
    assert all([await may(guarded, READ, url=url) for url in urls])
    assert user.asked == 1


async def test_always_is_kept_for_the_agent_alone_and_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "home" / "permissions.json"
    assert await may(
        await guard(Permissions(file, "me"), User("always")), READ, url="https://a.test/x"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    mine, others = Permissions(file, "me"), Permissions(file, "other")
    assert await may(await guard(mine), READ, url="https://a.test/y")
    assert not await may(await guard(others), READ, url="https://a.test/y")
    others.allow(Permission(Rule("web.read")), for_good=True)
    assert [str(each.rule) for each in mine.kept] == ["web.read(url=https://a.test/*)"]
    Permissions(file, "me").forget(mine.kept)
    assert not await may(await guard(mine), READ, url="https://a.test/y")
    assert len(others.kept) == 1


@pytest.mark.parametrize("holds", ["session", "always"])
async def test_another_server_under_the_same_id_has_no_leave(
    tmp_path: Path, holds: Literal["session", "always"]
) -> None:
    held = Permissions(tmp_path / "permissions.json", "me")
    assert await may(await guard(held, User(holds), key="1"), READ, url="https://a.test/x")
    assert await may(await guard(held, key="1"), READ, url="https://a.test/y")
    assert not await may(await guard(held, key="2"), READ, url="https://a.test/y")


async def test_what_was_kept_without_saying_for_which_server_is_asked_once_more(
    tmp_path: Path,
) -> None:
    file, user = tmp_path / "permissions.json", User("always")
    row = {"tool": "web.read", "kind": "host", "target": "https://a.test", "shown": ""}
    file.write_text(json.dumps({"format": 1, "agents": {"me": [row]}}), encoding="utf-8")
    for _ in range(2):
        held = Permissions(file, "me")
        assert await may(await guard(held, user, key="1"), READ, url="https://a.test/x")
    assert user.asked == 1


def test_another_agent_begins_with_what_it_may_itself(tmp_path: Path) -> None:
    held = Permissions(tmp_path / "permissions.json", "me")
    held.allow(Permission(Rule("a.b")), for_good=False)
    held.allow(Permission(Rule("c.d")), for_good=True)
    held.use("me")
    assert [*held.rules_for("")] == [Rule("a.b"), Rule("c.d")]
    held.use("other")
    assert [*held.rules_for("")] == []
    held.use("me")
    assert [each.tool for each in (*held.session, *held.kept)] == ["c.d"]


async def test_what_a_version_before_kept_holds_on(tmp_path: Path) -> None:
    file = tmp_path / "permissions.json"
    call: JsonObject = {"command": "make", "cwd": "/srv"}
    digest = call_key(RUN, call)[1].hex()
    kept = [
        ("web.read", "host", "https://docs.example"),
        ("other.fetch", "url", "https://a.test/x"),
        ("files.load", "path", "/srv/a.txt"),
        ("files.write_file", "path", "/srv/b.txt"),
        ("shell.run", "call", digest),
        ("web.post", "any", ""),
    ]
    rows = [
        {"tool": name, "kind": kind, "target": target, "shown": "", "server": ""}
        for name, kind, target in kept
    ]
    file.write_text(json.dumps({"format": 1, "agents": {"me": rows}}), encoding="utf-8")
    held = Permissions(file, "me")
    assert len(held.kept) == len(kept)
    later = await guard(held)
    assert await may(later, READ, url="https://docs.example/x")
    assert not await may(later, READ, url="https://evil.example/x")
    assert await may(later, FETCH, url="https://a.test/x")
    assert not await may(later, FETCH, url="https://a.test/y")
    assert await may(later, LOAD, path="/srv/a.txt")
    assert await may(later, WRITE, path="/srv/b.txt", content="x")
    assert not await may(later, WRITE, path="/srv/c.txt", content="x")
    assert await may(later, RUN, **call)
    assert not await may(later, RUN, command="make install", cwd="/srv")
    held.allow(Permission(read_rule("a.b(c=d)")), for_good=True)
    assert len(held.kept) == len(kept) + 1
    assert await may(await guard(Permissions(file, "me")), RUN, **call)


async def test_no_rule_with_a_secret_is_offered_and_one_that_is_written_is_not_kept(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    file = tmp_path / "permissions.json"
    permissions = Permissions(file, "me", Redactor({"API_KEY": "s3cr3t-of-mine"}), told.append)
    call: JsonObject = {"command": "curl -H s3cr3t-of-mine", "cwd": ""}
    assert await may(await guard(permissions, User("always")), RUN, **call)
    assert not await may(await guard(permissions), RUN, **call)
    permissions.allow(Permission(read_rule("shell.run(command=* s3cr3t-of-mine)")), for_good=True)
    assert not file.exists()
    assert told == ["allowed for this session only: a secret is in it, and none is kept"]


def test_a_file_that_is_full_damaged_or_not_to_be_written_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "permissions.json"
    permissions = Permissions(file, "me", Redactor({}), told.append)
    rows = [
        {"tool": "a.b", "kind": "path", "target": str(number), "shown": "", "server": ""}
        for number in range(PERMISSIONS_MAX)
    ]
    file.write_text(json.dumps({"format": 1, "agents": {"you": rows}}), encoding="utf-8")
    permissions.allow(Permission(Rule("a.b")), for_good=True)
    assert "500 permissions are kept already" in told.pop()
    odd = [{"tool": "a.b"}, 7, {**rows[0], "kind": "all", "server": ""}]
    for content in ("{", "[]", json.dumps({"format": 1, "agents": {"me": odd}}), "[" * 100_000):
        file.write_text(content, encoding="utf-8")
        assert permissions.kept == ()
    blocked = Permissions(file / "below" / "permissions.json", "me", Redactor({}), told.append)
    blocked.allow(Permission(Rule("a.b")), for_good=True)
    assert "can't be written" in told.pop()
    assert [*blocked.rules_for("")] == [Rule("a.b")]
