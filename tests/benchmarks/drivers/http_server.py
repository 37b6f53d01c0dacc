"""Our math server over Streamable HTTP on loopback, served by the SDK and uvicorn.

It says its port on stdout, and ends when its stdin closes.
"""

import asyncio
import socket
import sys

import uvicorn

from servers.math_tools import build_server
from tests.benchmarks.drivers.turns import say


async def main() -> None:
    """Serve until nobody is there any more."""
    # The protocol is named because asyncio sets TCP_NODELAY only where it is, as it is for servers
    # that asyncio binds itself; without, every second answer waits 40 ms for Nagle's algorithm.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    config = uvicorn.Config(build_server().streamable_http_app(), log_level="warning")
    server = uvicorn.Server(config)
    say({"port": listener.getsockname()[1]})
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
