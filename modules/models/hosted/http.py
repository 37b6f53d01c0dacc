"""HTTP for backends without an SDK: one client, streamed replies, failures in the user's words.

    async with wire.post("/chat/completions", body) as reply:
        async with aclosing(reply.events()) as events:  # or reply.lines(), or await reply.json()
            async for data in events:
                ...

Leaving the block gives the request up: its connection closes, unless the whole reply was read.
Nothing is tried twice. What a service sends is bounded in size, and in the time between two bytes;
how long a whole request may take is for the model manager.

Light: httpx2 (0.1 s) is imported in a thread, at the first request.
"""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic_core import to_json

from config.http_address import is_loopback
from config.models_file import REQUEST_TIMEOUT_SECONDS
from core.base.retry_after import retry_after_seconds
from core.values import JsonObject
from core.version import __version__
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.errors import Advice, ServiceRefusal, WireFaults
from modules.models.hosted.reply import WireReply, json_value

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the service may take no byte of a request."""

CONNECTIONS_MAX = 100
"""As many as an entry's `concurrent_requests` may be."""

KEEPALIVE_SECONDS = 4.0
"""How long a connection is kept idle: uvicorn, which many local servers run on, closes after 5."""

Method: TypeAlias = Literal["GET", "POST"]


class ModelWire:
    """Requests to one service; connects when first used, and again after `aclose`."""

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
        as a bearer token. The service may send nothing for `idle_seconds`, also before its first
        byte: reading a long prompt takes a machine without GPU minutes.
        """
        self._base_url = base_url
        self._key = key
        self._idle_seconds = idle_seconds
        self._faults = WireFaults(subject, base_url, advice, key, idle_seconds)
        self._opening = asyncio.Lock()
        self._client: httpx2.AsyncClient | None = None

    def post(self, path: str, body: JsonObject) -> AbstractAsyncContextManager[WireReply]:
        """Send JSON to `base_url` + `path`; the reply, once its head says success.

        Raises:
            ServiceRefusal: the service answered with another status.
            ModelUnavailable: it can't be reached, or sent no HTTP.
        """
        return self._exchange("POST", path, body)

    def get(self, path: str) -> AbstractAsyncContextManager[WireReply]:
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
    ) -> AsyncGenerator[WireReply, None]:
        response = await self._send(method, path, None if body is None else _encoded(body))
        try:
            reply = WireReply(response, self._faults)
            if not response.is_success:
                raise await self._refusal(response, reply)
            encoding = response.headers.get("content-encoding", "identity")
            if encoding not in ("", "identity"):  # the bounds would not hold for what it unpacks to
                raise self._faults.too_long("a compressed reply, though asked not to")
            yield reply
        finally:
            await response.aclose()

    async def _send(self, method: Method, path: str, content: bytes | None) -> "httpx2.Response":
        client = await self._open()

        import httpx2  # no more than a look-up by now

        url = httpx2.URL(self._base_url)
        try:
            request = client.build_request(
                method,
                url.copy_with(path=url.path.rstrip("/") + path),
                content=content,
                headers=None if content is None else {"content-type": "application/json"},
            )
            response = await client.send(request, stream=True, follow_redirects=False)
        except Exception as error:  # noqa: BLE001 - whatever HTTP raises, this request failed
            raise self._faults.unconnected(error) from None
        finally:
            client.cookies.clear()  # no service needs them, and any could fill the jar
        _acknowledge_at_once(response)
        return response

    async def _refusal(self, response: "httpx2.Response", reply: WireReply) -> ServiceRefusal:
        status = response.status_code
        if response.is_redirect:
            return self._faults.redirect(status, _origin(response))
        body = await reply.beginning()
        error = self._faults.error_document(json_value(body), body)
        return self._faults.refusal(status, error, retry_after_seconds(response.headers))

    async def _open(self) -> "httpx2.AsyncClient":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    def _new_client(self) -> "httpx2.AsyncClient":
        """A client with our headers; a server on this machine is reached past any proxy.

        Raises:
            ModelUnavailable: key, address or proxy settings are of no use.
        """
        import ssl

        import httpx2

        try:
            url = httpx2.URL(self._base_url)
            # A context without any authority, for it must not be used: plain HTTP stays plain.
            unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            return httpx2.AsyncClient(
                headers=self._all_headers(),
                verify=httpx2.create_ssl_context() if url.scheme == "https" else unused,
                timeout=httpx2.Timeout(
                    connect=CONNECT_SECONDS,
                    read=self._idle_seconds,
                    write=WRITE_SECONDS,
                    pool=self._idle_seconds,
                ),
                limits=httpx2.Limits(
                    max_connections=CONNECTIONS_MAX, keepalive_expiry=KEEPALIVE_SECONDS
                ),
                trust_env=not is_loopback(url.host),
            )
        except (ValueError, ImportError, OSError, httpx2.InvalidURL):
            raise self._faults.unsendable(
                "the proxy or certificate settings of the environment, or base_url, are of no "
                "use; check HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and config/models.json"
            ) from None

    def _all_headers(self) -> dict[str, str]:
        # Uncompressed, so that the bounds on size hold for what comes over the wire too.
        headers = {"user-agent": f"cortex-r/{__version__}", "accept-encoding": "identity"}
        if self._key is not None:
            value = self._key.value
            if not value.isascii() or not value.isprintable() or " " in value or not value:
                raise self._faults.unsendable(
                    f"the key in {self._key.origin} holds characters that no key has; copy it "
                    "once more"
                )
            headers["authorization"] = f"Bearer {value}"
        return headers


def _encoded(body: JsonObject) -> bytes:
    """The body as JSON; halves of surrogate pairs, which tools may return, become `?`."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _acknowledge_at_once(response: "httpx2.Response") -> None:
    """Don't let the kernel hold back the acknowledgement of what arrived (Linux only).

    A server with Nagle's algorithm on waits for it before it sends the next piece: 40 ms.
    """
    stream = response.extensions.get("network_stream")
    sock = None if stream is None else stream.get_extra_info("socket")
    if sock is not None and hasattr(socket, "TCP_QUICKACK"):
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _origin(response: "httpx2.Response") -> str:
    """Scheme and host that a redirect points to; the rest may hold secrets."""
    import httpx2

    with suppress(httpx2.InvalidURL):
        target = response.url.join(response.headers.get("location", ""))
        return f"{target.scheme}://{target.host}"
    return ""
