"""Our own stdin and stdout as a transport: whole lines, bad lines, too long lines, ends."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pytest

from core.mcp.peer import TransportDown
from core.values import Json, JsonObject
from modules.service.acp.stdio import OwnStdio

BOUND_SECONDS = 10.0


@dataclass
class Ends:
    """The client's ends of both pipes, and what the transport has delivered."""

    transport: OwnStdio
    writing: int
    reading: BinaryIO
    got: asyncio.Queue[JsonObject] = field(default_factory=asyncio.Queue[JsonObject])

    def write(self, *lines: bytes) -> None:
        os.write(self.writing, b"".join(line + b"\n" for line in lines))

    def end(self) -> None:
        """Close what the transport reads."""
        if self.writing >= 0:
            os.close(self.writing)
        self.writing = -1

    async def delivered(self) -> JsonObject:
        return await asyncio.wait_for(self.got.get(), BOUND_SECONDS)

    async def answer(self) -> JsonObject:
        """The next line that the transport writes."""
        value: Json = json.loads(await asyncio.to_thread(self.reading.readline))
        assert isinstance(value, dict)
        return value


@asynccontextmanager
async def opened(bytes_max: int = 1_000_000) -> AsyncGenerator[Ends]:
    """The ends of a transport that delivers what it reads."""
    async with ends(bytes_max) as made:
        await made.transport.open(made.got.put_nowait)
        yield made


@asynccontextmanager
async def ends(bytes_max: int = 1_000_000) -> AsyncGenerator[Ends]:
    theirs, ours = os.pipe(), os.pipe()
    stdin, stdout = os.fdopen(theirs[0], "rb"), os.fdopen(ours[1], "wb")
    made = Ends(OwnStdio(stdin, stdout, bytes_max), theirs[1], os.fdopen(ours[0], "rb"))
    with stdin, stdout, made.reading:
        try:
            yield made
        finally:
            await made.transport.aclose()
            made.end()  # and with it the thread that reads


async def test_messages_come_whole_however_they_are_cut() -> None:
    async with opened() as client:
        os.write(client.writing, b'{"method": "a"}\n\n  \n{"met')
        assert await client.delivered() == {"method": "a"}
        os.write(client.writing, b'hod": "b"}\r\n')
        assert await client.delivered() == {"method": "b"}
        await client.transport.send({"id": 1, "result": {}})
        assert await client.answer() == {"id": 1, "result": {}}


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        (b"nothing", None, -32700),
        (b'{"jsonrpc":"2.0","id":4,"method":', None, -32700),
        (b'{"jsonrpc":"2.0","id":"x","params":{}}', "x", -32600),
        (b'[{"method":"a"}]', None, -32600),
        (b'{"id":true,"method":"a"}', None, -32600),
        (b'{"id":[1],"method":"a"}', None, -32600),
        (
            b'{"jsonrpc":"2.0","id":5,"method":"a","params":[' + b"{}," * 150_000 + b"1]}",
            None,
            -32600,
        ),
        (b"\xff\xfe", None, -32700),
    ],
)
async def test_a_line_that_is_no_message_is_answered(
    line: bytes, id_: int | str | None, code: int
) -> None:
    async with opened() as client:
        await asyncio.to_thread(client.write, line, b'{"method":"next"}')
        answer = await client.answer()
        assert answer["id"] == id_
        error = answer["error"]
        assert isinstance(error, dict)
        assert error["code"] == code
        assert await client.delivered() == {"method": "next"}


@pytest.mark.parametrize("length", [101, 5_000, 700_000])
async def test_a_line_that_is_too_long_is_passed_over(length: int) -> None:
    async with opened(bytes_max=100) as client:
        await asyncio.to_thread(client.write, b'"' + b"x" * length + b'"', b'{"method":"next"}')
        answer = await client.answer()
        assert "of more than 100 bytes" in str(answer["error"])
        assert await client.delivered() == {"method": "next"}


async def test_the_end_of_stdin_is_the_end() -> None:
    async with opened() as client:
        client.write(b'{"method":"last"}')
        assert await client.delivered() == {"method": "last"}
        client.end()
        await asyncio.wait_for(client.transport.lost.wait(), BOUND_SECONDS)
        with pytest.raises(TransportDown):
            await client.transport.send({"method": "a"})


async def test_a_notification_waits_while_nobody_reads() -> None:
    async with opened() as client:
        big: JsonObject = {"method": "session/update", "params": "x" * 1_000_000}
        sending = asyncio.create_task(client.transport.send(big))
        await asyncio.sleep(0)
        assert not sending.done()
        assert await client.answer() == big
        await asyncio.wait_for(sending, BOUND_SECONDS)


async def test_one_socket_serves_both_ways() -> None:
    theirs, ours = socket.socketpair()
    got: asyncio.Queue[JsonObject] = asyncio.Queue()
    with theirs, ours, ours.makefile("rb") as stdin, ours.makefile("wb") as stdout:
        transport = OwnStdio(stdin, stdout)
        await transport.open(got.put_nowait)
        for number in range(2):
            await transport.send({"id": number, "result": {}})
            assert str(number).encode() in await asyncio.to_thread(theirs.recv, 100)
            theirs.sendall(b'{"method":"a"}\n')
            assert await asyncio.wait_for(got.get(), BOUND_SECONDS) == {"method": "a"}
        assert not transport.is_down
        theirs.shutdown(socket.SHUT_WR)
        await asyncio.wait_for(transport.lost.wait(), BOUND_SECONDS)
        await transport.aclose()


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "requests"
    file.write_bytes(b'{"method":"a"}\n{"method":"b"}\n')
    got: list[JsonObject] = []
    nobody, writing = os.pipe()
    with file.open("rb") as stdin, os.fdopen(writing, "wb") as stdout:
        transport = OwnStdio(stdin, stdout)
        await transport.open(got.append)
        await asyncio.wait_for(transport.lost.wait(), BOUND_SECONDS)
        await transport.aclose()
    os.close(nobody)
    assert got == [{"method": "a"}, {"method": "b"}]
