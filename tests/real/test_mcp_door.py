"""The agent as an MCP server, as others see it: the Inspector, fastmcp, the conformance suite."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from core.values import JsonObject
from tests.command_line import ROOT, SUMS_SERVER, environment, script, write_profile
from tests.modules.service.mcp_door.opening import ADDS, ASKS, open_door, serving
from tests.real.parts import PYTHON_PARTS, node, package

SUITE = package("conformance") / "dist" / "index.js"
INSPECTOR = package("inspector") / "clients" / "launcher" / "build" / "index.js"
FASTMCP_CLIENT = ROOT / "tests" / "real" / "fastmcp_client.py"
TIMEOUT_SECONDS = 60

TOOLS = ["ask", "list_sessions", "read_session", "search_documents"]

SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
)
"""Those of the suite that need no tools, prompts or resources which only its own example has.

Host and Origin (`dns-rebinding-protection`) are looked at by the web server around the door.
"""

TOOL_SAYS_ERROR = 5
"""The Inspector's exit code where a result is an error of the tool."""


@dataclass(frozen=True)
class Done:
    """How a program of others ended."""

    code: int
    out: str
    err: str


async def run(home: Path, *command: str) -> Done:
    """Run it beside the event loop, which may be the server that it speaks to."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home),
        cwd=home,
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return Done(process.returncode or 0, out.decode(), err.decode())


def program(home: Path, replies: Sequence[object]) -> list[str]:
    """The command of a server over stdio with these replies of its model."""
    profile = str(write_profile(home, SUMS_SERVER))
    given = ["--profile", profile, "--model", script(home, replies)]
    return [sys.executable, str(ROOT / "agent.py"), "mcp-server", *given]


async def inspect(home: Path, target: Sequence[str], *arguments: str) -> Done:
    patience = ("--connect-timeout", str(TIMEOUT_SECONDS * 1000))  # a busy machine starts slowly
    command = [node() or "node", str(INSPECTOR), "--cli", *target, *patience, *arguments]
    return await run(home, *command)


def asking(**arguments: str) -> list[str]:
    given = json.dumps(arguments)
    return ["--method", "tools/call", "--tool-name", "ask", "--tool-args-json", given]


def check_listed(seen: Done) -> None:
    assert (seen.code, seen.err) == (0, "")
    tools = cast("list[JsonObject]", json.loads(seen.out)["tools"])
    assert [tool["name"] for tool in tools] == TOOLS


def check_answered(seen: Done) -> None:
    assert (seen.code, seen.err) == (0, "")
    result = json.loads(seen.out)
    assert result["structuredContent"]["answer"] == "12"
    assert result["content"] == [{"type": "text", "text": "12"}]


async def test_the_inspector_lists_and_asks_over_stdio(tmp_path: Path) -> None:
    server = program(tmp_path, [ADDS])
    check_listed(await inspect(tmp_path, server, "--method", "tools/list", "--strict"))
    check_answered(await inspect(tmp_path, server, *asking(request="add 5 and 7")))
    refused = await inspect(tmp_path, server, *asking(reqest="add 5 and 7"))
    assert refused.code == TOOL_SAYS_ERROR
    assert "`request` is missing" in json.dumps(json.loads(refused.out))


async def test_the_inspector_lists_and_asks_over_http(tmp_path: Path) -> None:
    async with open_door(tmp_path, [ADDS]) as door, serving(door) as url:
        server = [f"{url}/0/mcp"]
        check_listed(await inspect(tmp_path, server, "--method", "tools/list", "--strict"))
        check_answered(await inspect(tmp_path, server, *asking(request="add 5 and 7")))


async def ask_with_fastmcp(home: Path, target: str) -> JsonObject:
    python = str(PYTHON_PARTS / "bin" / "python")
    done = await run(home, python, str(FASTMCP_CLIENT), target, "paint it")
    assert done.code == 0, done.err
    return cast("JsonObject", json.loads(done.out))


def check_asked(found: JsonObject) -> None:
    assert found["tools"] == TOOLS
    assert found["asked"] == ["which colour?"]
    assert (found["text"], found["is_error"]) == ("12", False)
    assert cast("JsonObject", found["structured"])["status"] == "done"
    assert any("math.add" in str(told) for told in cast("list[str]", found["told"]))


async def test_fastmcps_client_asks_and_is_asked_over_stdio(tmp_path: Path) -> None:
    command, *args = program(tmp_path, [ASKS, ADDS])
    entry = {"command": command, "args": args, "env": environment(tmp_path)}
    check_asked(await ask_with_fastmcp(tmp_path, json.dumps(entry)))


async def test_fastmcps_client_asks_and_is_asked_over_http(tmp_path: Path) -> None:
    async with open_door(tmp_path, [ASKS, ADDS]) as door, serving(door) as url:
        check_asked(await ask_with_fastmcp(tmp_path, f"{url}/0/mcp"))


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_conformance_suite_passes_us(tmp_path: Path, scenario: str) -> None:
    async with open_door(tmp_path) as door, serving(door) as url:
        given = ("server", "--url", f"{url}/0/mcp", "--scenario", scenario)
        done = await run(tmp_path, node() or "node", str(SUITE), *given)
    assert done.code == 0, done.out + done.err
    assert "0 failed, 0 warnings" in done.out


async def test_the_suite_does_fail_a_server_that_lacks_something(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door, serving(door) as url:
        given = ("server", "--url", f"{url}/0/mcp", "--scenario", "prompts-list")
        done = await run(tmp_path, node() or "node", str(SUITE), *given)
    assert done.code == 1
    assert "1 failed" in done.out
