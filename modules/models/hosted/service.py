"""A model behind HTTP that streams server-sent events: asked until it takes how it is asked.

What a model or server does not take, its refusals say. A *manner* is how it is asked by what was
learned so far, and is kept for later requests. Heavy: imports httpx2 (0.1 s).
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Generic, TypeVar

from core.ports import ModelRequest, ReplyDelta
from core.values import JsonObject
from modules.models.http.client import ServiceClient
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import LINGER_SECONDS, ReplyReader, ServiceReply, deltas_of
from modules.models.serving.budget import with_estimates

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

MannerT = TypeVar("MannerT")


class StreamingService(ABC, Generic[MannerT]):
    """One model with one client; a backend says what is sent, and what reads the reply."""

    linger_seconds = LINGER_SECONDS
    """How long the end of the stream is waited for once the reply is complete."""

    def __init__(
        self,
        errors: ServiceErrors,
        path: str,
        reader: type[ReplyReader],
        manner: MannerT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Make the client; takes its time, so call it in a thread.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        self.http = ServiceClient(errors, headers)
        self.manner = manner
        self._path = path
        self._reader = reader

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written.

        Raises:
            ModelUnavailable: see `RemoteModel.stream`; a stream that ends early is transient.
        """
        async with AsyncExitStack() as stack:
            reply = await self._asked(stack, request)
            when_complete = partial(reply.expect_end, self.linger_seconds)
            read = deltas_of(reply.documents(), self._reader(reply), when_complete)
            async with aclosing(with_estimates(read, request)) as deltas:
                async for delta in deltas:
                    yield delta

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    async def _asked(self, stack: AsyncExitStack, request: ModelRequest) -> ServiceReply:
        """The reply to a request that the model takes."""
        manner = await self.first_manner()
        body = await self._body(request, manner)
        while True:  # every round asks for less
            try:
                return await stack.enter_async_context(self.http.exchange(self._path, body))
            except ServiceError as error:
                if (narrower := await self.narrower(manner, body, error)) is None:
                    raise
                before, manner = body, narrower
                body = await self._body(request, manner)
                if body == before:
                    raise

    async def _body(self, request: ModelRequest, manner: MannerT) -> JsonObject:
        # Images are encoded, a millisecond a megabyte.
        return await asyncio.to_thread(self.body, request, manner)

    async def first_manner(self) -> MannerT:
        """How to ask, to begin with."""
        return self.manner

    @abstractmethod
    async def narrower(
        self, manner: MannerT, body: JsonObject, error: ServiceError
    ) -> MannerT | None:
        """How to ask after a refusal of `body`; None where it says nothing of that."""

    @abstractmethod
    def body(self, request: ModelRequest, manner: MannerT) -> JsonObject:
        """The JSON to send."""
