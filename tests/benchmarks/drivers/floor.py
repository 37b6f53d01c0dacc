"""The floor: JSON-RPC lines on a pair of pipes, blocking, with no checks and no event loop."""

import json
import subprocess
from collections.abc import Mapping
from typing import IO, cast

from tests.benchmarks.drivers.turns import HANDSHAKE, INITIALIZED, Target, take_turns_blocking


class PipeClient:
    """Requests and their results, one at a time; notifications of the server are thrown away."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        """Shake hands with the server."""
        self._stdin = cast("IO[bytes]", process.stdin)
        self._stdout = cast("IO[bytes]", process.stdout)
        self._last_id = 0
        self.request("initialize", HANDSHAKE)
        self._write(INITIALIZED)
        self.request("tools/list", {})

    def request(self, method: str, params: Mapping[str, object]) -> object:
        """The result of one request."""
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while True:
            message = json.loads(self._stdout.readline())
            if message.get("id") == self._last_id and "method" not in message:
                return message["result"]

    def _write(self, message: Mapping[str, object]) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()


def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    with subprocess.Popen(
        target.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=target.cwd
    ) as process:
        client = PipeClient(process)
        take_turns_blocking(
            lambda tool, arguments: client.request(
                "tools/call", {"name": tool, "arguments": arguments}
            )
        )


if __name__ == "__main__":
    main()
