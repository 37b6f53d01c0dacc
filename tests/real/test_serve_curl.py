"""The HTTP service with curl, as docs/http.md shows it."""

import json
import subprocess
from pathlib import Path

from tests.command_line import without_servers
from tests.processes.test_serve import Serve, serve

__all__ = ["serve"]

JSON = ("-H", "Content-Type: application/json")


def curl(*arguments: str) -> str:
    """What curl prints; it ends after ten seconds."""
    line = ["curl", "--silent", "--show-error", "--no-buffer", "--max-time", "10", *arguments]
    return subprocess.run(line, capture_output=True, check=True).stdout.decode()


def test_a_chat_is_streamed(serve: Serve, tmp_path: Path) -> None:
    url = serve(*without_servers(tmp_path)).url
    told = curl(f"{url}/chat", *JSON, "-d", '{"message": "go", "conversation_id": "sums"}')
    messages = [each.split("\n") for each in told.strip().split("\n\n")]
    assert [each[0] for each in messages] == [f"id: {at + 1}" for at in range(len(messages))]
    assert messages[-1][1] == "event: response.done"
    assert json.loads(messages[-1][2].removeprefix("data: "))["answer"] == "12"
    run = json.loads(messages[-1][2].removeprefix("data: "))["run"]
    again = curl(f"{url}/runs/{run}/events", "-H", "Last-Event-ID: 2")
    assert again.startswith("id: 3\n")


def test_a_document_is_uploaded_and_a_long_one_is_refused(serve: Serve, tmp_path: Path) -> None:
    url = serve(*without_servers(tmp_path)).url
    (tmp_path / "lease.md").write_text("# Lease")
    made = json.loads(curl("-T", str(tmp_path / "lease.md"), f"{url}/documents/lease.md"))
    assert made["name"] == "lease.md"
    again = json.loads(curl("-T", str(tmp_path / "lease.md"), f"{url}/documents/lease.md"))
    assert again["status"] == 409
    long = tmp_path / "long"
    with long.open("wb") as file:
        file.truncate(101 * 1024 * 1024)
    for more in ([], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"]):
        refused = json.loads(curl("-T", str(long), *more, f"{url}/documents/long.bin"))
        assert refused["status"] == 413
    assert not (tmp_path / "documents" / "long.bin").exists()
