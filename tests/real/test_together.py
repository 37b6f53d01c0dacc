"""All the reference servers behind one dispatcher: side by side, and when one of them dies."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from core.errors import CallRefused, ServerError, ServerLost
from core.process.left_session import MARK
from core.values import JsonObject
from tests.real.over_http import free_port, over_http
from tests.real.parts import npm_server, python_server
from tests.real.sessions import Session, process_of, session

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOUR: JsonObject = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
LONG = "trigger-long-running-operation"


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="up")
async def _up(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Session]:
    folder = tmp_path_factory.mktemp("all")
    async with session(
        npm_server("everything", env={"PART": "real"}),
        npm_server("filesystem", str(folder)),
        npm_server("memory", env={"MEMORY_FILE_PATH": str(folder / "graph.jsonl")}),
        npm_server("memory", env={"MEMORY_FILE_PATH": str(folder / "b.jsonl")}, id="memory-b"),
        npm_server("sequential-thinking"),
        python_server("time"),
    ) as up:
        yield up


async def test_calls_to_all_of_them_at_once_are_answered(up: Session) -> None:
    call = up.multi.call_tool
    async with asyncio.timeout(20):
        answers = await asyncio.gather(
            *(call("echo", {"message": str(number)}) for number in range(50)),
            call("list_allowed_directories", {}),
            call("memory.read_graph", {}),
            call("convert_time", HOUR),
        )
    assert [answer.text for answer in answers[:50]] == [f"Echo: {n}" for n in range(50)]
    assert [answer.is_error for answer in answers[50:]] == [False] * 3


async def test_two_servers_with_the_same_tools_are_told_apart(up: Session) -> None:
    call = up.multi.call_tool
    node: JsonObject = {"name": "only in b", "entityType": "thing", "observations": []}
    await call("memory-b.create_entities", {"entities": [node]})
    assert (await call("memory-b.read_graph", {})).structured == {
        "entities": [node],
        "relations": [],
    }
    assert (await call("memory.read_graph", {})).structured == {"entities": [], "relations": []}
    with pytest.raises(CallRefused, match=r"memory\.read_graph.*memory-b\.read_graph"):
        await call("read_graph", {})


async def test_a_server_sees_its_own_settings_and_none_of_ours(up: Session) -> None:
    environment = json.loads((await up.multi.call_tool("get-env", {})).text)
    assert environment["PART"] == "real"
    # pytest sets its variable for us, so there is something that could have been passed on.
    assert "PYTEST_CURRENT_TEST" in os.environ
    ours = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "PART", MARK}
    assert set(environment) <= ours


async def test_one_killed_while_it_asks_harms_no_other_and_comes_back(up: Session) -> None:
    call, victim = up.multi.call_tool, process_of("server-everything")
    up.person.is_thinking = True
    async with asyncio.timeout(20):
        asking = asyncio.create_task(call("trigger-elicitation-request", {}))
        await up.person.was_asked.wait()
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(ServerLost, match=r"'everything'.*unknown"):
            await asking
        assert (await call("convert_time", HOUR)).text
        assert (await call("list_allowed_directories", {})).text
        assert (await call("echo", {"message": "back"})).text == "Echo: back"
    assert process_of("server-everything") != victim


async def test_a_call_that_may_be_repeated_survives_the_death_of_its_server(up: Session) -> None:
    started, victim = asyncio.Event(), process_of("server-everything")
    arguments: JsonObject = {"duration": 0.5, "steps": 10}
    async with asyncio.timeout(20):
        long = asyncio.create_task(
            up.multi.call_tool(LONG, arguments, lambda done, total, text: started.set())
        )
        await started.wait()
        os.kill(victim, signal.SIGKILL)
        assert "Steps: 10" in (await long).text
    assert process_of("server-everything") != victim


async def test_a_web_server_that_goes_away_is_named_and_found_again() -> None:
    port, server = free_port(), npm_server("everything", id="far")
    async with AsyncExitStack() as ends, asyncio.timeout(30):
        with over_http(server, port) as spec:
            up = await ends.enter_async_context(session(spec))
            assert (await up.multi.call_tool("echo", {"message": "1"})).text == "Echo: 1"
        with pytest.raises(ServerError, match="'far'"):
            await up.multi.call_tool("echo", {"message": "2"})
        with over_http(server, port):
            assert (await up.multi.call_tool("echo", {"message": "3"})).text == "Echo: 3"
