"""A model's service on loopback that begins to answer at once, in OpenAI's protocol, streamed.

It says its port on stdout, and ends when its stdin closes. A request that holds `WITHOUT_END` gets
a reply that goes on until the client leaves; then it says at which moment of the system's
monotonic clock it saw that.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress

from tests.benchmarks.drivers.turns import say

WITHOUT_END = "write without an end"
PIECE_SECONDS = 0.005
"""Between two pieces of a reply: two hundred a second, as a quick model writes."""

PIECES = ("async def solve():\n", '    return "FINAL_ANSWER: done"\n')
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def main() -> None:
    """Serve until nobody is there any more."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    say({"port": server.sockets[0].getsockname()[1]})
    async with server:
        await asyncio.to_thread(sys.stdin.read)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, for as many requests as come over it."""
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            writer.write(HEAD)
            if WITHOUT_END.encode() in body:
                await _write_on(reader, writer)
                break
            for piece in PIECES:
                writer.write(_event(_chunk(piece)))
                await asyncio.sleep(PIECE_SECONDS)
            writer.write(_event(_chunk("", "stop")) + _event("[DONE]") + b"0\r\n\r\n")
            await writer.drain()
    writer.close()


async def _write_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write until the client leaves, and say when that was."""
    leaving = asyncio.create_task(_until_left(reader))
    with suppress(ConnectionError):
        while not leaving.done():
            writer.write(_event(_chunk("word ")))
            await asyncio.wait({leaving}, timeout=PIECE_SECONDS)
    say({"left": await leaving})


async def _until_left(reader: asyncio.StreamReader) -> float:
    with suppress(ConnectionError):
        await reader.read()
    return time.monotonic()


def _length(head: bytes) -> int:
    lines = head.decode("latin-1").lower().splitlines()
    return next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))


def _chunk(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return json.dumps({"object": "chat.completion.chunk", "choices": [choice]})


def _event(data: str) -> bytes:
    """A server-sent event as one chunk of the body."""
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


if __name__ == "__main__":
    asyncio.run(main())
