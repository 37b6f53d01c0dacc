"""A wire to a server of the tests, and what came over it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest

from core.errors import ModelUnavailable
from modules.models.credentials.keys import ApiKey
from modules.models.http.client import ServiceClient
from modules.models.http.errors import Advice, ServiceError, ServiceErrors
from modules.models.http.reply import ServiceReply
from tests.modules.models.http.chat_server import KEY, model_server
from tests.modules.models.service import Handler

ADVICE = Advice("start it", "name another", "set SOME_KEY")


@asynccontextmanager
async def wire(
    url: str, key: ApiKey | None = KEY, idle_seconds: float = 10
) -> AsyncGenerator[ServiceClient]:
    """A wire to a server, closed twice at the end, as it may be."""
    opened = ServiceClient(ServiceErrors("model x", url, ADVICE, key, idle_seconds))
    try:
        async with asyncio.timeout(20):
            yield opened
    finally:
        await opened.aclose()
        await opened.aclose()


async def events(reply: ServiceReply) -> list[bytes]:
    """All events of a reply."""
    async with aclosing(reply.events()) as found:
        return [data async for data in found]


async def lines(reply: ServiceReply) -> list[bytes]:
    """All lines of a reply."""
    async with aclosing(reply.lines()) as found:
        return [line async for line in found]


@asynccontextmanager
async def posted(
    handler: Handler, key: ApiKey | None = KEY, idle_seconds: float = 10
) -> AsyncGenerator[ServiceReply]:
    """A handler's reply."""
    async with (
        model_server(handler) as server,
        wire(server.url, key, idle_seconds) as opened,
        opened.exchange("/x", {}) as reply,
    ):
        yield reply


async def heard(handler: Handler) -> list[bytes]:
    """The events that a handler's reply holds."""
    async with posted(handler) as reply:
        return await events(reply)


async def fault(handler: Handler, key: ApiKey | None = KEY) -> ModelUnavailable:
    """The failure of reading a handler's reply as events; it holds no key and no cause."""
    with pytest.raises(ModelUnavailable) as caught:
        async with posted(handler, key) as reply:
            await events(reply)
    assert KEY.value not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert str(caught.value).startswith("model x ")
    return caught.value


async def refusal(handler: Handler, key: ApiKey | None = KEY) -> ServiceError:
    """The same, for a status that is no success."""
    refused = await fault(handler, key)
    assert isinstance(refused, ServiceError)
    return refused
