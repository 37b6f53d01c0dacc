import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2
from starlette.types import Message, Scope

from core.base.redaction import Redactor
from modules.service.http.endpoints.streams import (
    KEEP_ALIVE,
    EventStream,
    message_of,
    messages,
)
from modules.service.pool import User
from modules.service.served.events import DONE, EventWords, ServiceEvent
from modules.service.served.runs import ServedRun
from tests.modules.service.http.served import WAIT_SECONDS


def run_with(*names: str) -> ServedRun:
    run = ServedRun("0" * 32, User(), "default", "notes", EventWords("", Redactor({}), float))
    for name in names:
        run.add(name, {"type": name})
    return run


async def next_of(stream: AsyncGenerator[bytes]) -> bytes:
    return await asyncio.wait_for(anext(stream), WAIT_SECONDS)


def test_a_message_is_one_line_of_data_whatever_it_holds() -> None:
    text = "a\nb\r\nc\u2028d\x00é\udc80"
    told = message_of(ServiceEvent(7, "notice", {"text": text}))
    head, name, data, *rest = told.decode().split("\n")
    assert (head, name, rest) == ("id: 7", "event: notice", ["", ""])
    assert json.loads(data.removeprefix("data: "))["text"] == text.replace("\udc80", "?")


async def test_comments_come_while_nothing_happens() -> None:
    run = run_with("notice")
    async with aclosing(messages(run, 0, 0.01)) as stream:
        assert (await next_of(stream)).startswith(b"id: 1\n")
        assert await next_of(stream) == KEEP_ALIVE
        assert await next_of(stream) == KEEP_ALIVE
        run.add(DONE, {"type": DONE})
        while (told := await next_of(stream)) == KEEP_ALIVE:
            pass
        assert told.startswith(b"id: 2\n")
        assert [each async for each in stream] == []


async def test_a_stream_that_is_closed_early_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    async with aclosing(messages(run_with("notice"), 0, 60)) as stream:
        await next_of(stream)
    assert asyncio.all_tasks() == before


async def test_a_head_does_not_wait_for_the_run() -> None:
    async def receive() -> Message:
        raise AssertionError("nothing is to be received")

    async def app(scope: Scope, _receive: object, send: object) -> None:
        await EventStream(run_with("notice"))(scope, receive, send)  # pyright: ignore[reportArgumentType]

    transport = httpx2.ASGITransport(app=app)  # pyright: ignore[reportArgumentType]
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        response = await asyncio.wait_for(client.head("/"), WAIT_SECONDS)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-run-id"] == "0" * 32
