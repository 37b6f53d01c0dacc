"""A busy program says so: at a terminal nothing is silent, whatever it waits for."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.command_line import ROOT, environment, plan, write_profile

SLOW_SERVER = ROOT / "tests" / "fixtures" / "servers" / "slow_server.py"
SILENT_SECONDS_MAX = 1.0
"""0.3 s until what is waited for is named; the rest is for a machine that has more to do."""

WAIT_SECONDS = 20

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def silences(home: Path, arguments: Sequence[str]) -> tuple[list[tuple[float, str]], str]:
    """Seconds without a byte, each with what stood there before, from the first byte to the end."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "agent.py"), *arguments],
        env=environment(home, TERM="xterm"),
        cwd=home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    gaps: list[tuple[float, str]] = []
    written = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal, suppress(OSError):  # EIO: it has ended
        while select.select([terminal], [], [], WAIT_SECONDS)[0]:
            piece = terminal.read(65_536)
            gaps.append((time.monotonic() - started, written[-200:].decode(errors="replace")))
            written, started = written + piece, time.monotonic()
    process.kill()
    process.wait()
    return gaps[1:], _STYLE.sub("", written.decode())


def test_nothing_is_silent_while_a_server_a_model_or_a_tool_takes_its_time(tmp_path: Path) -> None:
    server = f"""
id: slow
command: {sys.executable}
args: [{SLOW_SERVER}, "1.5", "1.5", "1.5"]
"""
    paced = {"after": 1.5, "seconds": 1.0}
    goes_on = plan("found = await tools.work()\nreturn f'FURTHER_PROCESSING_REQUIRED: {found}'")
    spins = plan("for n in range(4_000_000):\n    pass\nreturn 'FINAL_ANSWER: all is done now'")
    replies = {
        "perception": [{"text": '{"intent": "work", "selected_servers": ["slow"]}', **paced}] * 2,
        "decision": [{"text": text, **paced} for text in (goes_on, spins)],
    }
    (tmp_path / "script.json").write_text(json.dumps(replies), encoding="utf-8")
    profile = write_profile(tmp_path, server, strategy="perception: always")
    options = ["--profile", str(profile), "--approve", "slow.work"]
    gaps, shown = silences(tmp_path, [*options, "--model", "scripted:script.json", "do the work"])
    for named in (
        "waiting for server 'slow' to start",
        "(perception)",
        "(a plan)",
        "characters written",
        "slow.work",
        "FINAL_ANSWER: all is",
        "waiting for the servers to end",
    ):
        assert named in shown, named
    assert "all is done now" in shown
    assert [gap for gap in gaps if gap[0] > SILENT_SECONDS_MAX] == []
