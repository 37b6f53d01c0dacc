"""`GET /runs/{id}/events` for the EventSource of Chromium, which comes back by `Last-Event-ID`."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from modules.service.served.event_types import EVENT_TYPES
from tests.command_line import ROOT, plan
from tests.processes.test_serve import Serve, events, gated, serve
from tests.real.parts import PYTHON_PARTS
from tests.real.serving import chromium

__all__ = ["serve"]

VISIT_TIMEOUT_SECONDS = 60
TWICE = plan(
    "for name in ('first', 'second'):\n    told = await tools.hold(name=name)\n"
    "return f'FINAL_ANSWER: {told}'"
)


@pytest.mark.timeout(2 * VISIT_TIMEOUT_SECONDS)
def test_an_event_source_hears_each_event_once_over_a_cut_connection_and_ends(
    serve: Serve, tmp_path: Path
) -> None:
    browser = chromium()
    service = serve(*gated(tmp_path, answers=[TWICE]))
    body = {"message": "go", "on_disconnect": "continue"}
    with service.client().stream("POST", "/chat", json=body) as response:
        run = response.headers["x-run-id"]
    words = [browser, service.url, run, str(tmp_path / "gates"), *EVENT_TYPES]
    done = subprocess.run(
        [str(PYTHON_PARTS / "bin" / "python"), "-m", "tests.real.event_source_visit", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=VISIT_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    with service.client().stream("GET", f"/runs/{run}/events") as response:
        told = [name for name, _ in events(response)]
    assert found["heard"] == [[at, name, name] for at, name in enumerate(told, 1)]
    assert 0 < found["before"] < len(told), "it was cut in the midst"
    assert told[-1] == "response.done"
    assert service.end() == 0
