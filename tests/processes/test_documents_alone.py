"""The documents server and its commands as processes of their own, with real files and no vectors.

One process each: starting one costs a second.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT
from tests.servers.web.loopback import page, threaded_web

BOUND_SECONDS = 60


def environment(home: Path) -> dict[str, str]:
    """Documents under `home`, searched by words alone."""
    options = {
        "folders": [str(home / "documents")],
        "index_folder": str(home / "index"),
        "embedder": "none",
        "captions": "none",
    }
    return {
        "PATH": os.environ["PATH"],
        "CORTEX_DOCUMENTS": json.dumps(options),
        "CORTEX_WEB": json.dumps({"allow_private": ["127.0.0.1"]}),
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "lease.md").write_text("# Lease\n\nThe notice period is six weeks.\n")
    return tmp_path


def test_the_server_answers_at_once_searches_reads_a_page_and_ends_with_its_stdin(
    home: Path,
) -> None:
    def message(number: int, method: str, **parameters: object) -> str:
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        return f"{json.dumps(request)}\n"

    about = {"name": "test", "version": "1"}
    start = message(
        1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about
    )
    started = '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
    query = {"input": {"query": "notice period"}}
    search = message(2, "tools/call", name="search_stored_documents", arguments=query)
    with (
        threaded_web() as web,
        subprocess.Popen(
            [sys.executable, str(ROOT / "servers" / "documents_server.py")],
            env=environment(home),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        web.pages["/tides"] = page("The tides turn twice a day.", "text/plain")
        given = {"input": {"url": web.url("/tides")}}
        convert = message(
            3, "tools/call", name="convert_webpage_url_into_markdown", arguments=given
        )
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(start + started + search)
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.write(convert)
        server.stdin.flush()
        answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.wait(BOUND_SECONDS) == 0
        assert server.stdout.read() == ""
        assert server.stderr.read() == ""
    assert answers[0]["result"]["serverInfo"]["name"] == "documents"
    text = answers[1]["result"]["structuredContent"]["result"]
    assert "The notice period is six weeks." in text
    assert "[Source: lease.md, ID: " in text
    read = answers[2]["result"]["structuredContent"]["result"]
    assert read == f"The tides turn twice a day.\n\n[Source: {web.url('/tides')}]"


def test_watching_ends_with_ctrl_c_and_leaves_no_traceback(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(ROOT / "servers" / "rag" / "command.py"), '{"action": "watch"}'],
        env=environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stderr is not None
        told = ""
        while "1 added" not in told:
            line = watching.stderr.readline()
            assert line, told
            told += line
        watching.send_signal(signal.SIGINT)
        assert watching.wait(BOUND_SECONDS) == 130
        told += watching.stderr.read()
    assert told.endswith("interrupted\n")
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("stdout", "code", "told"),
    [(">/dev/full", 1, "[docs] No space left on device\n"), (">&-", 0, "")],
)
def test_a_full_disk_is_said_in_one_line_and_a_closed_stdout_is_none(
    home: Path, stdout: str, code: int, told: str
) -> None:
    command = f'exec "{sys.executable}" "{ROOT / "agent.py"}" --quiet docs list --json {stdout}'
    done = subprocess.run(
        ["sh", "-c", command],
        env=environment(home) | {"CORTEX_HOME": str(home)},
        cwd=home,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=BOUND_SECONDS,
    )
    assert (done.returncode, done.stderr) == (code, told)
