"""A secure connection to a checked address is made for the name, and trusted by the name."""

import asyncio
import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from servers.web.errors import PageUnavailable
from servers.web.fetching.fetcher import GuardedFetcher, fetch_blocking
from servers.web.options import WebOptions
from tests.servers.web.loopback import loopback_web, page, threaded_web

NAME = "secure.example"


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of that name shows, and a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    told = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / "both.pem"
    path.write_bytes(told + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=told.decode())
    return server, client


async def test_the_name_is_shown_to_the_server_and_checked_in_its_certificate(
    tmp_path: Path,
) -> None:
    server, client = certificate(tmp_path)
    named: list[str | None] = []

    def note_name(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        named.append(name)

    server.sni_callback = note_name
    async with loopback_web(server) as web:
        web.pages["/"] = page("here")
        trusted: list[str] = []

        def trust() -> ssl.SSLContext:
            trusted.append("once")
            return client

        fetcher = GuardedFetcher(
            WebOptions(), resolver=web.resolve, connector=web.connect, trust=trust
        )
        assert (await fetcher.fetch(f"https://{NAME}/")).body == b"here"
        assert (await fetcher.fetch(f"https://{NAME}./")).body == b"here"
        with pytest.raises(PageUnavailable, match="certificate is refused"):
            await fetcher.fetch("https://other.example/")
        with pytest.raises(PageUnavailable, match="certificate is refused"):
            await GuardedFetcher(WebOptions(), resolver=web.resolve, connector=web.connect).fetch(
                f"https://{NAME}/"
            )
    assert named == [NAME, NAME, "other.example", NAME]
    assert trusted == ["once"]
    assert {asked.headers["host"] for asked in web.asked} == {NAME}


async def test_a_server_that_speaks_no_tls_is_told() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 No\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(rude, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    fetcher = GuardedFetcher(WebOptions(allow_private=("127.0.0.1",)))
    async with listener:
        with pytest.raises(PageUnavailable, match=rf"127\.0\.0\.1:{port} does not speak TLS"):
            await fetcher.fetch(f"https://127.0.0.1:{port}/")


def test_a_page_is_fetched_without_an_event_loop() -> None:
    with threaded_web() as web:
        web.pages["/"] = page("here")
        options = WebOptions(allow_private=("127.0.0.1",))
        assert fetch_blocking(web.url(), options).body == b"here"


def test_nothing_that_listens_is_told() -> None:
    with threaded_web() as web:
        gone = web.url()
    with pytest.raises(PageUnavailable, match=r"nothing answers at 127\.0\.0\.1:\d+"):
        fetch_blocking(gone, WebOptions(allow_private=("127.0.0.1",)))
