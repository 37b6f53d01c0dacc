"""A model's service that is slow: it says nothing, or writes something without an end."""

import json
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.command_line import write_profile

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
PLAN: Final = ("```python\nasync def solve():\n", "    number = 1\n")
ANSWER: Final = (
    f"{PLAN[0]}    return '''FINAL_ANSWER: # Tea\n\n**Boil** the water.\n\n",
    "- wait *long*\n",
)
"""How each begins, and the line that follows over and over."""


class _Slow(socketserver.StreamRequestHandler):
    """One request: `writes` is what comes, if anything does."""

    writes: tuple[str, str] | None = None

    def handle(self) -> None:
        while self.rfile.readline().strip():
            pass
        if self.writes is None:
            self.connection.recv(1_000_000)  # the request's body
            self.connection.recv(1)  # nothing, once the client has hung up
            return
        over, (begun, line) = threading.Event(), self.writes
        is_heard = self._sent(begun, HEAD)
        while is_heard:
            over.wait(0.02)
            is_heard = self._sent(line)

    def _sent(self, text: str, first: bytes = b"") -> bool:
        delta = json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})
        try:
            self.wfile.write(first + f"data: {delta}\n\n".encode())
        except OSError:
            return False
        return True


@contextmanager
def slow_model(home: Path, writes: tuple[str, str] | None) -> Generator[list[str]]:
    """Options for a run with such a model, which is asked for a perception if it does not write."""
    handler = type("Handler", (_Slow,), {"writes": writes})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        entry = {"type": "openai", "model": "slow", "price": {"input": 0, "output": 0}}
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        (home / "config").mkdir()
        (home / "config" / "models.json").write_text(
            json.dumps({"models": {"slow": {**entry, "base_url": url}}}), encoding="utf-8"
        )
        asked = "perception: never" if writes else "perception: always"
        yield ["--profile", str(write_profile(home, strategy=asked)), "--model", "slow"]
        server.shutdown()
