"""A model's service that is slow: it says nothing, or writes a plan without an end."""

import json
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.command_line import write_profile

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
BEGUN: Final = "```python\nasync def solve():\n"
LINE: Final = "    number = 1\n"


class _Slow(socketserver.StreamRequestHandler):
    """One request: `writes` is whether anything comes."""

    writes = False

    def handle(self) -> None:
        while self.rfile.readline().strip():
            pass
        over, text = threading.Event(), BEGUN
        while self.writes and self._sent(text):
            over.wait(0.02)
            text = LINE
        if not self.writes:
            self.connection.recv(1_000_000)  # the request's body
            self.connection.recv(1)  # nothing, once the client has hung up

    def _sent(self, text: str) -> bool:
        first = b"" if text == LINE else HEAD
        delta = json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})
        try:
            self.wfile.write(first + f"data: {delta}\n\n".encode())
        except OSError:
            return False
        return True


class _Writing(_Slow):
    writes = True


@contextmanager
def slow_model(home: Path, *, writes: bool) -> Generator[list[str]]:
    """Options for a run with such a model, which is asked for a perception if it does not write."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Writing if writes else _Slow) as server:
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
