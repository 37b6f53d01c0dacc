"""The floor inside an event loop: JSON-RPC lines over asyncio's own pipes, with no checks."""

import asyncio
import json
from collections.abc import Mapping
from typing import cast

from tests.benchmarks.drivers.floor import PROTOCOL_VERSION
from tests.benchmarks.drivers.turns import Target, take_turns

LINE_BYTES_MAX = 64 * 1024 * 1024


class StreamClient:
    """Requests and their results, one at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Nothing is sent yet."""
        self._stdin = cast("asyncio.StreamWriter", process.stdin)
        self._stdout = cast("asyncio.StreamReader", process.stdout)
        self._last_id = 0

    async def request(self, method: str, params: Mapping[str, object]) -> object:
        """The result of one request."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while True:
            message = json.loads(await self._stdout.readline())
            if message.get("id") == self._last_id and "method" not in message:
                return message["result"]

    def send(self, message: Mapping[str, object]) -> None:
        """Send one message."""
        self._stdin.write(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """Let the server end."""
        self._stdin.close()


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    process = await asyncio.create_subprocess_exec(
        *target.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        cwd=target.cwd,
    )
    client = StreamClient(process)
    who = {"name": "floor", "version": "1"}
    start = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": who}
    await client.request("initialize", start)
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await client.request("tools/list", {})

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await client.request("tools/call", {"name": tool, "arguments": arguments})

    await take_turns(call)
    client.close()
    await process.wait()


if __name__ == "__main__":
    asyncio.run(main())
