"""The math server run by hand: how it starts, what it does with garbage, how it ends.

As a module, `test_math_server.py` runs it.
"""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "servers" / "math_server.py")
END_TIMEOUT_SECONDS = 20

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ADD = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"input": {"a": 1, "b": 2}}},
}
HANDSHAKE = [json.dumps(INITIALIZE).encode(), json.dumps(INITIALIZED).encode()]
GARBAGE = [
    b"",
    b"no json",
    b"{",
    b"[]",
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0", "id": 7, "method": "no/such/method"}',
    json.dumps(ADD).encode().replace(b'"a": 1', b'"a": ' + b"9" * 5000),
    json.dumps(ADD).encode().replace(b'"a": 1', b'"a": NaN').replace(b'"id": 2', b'"id": 3'),
    b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "\\ud800"}}',
]

Process = subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Process]]:
    """One process for each test, started at once because each imports for a second."""
    outside = tmp_path_factory.mktemp("outside")
    commands = {"script": [SCRIPT], "dev": [SCRIPT, "dev"]}
    started = {
        name: subprocess.Popen(
            [sys.executable, *arguments],
            cwd=outside,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name, arguments in commands.items()
    }
    yield started
    for process in started.values():
        if process.poll() is None:
            process.kill()
        process.communicate()


def converse(process: Process, lines: list[bytes]) -> tuple[list[dict[str, object]], str]:
    """Send all lines, wait for the answer to `ADD`, close stdin; the replies and stderr.

    The exit code must be 0.
    """
    replies = answered(process, lines)
    output, errors = process.communicate(timeout=END_TIMEOUT_SECONDS)
    replies += [json.loads(line) for line in output.splitlines()]
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)
    assert process.returncode == 0
    return replies, errors.decode()


def answered(process: Process, lines: list[bytes]) -> list[dict[str, object]]:
    """Send all lines and wait for the answer to `ADD`; every line on stdout must be JSON-RPC."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n".join([*lines, json.dumps(ADD).encode(), b""]))
    process.stdin.flush()
    replies: list[dict[str, object]] = []
    while not replies or replies[-1].get("id") != ADD["id"]:
        replies.append(json.loads(process.stdout.readline()))
        assert replies[-1]["jsonrpc"] == "2.0"
    return replies


def answer(replies: list[dict[str, object]], message_id: int) -> object:
    (reply,) = [each for each in replies if each["id"] == message_id]
    return reply.get("result", reply.get("error"))


def test_as_a_script_it_runs_from_anywhere_and_ctrl_c_ends_it_without_a_word(
    processes: dict[str, Process],
) -> None:
    process = processes["script"]
    replies = answered(process, HANDSHAKE)
    assert [reply["id"] for reply in replies] == [1, 2]
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=END_TIMEOUT_SECONDS)
    assert (process.returncode, output, errors) == (-signal.SIGINT, b"", b"")


def test_dev_survives_garbage_answers_what_follows_and_says_how_to_try_it(
    processes: dict[str, Process],
) -> None:
    replies, errors = converse(processes["dev"], [*HANDSHAKE, *GARBAGE])
    assert '"result": 3' in json.dumps(answer(replies, 2)).replace("\\", "")
    assert "a must be a finite number, not nan" in json.dumps(answer(replies, 3))
    assert "npx @modelcontextprotocol/inspector python -m servers.math_server" in errors


def test_help_needs_no_imports_and_a_wrong_argument_is_usage() -> None:
    helped = subprocess.run([sys.executable, SCRIPT, "--help"], capture_output=True, check=True)
    assert b"MCP over stdin and stdout" in helped.stdout
    wrong = subprocess.run([sys.executable, SCRIPT, "serve"], capture_output=True, check=False)
    assert wrong.returncode == 2
    assert b"invalid choice: 'serve'" in wrong.stderr


def test_without_the_sdk_it_says_what_is_missing_and_what_to_do() -> None:
    bare = subprocess.run(
        [sys.executable, "-S", SCRIPT], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert bare.returncode == 2
    assert b"has no module mcp; use the Python that Cortex-R is installed for" in bare.stderr
    assert b"Traceback" not in bare.stderr


def test_without_stdin_it_says_so() -> None:
    command = f'exec "{sys.executable}" "{SCRIPT}" <&-'
    closed = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert closed.returncode == 2
    assert b"needs stdin and stdout" in closed.stderr


def test_on_a_terminal_it_explains_itself_at_once() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, SCRIPT], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        assert b"Ctrl-D ends it" in process.stderr.readline()
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)
