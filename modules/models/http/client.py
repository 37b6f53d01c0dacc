"""The HTTP client for a model's service: our bounds, and our errors.

Bytes come uncompressed, so that the bounds on size hold for what comes over the wire too; no
redirect is followed. Nothing is tried twice: the manager of models does that.

Heavy: imports httpx2 (0.1 s).
"""

import json
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

import httpx2
from pydantic_core import to_json

from core.base.http import acknowledge_at_once, is_loopback, retry_after_seconds
from core.base.sse import EventParser
from core.errors import ModelUnavailable
from core.values import Json, JsonObject
from core.version import __version__
from modules.models.http.error_document import ErrorDocument, error_document
from modules.models.http.errors import ServiceErrors, is_html
from modules.models.http.json_text import json_value
from modules.models.http.reply import ServiceReply

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the service may take no byte of a request."""

CONNECTIONS_MAX = 100
"""As many as an entry's `concurrent_requests` may be."""

KEEPALIVE_SECONDS = 30.0
"""How long a connection is kept idle: long enough for the next step of a run."""

PLAIN_KEEPALIVE_SECONDS = 4.0
"""The same without TLS: uvicorn, which many local servers run on, closes after 5."""


class ServiceClient:
    """The client for one service; connects when first used."""

    def __init__(self, errors: ServiceErrors, headers: Mapping[str, str] | None = None) -> None:
        """Take the settings of the environment; some 0.1 s, so call it in a thread.

        A service on this machine is reached directly, one elsewhere as the environment says
        (HTTPS_PROXY, NO_PROXY). `headers` go with every request, by default the key as a bearer
        token. The time in which the service may send nothing counts before its first byte too:
        reading a long prompt takes a machine without GPU minutes.

        Raises:
            ModelUnavailable: the address, or the environment's proxy or certificate settings are
                of no use.
        """
        self._errors = errors
        key = {"authorization": f"Bearer {errors.key.value}"} if errors.key is not None else {}
        try:
            url = httpx2.URL(errors.base_url)
            secure = url.scheme == "https"
            # A context without any authority, for it must not be used: plain HTTP stays plain.
            unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._http = httpx2.AsyncClient(
                headers={
                    "user-agent": f"cortex-r/{__version__}",
                    "accept-encoding": "identity",
                    **(key if headers is None else headers),
                },
                verify=httpx2.create_ssl_context() if secure else unused,
                timeout=httpx2.Timeout(
                    connect=CONNECT_SECONDS,
                    read=errors.timeout_seconds,
                    write=WRITE_SECONDS,
                    pool=errors.timeout_seconds,
                ),
                limits=httpx2.Limits(
                    max_connections=CONNECTIONS_MAX,
                    keepalive_expiry=KEEPALIVE_SECONDS if secure else PLAIN_KEEPALIVE_SECONDS,
                ),
                trust_env=not is_loopback(url.host),
            )
        except (ValueError, ImportError, OSError, httpx2.InvalidURL):
            raise errors.unusable_settings() from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @asynccontextmanager
    async def exchange(
        self, path: str, body: JsonObject | None = None
    ) -> AsyncGenerator[ServiceReply]:
        """Send JSON to a path of the API, or ask for it without a body; the reply to read.

        Leaving the block gives the request up: its connection closes, unless the whole reply was
        read.

        Raises:
            ServiceError: the service answered with a status that is no success.
            ModelUnavailable: it can't be reached, or sent no HTTP.
        """
        base, _, own_query = self._errors.base_url.partition("?")
        path, _, query = path.partition("?")
        queries = "&".join(filter(None, (query, own_query)))
        try:
            request = self._http.build_request(
                "GET" if body is None else "POST",
                base.rstrip("/") + path + (f"?{queries}" if queries else ""),
                content=None if body is None else _encoded(body),
                headers=None if body is None else {"content-type": "application/json"},
            )
            response = await self._http.send(request, stream=True)
        except Exception as error:  # noqa: BLE001 - whatever HTTP raises, this request failed
            raise self._errors.unconnected(error) from None
        finally:
            self._http.cookies.clear()  # no service needs them, and any could fill the jar
        try:
            acknowledge_at_once(response.extensions)
            reply = ServiceReply(response, self._errors)
            if not response.is_success:
                raise await self._refusal(response, reply)
            # Else the bounds would not hold for what it unpacks to.
            if response.headers.get("content-encoding", "") not in ("", "identity"):
                raise self._errors.too_long("a compressed reply, though asked not to")
            yield reply
        finally:
            await response.aclose()

    async def _refusal(self, response: httpx2.Response, reply: ServiceReply) -> ModelUnavailable:
        status, headers = response.status_code, response.headers
        if response.is_redirect:
            return self._errors.redirect(status, _origin(response))
        body = await reply.beginning()
        said = error_document(json_value(body)) or error_document(_first_event(body))
        if said is None:
            said = ErrorDocument("" if is_html(body) else body.decode("utf-8", "replace"))
        # What the vendors' own clients go by: a limit on spending comes as 429 like any other.
        is_final = headers.get("x-should-retry") == "false"
        return self._errors.refusal(status, said, retry_after_seconds(headers), is_final=is_final)


def _first_event(body: bytes) -> Json:
    """What the first event of a body says that is an event stream; None where it is none."""
    parser = EventParser(len(body) + 1, takes_error_lines=True)
    event = next(parser.feed(body + b"\n\n"), None)
    return None if event is None else json_value(event.data)


def _encoded(body: JsonObject) -> bytes:
    """The body as JSON; halves of surrogate pairs, which tools may return, become `?`."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _origin(response: httpx2.Response) -> str:
    """Scheme and host that a redirect points to; the rest may hold secrets."""
    with suppress(httpx2.InvalidURL):
        target = response.url.join(response.headers.get("location", ""))
        return f"{target.scheme}://{target.host}"
    return ""
