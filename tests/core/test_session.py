"""The dispatcher with real server processes: what it lists, how it calls, when it starts."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.hooks import QUESTIONS_PER_RUN, DispatcherHooks
from core.dispatch.known_tools import ToolCache
from core.errors import CallRefused, ConfigurationError, ServerStartError
from core.mcp.hooks import Question, Reply
from core.process.server import spawn
from core.session import MCP, MultiMCP
from core.tools.content import (
    AudioBlock,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    ToolResult,
)
from core.tools.spec import ToolSpec
from tests.core.dispatch.fixture_servers import (
    QUICK,
    ROOT,
    SERVERS,
    ask,
    dispatcher,
    is_gone,
    server,
)


async def test_tools_are_listed_over_all_pages_and_described() -> None:
    async with dispatcher(server("able")) as (multi, notices):
        names = await multi.list_all_tools()
        assert len(names) == len(multi.get_all_tools()) > 4
        assert list(multi.tool_map) == names
        echo, pid = multi.tool_map["echo"], multi.tool_map["pid"]
        assert echo.description == "does echo"
        assert (echo.read_only, echo.idempotent) == (True, True)
        assert (pid.read_only, pid.idempotent) == (False, False)
        assert multi.get_tools_from_servers(["able", "unknown"]) == multi.server_tools["able"]
        assert multi.server_descriptions()["able"].startswith("tools: echo, pid")
        assert notices == []


async def test_every_kind_of_content_arrives_typed() -> None:
    async with dispatcher(server("able")) as (multi, _):
        assert await multi.call_tool("contents", {}) == ToolResult(
            (
                TextBlock("hello"),
                ImageBlock("aW1n", "image/png"),
                AudioBlock("YXVk", "audio/wav"),
                ResourceBlock("file:///a", text="inside"),
                ResourceBlock("file:///b", data="YmxvYg=="),
                LinkBlock("file:///c", "c", "see c"),
            ),
            {"result": 7},
        )


async def test_errors_of_a_tool_are_values_and_the_session_goes_on() -> None:
    async with dispatcher(server("able")) as (multi, _):
        broken = await multi.call_tool("broken", {})
        unfit = await multi.call_tool("unfit", {})
        assert (broken.is_error, broken.text) == (True, "no")
        assert unfit.is_error
        assert "does not fit" in unfit.text
        assert await ask(multi, "able.echo", text="still here") == "still here"


async def test_a_protocol_error_in_answer_to_a_call_is_a_value_too() -> None:
    async with dispatcher(server("able")) as (multi, _):
        result = await multi.call_tool("unserved", {})
        assert (result.is_error, result.text) == (True, "no tool unserved")


async def test_what_a_session_lists_replaces_the_cached_list(tmp_path: Path) -> None:
    cache = ToolCache(tmp_path)
    spec = server("able")
    cache.store(spec, [ToolSpec("able", "vanished", "", {})])
    async with dispatcher(spec, cache=cache) as (multi, _):
        with pytest.raises(CallRefused, match="no tool 'vanished'"):
            await multi.call_tool("vanished", {})
        assert "echo" in multi.tool_map
        assert cache.load(spec) == multi.server_tools["able"]


async def test_ten_megabytes_on_one_line_arrive() -> None:
    async with dispatcher(server("able")) as (multi, _):
        assert len(await ask(multi, "big", bytes=10_000_000)) == 10_000_000


async def test_ten_megabytes_of_arguments_arrive() -> None:
    async with dispatcher(server("able")) as (multi, _):
        assert len(await ask(multi, "echo", text="x" * 10_000_000)) == 10_000_000


async def test_arguments_that_json_cannot_carry_are_refused_unsent() -> None:
    async with dispatcher(server("able")) as (multi, _):
        with pytest.raises(CallRefused, match="inf"):
            await multi.call_tool("echo", {"text": [{"a": float("inf")}]})
        with pytest.raises(CallRefused, match="surrogates not allowed"):
            await multi.call_tool("echo", {"text": "\ud800"})
        assert await ask(multi, "echo", text="fine") == "fine"


async def test_names_are_resolved_before_anything_is_sent() -> None:
    async with dispatcher(server("able", id="one"), server("able", id="two")) as (multi, _):
        assert "one.echo" in await multi.list_all_tools()
        assert "echo" not in multi.tool_map
        with pytest.raises(CallRefused, match=r"one\.echo or two\.echo"):
            await multi.call_tool("echo", {})
        with pytest.raises(CallRefused, match="no tool 'teleport'"):
            await multi.call_tool("teleport", {})
        assert await ask(multi, "one.pid") != await ask(multi, "two.pid")


async def test_two_servers_of_one_id_are_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="able"):
        MultiMCP([server("able"), server("able")])


async def test_servers_start_at_the_same_time(tmp_path: Path) -> None:
    folder = str(tmp_path)
    left = server("meeting", folder, "left", "right", id="left")
    right = server("meeting", folder, "right", "left", id="right")
    async with dispatcher(left, right) as (multi, notices):
        assert notices == []
        assert await ask(multi, "left.echo", text="hi") == "left: hi"


async def test_calls_on_one_server_overlap() -> None:
    async with dispatcher(server("able")) as (multi, _):
        assert await asyncio.gather(ask(multi, "meet"), ask(multi, "meet")) == ["met", "met"]


async def test_per_call_uses_a_fresh_process_for_each_call() -> None:
    spec = replace(server("able"), connection="per_call")
    async with dispatcher(spec) as (multi, _):
        first, second = await asyncio.gather(ask(multi, "pid"), ask(multi, "pid"))
        assert first != second
        assert is_gone(int(first))
        assert is_gone(int(second))


async def test_a_cached_list_starts_no_process_until_a_call_needs_it(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    spec = server("counting", str(starts))
    cache = ToolCache(tmp_path / "cache")
    async with dispatcher(spec, cache=cache):
        pass
    size = starts.stat().st_size
    cache.store(spec, [ToolSpec("counting", "echo", "", {}), ToolSpec("counting", "other", "", {})])
    async with dispatcher(spec, cache=cache) as (multi, _):
        assert await multi.list_all_tools() == ["echo", "other"]
        assert starts.stat().st_size == size
        assert await ask(multi, "echo", text="hi") == "hi"
        assert starts.stat().st_size == size * 2


async def test_a_changed_script_is_asked_again(tmp_path: Path) -> None:
    for name in ("rpc.py", "noisy_server.py"):
        (tmp_path / name).write_text((SERVERS / name).read_text())
    script = tmp_path / "noisy_server.py"
    spec = ServerSpec("noisy", (sys.executable, str(script)), tmp_path)
    cache = ToolCache(tmp_path / "cache")
    async with dispatcher(spec, cache=cache) as (multi, _):
        assert await multi.list_all_tools() == ["echo"]
    script.write_text(script.read_text().replace('"echo"', '"repeat"'))
    async with dispatcher(spec, cache=cache) as (multi, _):
        assert await multi.list_all_tools() == ["repeat"]


async def test_a_list_of_an_older_program_holds_until_the_server_is_up(tmp_path: Path) -> None:
    name, start = str(tmp_path / "start"), tmp_path / "start.py"
    script = tmp_path / "waiting_server.py"
    script.write_text(
        "import os, sys, time\n"
        f"while not os.path.exists({name!r}):\n    time.sleep(0.01)\n"
        f"os.execv(sys.executable, [sys.executable, {str(SERVERS / 'able_server.py')!r}])\n"
    )
    spec = ServerSpec("able", (sys.executable, str(script)), ROOT)
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, [ToolSpec("able", "older", "", {})])
    start.write_text("a neighbour that is new: the program has changed")
    async with dispatcher(spec, cache=cache, initialize=False) as (multi, _):
        await multi.recall()
        assert multi.unlearned() == []
        assert await multi.list_all_tools() == ["older"]
        (tmp_path / "start").touch()
        await multi.catch_up()
        assert "echo" in await multi.list_all_tools()
    async with dispatcher(spec, cache=cache, initialize=False) as (multi, _):
        await multi.recall()
        assert "echo" in await multi.list_all_tools()


async def test_spawned_processes_are_adopted_or_ended_unused(tmp_path: Path) -> None:
    spec, unused = server("able"), server("silent")
    cache = ToolCache(tmp_path)
    cache.store(unused, [])
    spawned = {one.id: spawn(one, None) for one in (spec, unused)}
    async with dispatcher(spec, unused, cache=cache, spawned=spawned) as (multi, _):
        assert await ask(multi, "pid") == str(spawned["able"].process.pid)
        assert not is_gone(spawned["silent"].process.pid)
    # The one that was in use ends of its own accord; the other may, and gets no time to.
    assert spawned["able"].process.returncode == 0
    assert spawned["silent"].process.returncode in (0, -signal.SIGTERM)


async def test_start_returns_at_once_and_a_later_call_finds_the_server(tmp_path: Path) -> None:
    spec = server("able")
    cache = ToolCache(tmp_path)
    cache.store(spec, [ToolSpec("able", "pid", "", {})])
    async with dispatcher(spec, cache=cache) as (multi, _):
        await multi.start(["able"])
        assert await ask(multi, "pid") == await ask(multi, "pid")


async def test_nothing_of_our_environment_reaches_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "hunter2")
    async with dispatcher(replace(server("able"), env={"OWN": "yes"})) as (multi, _):
        environment = await ask(multi, "environment")
        assert "hunter2" not in environment
        assert "'OWN': 'yes'" in environment
        # 0, 1, 2 and the one that reads the list
        assert await ask(multi, "descriptors") == "4"


async def test_the_one_shot_client_lists_and_calls() -> None:
    mcp = MCP(str(SERVERS / "able_server.py"), working_dir=str(ROOT))
    assert "echo" in [tool.name for tool in await mcp.list_tools()]
    result = await mcp.call_tool("echo", {"text": "hi"})
    assert (result.text, result.is_error) == ("hi", False)
    with pytest.raises(ServerStartError, match="not there"):
        await MCP("no_such_server.py").list_tools()


def test_importing_the_dispatcher_imports_no_sdk() -> None:
    code = "import sys, core.session; print({'mcp', 'anyio'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


async def test_a_server_whose_entry_cannot_be_used_offers_nothing_that_it_once_had(
    tmp_path: Path,
) -> None:
    cache, able = ToolCache(tmp_path), server("able")
    async with dispatcher(able, cache=cache):
        pass
    assert cache.load(able)
    unusable = replace(able, problem="server 'able': the variable TOKEN is not set")
    async with dispatcher(unusable, cache=cache) as (multi, notices):
        assert multi.status()[0].state == "failed"
        assert multi.server_tools == {}
        assert notices == [unusable.problem]
    async with MultiMCP([unusable]) as untried:
        assert untried.status()[0].problem == unusable.problem


async def test_servers_may_ask_ten_times_in_a_run_and_again_in_the_next() -> None:
    asked: list[Question] = []
    notices: list[str] = []

    async def ask_user(question: Question) -> Reply:
        asked.append(question)
        return Reply("accept", {})

    async def on_notice(text: str) -> None:
        notices.append(text)

    hooks = DispatcherHooks(on_notice=on_notice, ask=ask_user)
    multi = MultiMCP([server("asking")], hooks=hooks, stop_grace=QUICK)
    async with asyncio.timeout(20), multi:
        await multi.initialize()
        replies = [await ask(multi, "ask", message="who?") for _ in range(QUESTIONS_PER_RUN + 2)]
        assert len(asked) == QUESTIONS_PER_RUN
        assert replies[-2:] == ['{"action": "decline"}'] * 2
        assert notices == [
            "servers have asked 10 questions in this run; "
            "further ones are declined until the next request"
        ]
        multi.begin_run()
        assert "accept" in await ask(multi, "ask", message="who?")
