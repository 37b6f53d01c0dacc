"""`agent.py mcp-server` as MCP clients start it: its streams, how it ends, what it leaves."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitRequestParams, ElicitResult

from core.values import Json, JsonObject
from tests.command_line import (
    ROOT,
    SUMS_SERVER,
    agent,
    environment,
    plan,
    script,
    write_profile,
)
from tests.modules.service.mcp_door.opening import (
    ADDS,
    ASKS,
    Era,
    both_eras,
    says,
    structured,
    text_of,
)
from tests.processes.conftest import GATED
from tests.screens import wait_until

WAIT_SECONDS = 45.0
AGENT = [sys.executable, str(ROOT / "agent.py")]
HOLDS = plan("return f\"FINAL_ANSWER: {await tools.hold(name='never')}\"")


def initialize(id_: int = 1) -> JsonObject:
    client: JsonObject = {"name": "test", "version": "1"}
    params: JsonObject = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": client,
    }
    return {"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params}


def call(id_: int, tool: str, arguments: JsonObject, progress: Json = None) -> JsonObject:
    params: JsonObject = {"name": tool, "arguments": arguments}
    if progress is not None:
        params["_meta"] = {"progressToken": progress}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


INITIALIZED: JsonObject = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Started:
    """A server that is spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *messages: JsonObject | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def next(self) -> JsonObject:
        """The next message; whatever stands on stdout has to be one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it has ended"
        message = cast("JsonObject", json.loads(line))
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, id_: int) -> JsonObject:
        """The result of a request."""
        while (message := self.next()).get("id") != id_:
            pass
        return cast("JsonObject", message.get("result", message.get("error")))

    def until_told(self, part: str) -> None:
        """Wait for a report on progress that says this."""
        while part not in json.dumps(self.next().get("params", {})):
            pass

    def end(self) -> tuple[int, str]:
        """Close stdin; the exit code, and stderr."""
        _, errors = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, errors.decode()


@contextmanager
def started(home: Path, *arguments: str, **extra: str) -> Generator[Started]:
    with subprocess.Popen(
        [*AGENT, "mcp-server", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home, **extra),
        cwd=home,
    ) as process:
        try:
            yield Started(process)
        finally:
            process.kill()


def options(home: Path, replies: Sequence[object], *servers: str, more: str = "") -> list[str]:
    file = write_profile(home, *(servers or (SUMS_SERVER,)))
    file.write_text(f"{file.read_text()}{more}\n")
    return ["--profile", str(file), "--model", script(home, replies)]


def children(pid: int) -> list[int]:
    """The processes that one has started, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


def all_end(pids: Sequence[int]) -> None:
    """Wait until none of them is there."""
    wait_until(lambda: not any(map(_is_alive, pids)))


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_initialize_is_answered_before_any_server_or_model_starts(tmp_path: Path) -> None:
    with started(tmp_path, *options(tmp_path, [ADDS])) as server:
        server.send(initialize())
        answer = server.answer(1)
        assert children(server.process.pid) == []
        assert not (tmp_path / "logs").exists()
        server.send(INITIALIZED, call(2, "ask", {"request": "add 5 and 7"}))
        result = server.answer(2)
        served = children(server.process.pid)
        code, errors = server.end()
    assert answer["protocolVersion"] == "2025-11-25"
    assert cast("JsonObject", answer["serverInfo"])["name"] == "cortex-r"
    assert cast("JsonObject", result["structuredContent"])["answer"] == "12"
    assert served, "the server for sums was not there"
    assert (code, errors) == (0, "")
    all_end(served)


GARBAGE = [
    b"",
    b"no json",
    b"[]",
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0", "id": 7, "method": "no/such/method"}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "\\ud800"}}',
    b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": "x"}',
    b"[" * 100_000,
    b'{"x": "' + b"y" * (5 * 1024 * 1024) + b'"}',
]


def test_garbage_and_endless_lines_end_nothing_and_stdout_has_the_protocol_alone(
    tmp_path: Path,
) -> None:
    with started(tmp_path, *options(tmp_path, [says("here")])) as server:
        server.send(initialize(), INITIALIZED, *GARBAGE, call(2, "ask", {"request": "there?"}))
        result = server.answer(2)
        code, errors = server.end()
    assert cast("JsonObject", result["structuredContent"])["answer"] == "here"
    assert code == 0
    assert "a message of over 4194304 bytes is passed over" in errors
    assert "Traceback" not in errors


STRAY = """
import os, pathlib, threading
folder = pathlib.Path(__file__).parent

def write():
    while not (folder / "go").exists():
        threading.Event().wait(0.01)
    print("a stray line", flush=True)
    os.write(1, b"another\\n")
    (folder / "gone").touch()

threading.Thread(target=write, daemon=True).start()
"""


def test_what_else_writes_to_stdout_in_the_process_goes_to_stderr(tmp_path: Path) -> None:
    folder = tmp_path / "stray"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STRAY)
    with started(tmp_path, *options(tmp_path, []), PYTHONPATH=str(folder)) as server:
        server.send(initialize(), INITIALIZED)
        server.answer(1)
        (folder / "go").touch()
        wait_until((folder / "gone").exists)
        server.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert server.next() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        code, errors = server.end()
    assert code == 0
    assert errors.splitlines() == ["a stray line", "another"]


@pytest.mark.parametrize("how", ["stdin", "SIGTERM", "SIGINT", "SIGKILL"])
def test_whatever_ends_it_in_the_middle_of_a_call_no_server_is_left(
    tmp_path: Path, how: str
) -> None:
    gates = tmp_path / "gates"
    gates.mkdir()
    gated = f"id: gate\nscript: {GATED}\nargs: [{gates}]\ndescription: waits at gates"
    given = options(tmp_path, [HOLDS], gated)
    with started(tmp_path, *given, "--approve", "gate.hold") as server:
        held = call(2, "ask", {"request": "hold", "session_id": "held"}, progress="p")
        server.send(initialize(), INITIALIZED, held)
        server.until_told("gate.hold")
        left = [int((gates / "pid").read_text()), *children(server.process.pid)]
        if how == "stdin":
            code, errors = server.end()
        else:
            server.process.send_signal(getattr(signal, how))
            server.process.wait(WAIT_SECONDS)
            code, errors = server.end()
    all_end(left)
    expected = {"stdin": 0, "SIGTERM": 130, "SIGINT": 130, "SIGKILL": -signal.SIGKILL}
    assert code == expected[how]
    assert "Traceback" not in errors
    if how != "SIGKILL":
        kept = agent(tmp_path, "sessions", "show", "held", "--profile", given[1], "--json")
        exchanges = json.loads(kept.out)["exchanges"]
        assert [(each["request"], each["answer"]) for each in exchanges] == [("hold", None)]


def has_answered(memory: Path) -> bool:
    """Whether a session holds an answer."""
    return any('"final_answer":' in path.read_text() for path in memory.rglob("*.json"))


@pytest.mark.parametrize("how", ["stdin", "SIGTERM"])
def test_a_client_that_does_not_read_holds_up_no_end(tmp_path: Path, how: str) -> None:
    long = plan('return "FINAL_ANSWER: " + "x" * 300_000')
    with started(tmp_path, *options(tmp_path, [long])) as server:
        server.send(initialize(), INITIALIZED, call(2, "ask", {"request": "x", "session_id": "x"}))
        server.answer(1)
        wait_until(lambda: has_answered(tmp_path / "memory"))
        assert server.process.stdin is not None
        if how == "stdin":
            server.process.stdin.close()
        else:
            server.process.terminate()
        assert server.process.wait(WAIT_SECONDS) == {"stdin": 0, "SIGTERM": 130}[how]


def test_a_client_that_goes_away_without_a_word_ends_it(tmp_path: Path) -> None:
    with started(tmp_path, *options(tmp_path, [])) as server:
        server.send(initialize())
        server.answer(1)
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send(initialize(2))
        server.process.wait(WAIT_SECONDS)
        assert server.process.returncode == 0


def test_what_is_wrong_with_the_configuration_is_told_on_stderr_alone(tmp_path: Path) -> None:
    profile = tmp_path / "bad.yaml"
    profile.write_text("agent: {name: x, id: x}\nservice: {gateways: true}\n")
    done = agent(tmp_path, "mcp-server", "--profile", str(profile))
    assert (done.code, done.out) == (2, "")
    assert "gateways" in done.err
    assert "gateway" in done.err.replace("gateways", "")


def test_somebody_at_a_terminal_is_told_what_it_is_for(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*AGENT, "mcp-server"],
            stdin=theirs,
            capture_output=True,
            env=environment(tmp_path),
            timeout=WAIT_SECONDS,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"started by an MCP client" in done.stderr
    assert b"inspector" in done.stderr


@both_eras
async def test_the_sdks_client_asks_and_its_person_answers(tmp_path: Path, era: Era) -> None:
    asked: list[str] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "blue"})

    given = ["mcp-server", *options(tmp_path, [ASKS, ADDS])]
    program = StdioServerParameters(
        command=AGENT[0], args=[*AGENT[1:], *given], env=environment(tmp_path)
    )
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with Client(
        stdio_client(program),
        mode=era,
        elicitation_callback=answer,
        read_timeout_seconds=WAIT_SECONDS,
    ) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("ask", {"request": "paint it"}, progress_callback=hear)
    assert tools == ["ask", "list_sessions", "read_session", "search_documents"]
    assert asked == ["which colour?"]
    assert text_of(result) == "12"
    assert structured(result)["status"] == "done"
    assert any("math.add" in text for text in told)


@pytest.mark.parametrize("place", [0, 1], ids=["Claude Desktop", "VS Code"])
def test_an_agent_asks_the_agent_by_the_entries_of_the_page_without_a_model(
    tmp_path: Path, place: int
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    profile = write_profile(inner, SUMS_SERVER)
    page = (ROOT / "docs" / "mcp.md").read_text()
    written = page.split("```json\n")[1 + place].partition("```")[0]
    written = written.replace("/path/to/cortex-r/.venv/bin/python", sys.executable)
    document = json.loads(written.replace("/path/to/cortex-r", str(ROOT)))
    (servers,) = document.values()
    servers["cortex"]["args"] += ["--profile", str(profile)]
    servers["cortex"]["env"] = environment(inner)
    mcp_file = tmp_path / "mcp.json"
    mcp_file.write_text(json.dumps(document))
    given = ["--profile", str(write_profile(tmp_path)), "--mcp-config", str(mcp_file), "--json"]
    given += ["--approve", "cortex.ask"]
    done = agent(tmp_path, *given, 'call cortex.ask with request "add 5 and 7"')
    assert done.code == 0, done.err
    told = json.loads(done.out)
    ((made,),) = [step["calls"] for step in told["steps"]]
    assert made["tool"] == "cortex.ask"
    assert made["result"]["answer"] == "12"
    assert made["result"]["trace_id"] == told["trace_id"]


def test_an_agent_that_has_itself_as_a_server_does_not_start_itself(tmp_path: Path) -> None:
    entry = {"command": AGENT[0], "args": [*AGENT[1:], "mcp-server"], "env": environment(tmp_path)}
    mcp_file = tmp_path / "config" / "mcp.json"
    mcp_file.parent.mkdir()
    mcp_file.write_text(json.dumps({"mcpServers": {"cortex": entry}}))
    given = options(tmp_path, [], more="service: {gateway: true}")
    with started(tmp_path, *given) as server:
        server.send(initialize(), INITIALIZED)
        server.answer(1)
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        listed = cast("list[JsonObject]", server.answer(2)["tools"])
        code, errors = server.end()
    names = {str(tool["name"]) for tool in listed}
    assert "math__add" in names
    assert not any(name.startswith("cortex__") for name in names)
    assert (code, errors) == (0, "")
