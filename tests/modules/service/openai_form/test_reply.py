"""How a stream goes on while nothing happens, and when its client does not read."""

import asyncio

import pytest
from starlette.types import Message

from core.base.redaction import Redactor
from core.turn import Usage
from modules.service.openai_form.asked import Asked
from modules.service.openai_form.reply import ClientGone, Reply
from modules.service.openai_form.told import Answer, Completion

ASKED = Asked("cortex-r", "add 5 and 7", is_stream=True)
TWELVE = Answer("12", is_refusal=False, status="done", usage=Usage(), trace_id="")


async def unheard() -> Message:
    raise AssertionError("nothing is to be received")


class Client:
    """Reads what it is sent, or stops to; `kept_alive` is set by a comment."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = reads
        self.told = b""
        self.kept_alive = asyncio.Event()

    async def __call__(self, message: Message) -> None:
        if not self.reads:
            await asyncio.get_running_loop().create_future()
        self.told += message.get("body", b"")
        if b": keep-alive" in self.told:
            self.kept_alive.set()

    def reply(self, asked: Asked = ASKED) -> Reply:
        return Reply(
            {"type": "http"},
            unheard,
            self,
            asked,
            Completion.of(asked),
            {},
            Redactor({}),
            keep_alive_seconds=0,
            send_seconds=0.01,
        )


async def test_a_turn_that_is_long_waited_for_begins_the_stream_and_keeps_it_alive() -> None:
    client = Client()

    async def in_turn() -> Answer:
        await client.kept_alive.wait()
        return TWELVE

    reply = client.reply()
    async with asyncio.timeout(10):
        await reply.end(await reply.following(in_turn()))
    first, *_, last, _ = client.told.decode().split("\n\n")
    assert '"role": "assistant"' in first
    assert '"content": "12"' in client.told.decode()
    assert last == "data: [DONE]"


async def test_an_answer_in_one_piece_is_not_begun_before_it_is_there() -> None:
    client = Client()
    reply = client.reply(Asked("cortex-r", "add 5 and 7"))

    async def slow() -> Answer:
        for _ in range(20):  # rounds of the event loop, in each of which a stream would tell
            await asyncio.sleep(0)
        return TWELVE

    answer = await reply.following(slow())
    assert client.told == b""
    await reply.end(answer)
    assert b'"content": "12"' in client.told


async def test_a_client_that_does_not_read_is_gone_and_its_work_cancelled() -> None:
    client, is_cancelled = Client(reads=False), asyncio.Event()

    async def endless() -> Answer:
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            is_cancelled.set()

    async with asyncio.timeout(10):
        with pytest.raises(ClientGone):
            await client.reply().following(endless())
    assert is_cancelled.is_set()
