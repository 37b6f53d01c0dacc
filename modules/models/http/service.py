"""HTTP for backends without an SDK: one client, streamed replies, failures in the user's words.

    async with http.post("/chat/completions", body) as reply:
        async with aclosing(reply.events()) as events:  # or reply.lines(), or await reply.json()
            async for data in events:
                ...

Leaving the block gives the request up: its connection closes, unless the whole reply was read.
Light: the client (`client.py` beside) is imported in a thread, at the first request.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic_core import to_json

from config.models_file import REQUEST_TIMEOUT_SECONDS
from core.values import JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.http.errors import Advice, ServiceErrors
from modules.models.http.reply import ServiceReply

if TYPE_CHECKING:
    from modules.models.http.client import ServiceClient

Method: TypeAlias = Literal["GET", "POST"]


class ServiceHttp:
    """Requests to one service; connects when first used, and again after `aclose`.

    Attributes:
        errors: makes the service's errors.
    """

    def __init__(
        self,
        subject: str,
        base_url: str,
        advice: Advice,
        key: ApiKey | None = None,
        *,
        idle_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        """Keep the settings; nothing is opened.

        `subject` begins every message, such as `model openai:gpt-5`. `key` goes with every request
        as a bearer token. The service may send nothing for `idle_seconds`.
        """
        self.errors = ServiceErrors(subject, base_url, advice, key, idle_seconds)
        self._base_url = base_url
        self._key = key
        self._idle_seconds = idle_seconds
        self._opening = asyncio.Lock()
        self._client: ServiceClient | None = None

    def post(self, path: str, body: JsonObject) -> AbstractAsyncContextManager[ServiceReply]:
        """Send JSON to `base_url` + `path`; the reply, once its head says success.

        Raises:
            ServiceError: the service answered with another status.
            ModelUnavailable: it can't be reached, or sent no HTTP.
        """
        return self._exchange("POST", path, body)

    def get(self, path: str) -> AbstractAsyncContextManager[ServiceReply]:
        """Ask for `base_url` + `path`; otherwise as `post`."""
        return self._exchange("GET", path, None)

    async def aclose(self) -> None:
        """Close all connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _exchange(
        self, method: Method, path: str, body: JsonObject | None
    ) -> AsyncGenerator[ServiceReply]:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            client = self._client
        base, mark, query = self._base_url.partition("?")
        request = client.build_request(
            method,
            base.rstrip("/") + path + mark + query,
            content=None if body is None else _encoded(body),
            headers=None if body is None else {"content-type": "application/json"},
        )
        response = await client.send(request, stream=True)
        try:
            yield ServiceReply(response, self.errors)
        finally:
            await response.aclose()

    def _new_client(self) -> "ServiceClient":
        from modules.models.http.client import ServiceClient

        self.errors.check_key()
        headers = {} if self._key is None else {"authorization": f"Bearer {self._key.value}"}
        return ServiceClient(self._base_url, headers, self.errors, self._idle_seconds)


def _encoded(body: JsonObject) -> bytes:
    """The body as JSON; halves of surrogate pairs, which tools may return, become `?`."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
