"""HTTP servers that cannot be reached, and entries that cannot be used."""

import asyncio
import socket
import ssl
from pathlib import Path

import httpx2
import pytest

from config.servers import ServerSpec
from core.mcp.http import HttpTransport
from core.mcp.http_errors import FaultWriter, connect_fault
from core.mcp.peer import TransportDown
from tests.core.mcp.http_server import Exchange, http_server
from tests.core.mcp.http_session import (
    WHERE,
    answer,
    fault,
    notification,
    opened,
    request,
    served,
    spec,
)


async def test_a_refused_connection_fails_at_once_and_names_the_place() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with opened(f"http://127.0.0.1:{port}/mcp") as (session, inbox):
        async with asyncio.timeout(2):
            assert await fault(session, inbox) == (
                f"can't be reached: nothing listens at 127.0.0.1:{port}; start it, or check 'url' "
                f"{WHERE}"
            )
        assert not session.lost.is_set()
        await session.send(notification("notifications/cancelled", requestId=1))


async def test_a_server_that_speaks_no_tls_is_told_from_one_that_is_down() -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 No\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(other, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, opened(f"https://127.0.0.1:{port}/mcp") as (session, inbox):
        assert await fault(session, inbox) == (
            f"can't be reached: 127.0.0.1:{port} does not speak TLS as it should; check 'url' "
            f"{WHERE}"
        )


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
async def test_a_server_that_gives_no_http_answer_is_told(said: bytes) -> None:
    async def rude(exchange: Exchange) -> None:
        await exchange.write(said)
        exchange.cut()

    async with served(tools__call=rude) as server, opened(server) as (session, inbox):
        assert await fault(session, inbox) == (
            f"closed the connection without an HTTP answer; check 'url' {WHERE}"
        )


async def test_a_json_answer_that_is_cut_fails_its_request() -> None:
    async def cut(exchange: Exchange) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        await exchange.write(head.encode())
        exchange.cut()

    async with served(tools__call=cut) as server, opened(server) as (session, inbox):
        assert await fault(session, inbox) == "broke off in the middle of its answer"


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = ExceptionGroup("tries", [cause])
    return error


def refused_certificate() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = "certificate has expired"
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            chained(httpx2.ConnectError("x"), socket.gaierror(-2, "unknown")),
            f"can't be reached: there is no host 'mcp.test'; check 'url' {WHERE} and the network",
        ),
        (
            chained(httpx2.ConnectError("x"), refused_certificate()),
            "can't be trusted: its certificate is refused (certificate has expired)",
        ),
        (
            chained(httpx2.ConnectError("x"), OSError(101, "Network is unreachable")),
            "can't be reached at mcp.test:443 (Network is unreachable)",
        ),
        (httpx2.ConnectError("x"), "can't be reached at mcp.test:443"),
        (
            httpx2.ConnectTimeout("x"),
            "can't be reached: no connection to mcp.test:443 within 10 s",
        ),
        (
            httpx2.ProxyError("s3cret"),
            "can't be reached: the proxy of the environment (HTTPS_PROXY) refuses",
        ),
        (httpx2.PoolTimeout("x"), "keeps all of our 100 connections busy"),
        (httpx2.WriteTimeout("x"), "took nothing of a request for 60 s"),
    ],
)
def test_what_keeps_a_connection_from_coming_about_is_named(error: Exception, text: str) -> None:
    writer = FaultWriter(spec("https://mcp.test/mcp"))
    found = connect_fault(error, httpx2.URL("https://mcp.test/mcp"), writer)
    assert str(found) == text
    assert found.may_pass == ("certificate" not in text)


@pytest.mark.parametrize(
    ("url", "headers", "text"),
    [
        ("ftp://x/", {}, f"'url' {WHERE} must begin with http:// or https://"),
        ("http://", {}, "must begin with http:// or https://"),
        ("http://[::1/", {}, f"has no valid address: check 'url' {WHERE}"),
        (
            "http://x/",
            {"X-Key": "s3cret\nX-More: 1"},
            f"the header 'X-Key' in 'headers' {WHERE} holds",
        ),
        ("http://x/", {"X-Key": "s3crét"}, "a character that HTTP does not allow"),
        ("http://x/", {"X-Key": "s3cret "}, "or a space at an end"),
        ("http://x/", {"X s3cret": "1"}, "hold a malformed name"),
    ],
)
async def test_an_entry_that_cannot_be_used_is_told_without_its_secrets(
    url: str, headers: dict[str, str], text: str
) -> None:
    transport = HttpTransport(ServerSpec("web", (), Path(), url=url, headers=headers, origin=WHERE))
    with pytest.raises(TransportDown) as caught:
        await transport.open(lambda _: None)
    assert text in str(caught.value)
    assert "s3cr" not in str(caught.value)
    await transport.aclose()


async def test_a_proxy_of_the_environment_is_for_servers_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with http_server() as proxy, http_server() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
            async with opened(url) as (session, inbox):
                await session.send(request())
                assert await inbox.get() == answer()
        assert proxy.seen == []
        async with opened("http://mcp.test/mcp") as (session, inbox):
            await session.send(request())
            assert await inbox.get() == answer()
        assert [seen.path for seen in proxy.seen] == ["http://mcp.test/mcp"]


async def test_a_proxy_setting_that_is_no_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "gopher://s3cret@proxy")
    transport = HttpTransport(spec("https://mcp.test/mcp"))
    with pytest.raises(TransportDown, match="check HTTPS_PROXY") as caught:
        await transport.open(lambda _: None)
    assert "s3cret" not in str(caught.value)
