"""How a reply begins, and how a stream goes on while nothing happens."""

import asyncio

import pytest
from starlette.responses import StreamingResponse

from core.base.redaction import Redactor
from core.turn import Usage
from core.values import JsonObject
from modules.service.http.problems import Refused
from modules.service.openai_form.asked import Asked, Body
from modules.service.openai_form.completion import Answer
from modules.service.openai_form.reply import Reply

TWELVE = Answer("12", is_refusal=False, status="done", usage=Usage(), trace_id="")


def reply(*, stream: bool = True) -> Reply:
    said: JsonObject = {"role": "user", "content": "add 5 and 7"}
    body = Body.model_validate({"model": "cortex-r", "messages": [said], "stream": stream})
    return Reply(Asked(body, "add 5 and 7"), Redactor({}), keep_alive_seconds=0)


async def test_a_turn_that_is_long_waited_for_begins_the_stream_and_keeps_it_alive() -> None:
    may_answer = asyncio.Event()

    async def in_turn() -> Answer:
        await may_answer.wait()
        return TWELVE

    response = await reply().response(asyncio.create_task(in_turn()))
    assert isinstance(response, StreamingResponse)
    told: list[str] = []
    async with asyncio.timeout(10):
        async for piece in response.body_iterator:
            assert isinstance(piece, bytes)
            told.append(piece.decode())
            if told[-1] == ": keep-alive\n\n":
                may_answer.set()
    assert '"role": "assistant"' in told[0]
    assert '"content": "12"' in "".join(told)
    assert told[-1] == "data: [DONE]\n\n"


async def test_what_fails_before_it_begins_has_a_status_of_its_own() -> None:
    async def no_turn() -> Answer:
        raise Refused("too-many-requests", "too many")

    answering = asyncio.create_task(no_turn())
    await asyncio.wait({answering})
    with pytest.raises(Refused, match="too many"):
        await reply().response(answering)


async def test_an_answer_in_one_piece_is_not_begun_before_it_is_there() -> None:
    may_answer = asyncio.Event()

    async def slow() -> Answer:
        await may_answer.wait()
        return TWELVE

    answering = asyncio.create_task(slow())
    responding = asyncio.create_task(reply(stream=False).response(answering))
    for _ in range(20):  # rounds of the event loop, in each of which a stream would tell
        await asyncio.sleep(0)
    assert not responding.done()
    may_answer.set()
    assert b'"content": "12"' in bytes((await responding).body)
