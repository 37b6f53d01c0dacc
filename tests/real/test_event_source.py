"""`GET /runs/{id}/events` for the EventSource of Chromium, which comes back by `Last-Event-ID`."""

import json
from pathlib import Path

import pytest

from modules.service.served.event_types import EVENT_TYPES
from tests.command_line import plan
from tests.processes.test_serve import Serve, events, gated, serve
from tests.real.browser import chromium, visited

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
    chromium()  # before anything is served
    service = serve(*gated(tmp_path, answers=[TWICE]))
    body = {"message": "go", "on_disconnect": "continue"}
    with service.client().stream("POST", "/chat", json=body) as response:
        run = response.headers["x-run-id"]
    words = [service.url, run, str(tmp_path / "gates"), *EVENT_TYPES]
    seconds = VISIT_TIMEOUT_SECONDS
    found = json.loads(
        visited("event_source_visit", *words, home=tmp_path, timeout_seconds=seconds)
    )
    with service.client().stream("GET", f"/runs/{run}/events") as response:
        told = [name for name, _ in events(response)]
    assert found["heard"] == [[at, name, name] for at, name in enumerate(told, 1)]
    assert 0 < found["before"] < len(told), "it was cut in the midst"
    assert told[-1] == "response.done"
    assert service.end() == 0
