"""The reference servers in Python: clock times of the world, and a repository made for the test."""

import subprocess
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from core.values import JsonObject
from tests.real.parts import python_server
from tests.real.sessions import Session, assert_all_described, session

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid")


@dataclass(frozen=True)
class Placed:
    """A session with both servers, a repository, and a folder that the server may not touch."""

    session: Session
    repository: Path
    outside: Path

    async def git(self, tool: str, **arguments: str | list[str]) -> str:
        """What a git tool says about the repository."""
        whole: JsonObject = {"repo_path": str(self.repository)}
        for name, value in arguments.items():
            whole[name] = [*value] if isinstance(value, list) else value
        result = await self.session.multi.call_tool(f"git.{tool}", whole)
        assert not result.is_error, result.text
        return result.text


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="up")
async def _up(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Placed]:
    repository, outside = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("other")
    for folder in (repository, outside):
        _git(folder, "init", "--quiet", "--initial-branch=main")
        (folder / "kept.txt").write_text("first\n")
        _git(folder, "add", ".")
        _git(folder, *WHO, "commit", "--quiet", "--message=begin")
        _git(folder, "config", "user.name", "Ada")
        _git(folder, "config", "user.email", "ada@example.invalid")
    git = python_server("git", "--repository", str(repository))
    async with session(python_server("time", "--local-timezone", "Europe/Berlin"), git) as up:
        yield Placed(up, repository, outside)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


async def test_the_tools_of_both_are_listed_and_described(up: Placed) -> None:
    assert up.session.tools_of("time") == ["get_current_time", "convert_time"]
    assert {"git_status", "git_diff_unstaged", "git_add", "git_commit", "git_log"} <= set(
        up.session.tools_of("git")
    )
    assert_all_described(up.session.multi)


async def test_a_time_is_converted(up: Placed) -> None:
    # Neither zone knows daylight saving time, so the difference holds all year.
    arguments: JsonObject = {
        "source_timezone": "Asia/Tokyo",
        "time": "09:30",
        "target_timezone": "Asia/Kolkata",
    }
    value = (await up.session.multi.call_tool("convert_time", arguments)).value
    assert isinstance(value, dict)
    assert value["time_difference"] == "-3.5h"
    target = value["target"]
    assert isinstance(target, dict)
    assert str(target["datetime"]).endswith("T06:00:00+05:30")


async def test_a_zone_that_does_not_exist_is_an_error_value(up: Placed) -> None:
    result = await up.session.multi.call_tool("get_current_time", {"timezone": "Mars/Olympus"})
    assert result.is_error
    assert "Mars/Olympus" in result.text


async def test_a_change_is_seen_staged_and_committed(up: Placed) -> None:
    (up.repository / "kept.txt").write_text("first\nsecond\n")
    assert "kept.txt" in await up.git("git_status")
    assert "+second" in await up.git("git_diff_unstaged")
    await up.git("git_add", files=["kept.txt"])
    await up.git("git_commit", message="Go on")
    assert "Go on" in await up.git("git_log")
    assert _git(up.repository, "log", "--format=%s").split("\n")[:2] == ["Go on", "begin"]


async def test_a_repository_outside_is_refused_as_an_error_value(up: Placed) -> None:
    result = await up.session.multi.call_tool("git_status", {"repo_path": str(up.outside)})
    assert result.is_error
    assert str(up.outside) in result.text
