"""The Gemini backend against a server on loopback that speaks generateContent's JSON."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import certifi
import pytest

from core.errors import ModelUnavailable
from core.ports import ModelRequest
from core.turn import Usage
from core.values import JsonObject
from modules.models.gemini import GeminiModel

KEY = "AIzaTest0123456789"
REQUEST = ModelRequest("decision", "Plan this: {}")


@pytest.fixture(scope="session")
def few_authorities(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with one of the usual certificate authorities."""
    end = "-----END CERTIFICATE-----\n"
    bundle = Path(certifi.where()).read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("authorities") / "one.pem"
    path.write_text(bundle.partition(end)[0] + end, encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def quick_clients(few_authorities: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client reads all authorities that it is given, a tenth of a second; here is no TLS."""
    monkeypatch.setenv("SSL_CERT_FILE", few_authorities)


def answer(text: str | None, **fields: object) -> JsonObject:
    """A response body as documented for models.generateContent."""
    parts = [{"text": text}] if text is not None else []
    body = {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 18,
        },
        "modelVersion": "gemini-test",
        **fields,
    }
    return json.loads(json.dumps(body))


def refusal(code: int, status: str, message: str, reason: str = "OTHER") -> JsonObject:
    """An error body as Google's APIs send it (google.rpc.Status)."""
    return {
        "error": {
            "code": code,
            "message": message,
            "status": status,
            "details": [
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason},
            ],
        }
    }


@dataclass
class FakeGemini:
    """What the server answers, and what it was asked; `reply` None means never."""

    status: int = 200
    reply: bytes | None = b""
    url: str = ""
    connections: int = 0
    heads: list[str] = field(default_factory=list[str])
    bodies: list[str] = field(default_factory=list[str])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    handlers: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])

    def answers(self, status: int, body: JsonObject | bytes) -> None:
        self.status = status
        self.reply = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.handlers.add(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next(
                    int(line.split(":")[1])
                    for line in head.lower().splitlines()
                    if line.startswith("content-length:")
                )
                self.heads.append(head)
                self.bodies.append((await reader.readexactly(length)).decode())
                self.asked.set()
                if self.reply is None:
                    await reader.read()  # until the client hangs up
                    return
                writer.write(
                    f"HTTP/1.1 {self.status} Status\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(self.reply)}\r\n\r\n".encode()
                    + self.reply
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has hung up
        finally:
            writer.close()


@asynccontextmanager
async def fake_gemini() -> AsyncGenerator[FakeGemini]:
    fake = FakeGemini()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        fake.url = f"http://127.0.0.1:{port}"
        yield fake
        async with asyncio.timeout(10):
            await asyncio.gather(*(task for task in fake.handlers if task is not None))


@asynccontextmanager
async def gemini(
    url: str, key: str = KEY, timeout_seconds: float = 10
) -> AsyncGenerator[GeminiModel]:
    model = GeminiModel("gemini-test", key, base_url=url, timeout_seconds=timeout_seconds)
    try:
        yield model
    finally:
        await model.aclose()
        await model.aclose()


async def failure(fake: FakeGemini, status: int, body: JsonObject | bytes) -> str:
    """The message that the user gets for a response."""
    fake.answers(status, body)
    async with gemini(fake.url) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await model.generate(REQUEST)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


async def test_a_prompt_is_answered_with_text_and_tokens_over_one_connection() -> None:
    async with fake_gemini() as fake:
        fake.answers(200, answer("async def solve(): ..."))
        async with gemini(fake.url) as model:
            replies = [await model.generate(REQUEST) for _ in range(2)]
    assert replies[0].text == "async def solve(): ..."
    assert replies[0].usage == Usage(model_calls=1, input_tokens=11, output_tokens=7)
    assert fake.heads[0].startswith("POST /v1/models/gemini-test:generateContent ")
    assert json.loads(fake.bodies[0])["contents"][0]["parts"] == [{"text": REQUEST.prompt}]
    assert fake.connections == 1


async def test_the_key_travels_in_a_header_and_shows_nowhere_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with fake_gemini() as fake:
        fake.answers(200, answer("x"))
        async with gemini(fake.url) as model:
            await model.generate(REQUEST)
            assert KEY not in repr(model)
            assert model.name == "gemini:gemini-test"
    request_line, _, headers = fake.heads[0].partition("\r\n")
    assert KEY not in request_line
    assert KEY not in fake.bodies[0]
    assert f"x-goog-api-key: {KEY}" in headers
    assert KEY not in caplog.text


async def test_requests_at_once_share_one_client() -> None:
    async with fake_gemini() as fake:
        fake.answers(200, answer("x"))
        async with gemini(fake.url) as model:
            replies = await asyncio.gather(*(model.generate(REQUEST) for _ in range(5)))
    assert [reply.text for reply in replies] == ["x"] * 5


async def test_a_reply_without_token_counts_is_a_reply() -> None:
    async with fake_gemini() as fake:
        fake.answers(200, answer("x", usageMetadata=None))
        async with gemini(fake.url) as model:
            assert (await model.generate(REQUEST)).usage == Usage(model_calls=1)


async def test_a_model_that_was_closed_opens_again() -> None:
    async with fake_gemini() as fake:
        fake.answers(200, answer("x"))
        async with gemini(fake.url) as model:
            await model.generate(REQUEST)
            await model.aclose()
            assert (await model.generate(REQUEST)).text == "x"


@pytest.mark.parametrize(
    ("status", "body", "advice"),
    [
        (
            400,
            refusal(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID"),
            "check GEMINI_API_KEY",
        ),
        (403, refusal(403, "PERMISSION_DENIED", "Blocked."), "check GEMINI_API_KEY"),
        (401, b"", "check GEMINI_API_KEY"),
        (404, refusal(404, "NOT_FOUND", "models/gemini-test is not found"), "models.json"),
        (429, refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded."), "wait a minute"),
        (500, b"oops", "HTTP 500"),
        (503, refusal(503, "UNAVAILABLE", "Overloaded."), "try again"),
        (400, refusal(400, "INVALID_ARGUMENT", "Too long."), "Too long."),
        (400, b"[]", "HTTP 400"),
        (400, b'{"error": {"details": ["x", 5]}}', "HTTP 400"),
        (400, b'{"error": "text"}', "HTTP 400"),
        (302, b"", "HTTP 302"),
        (200, b"<html>Log in here</html>", "proxy"),
        (200, b'{"candidates": 5}', "proxy"),
    ],
)
async def test_an_error_says_what_to_do(status: int, body: JsonObject | bytes, advice: str) -> None:
    async with fake_gemini() as fake:
        message = await failure(fake, status, body)
    assert advice in message
    assert "gemini:gemini-test" in message


async def test_a_server_that_echoes_the_key_does_not_make_us_repeat_it() -> None:
    async with fake_gemini() as fake:
        message = await failure(fake, 403, refusal(403, "PERMISSION_DENIED", f"bad key {KEY}"))
    assert "bad key [redacted API_KEY]" in message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (answer(None, candidates=[], promptFeedback={"blockReason": "SAFETY"}), "SAFETY"),
        (answer(None, candidates=[]), "empty"),
        ({}, "empty"),
        (answer(None, candidates=[{"finishReason": "MAX_TOKENS"}]), "MAX_TOKENS"),
        (answer(None, candidates=[{"finishReason": "SAFETY"}]), "SAFETY"),
        (answer(""), "STOP"),
    ],
)
async def test_a_reply_without_text_says_why(body: JsonObject, reason: str) -> None:
    async with fake_gemini() as fake:
        assert f"({reason})" in await failure(fake, 200, body)


async def test_text_that_was_cut_off_is_text() -> None:
    async with fake_gemini() as fake:
        cut = {"content": {"parts": [{"text": "async def"}]}, "finishReason": "MAX_TOKENS"}
        fake.answers(200, answer(None, candidates=[cut]))
        async with gemini(fake.url) as model:
            assert (await model.generate(REQUEST)).text == "async def"


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with fake_gemini() as fake:
        fake.reply = None
        async with asyncio.timeout(10), gemini(fake.url, timeout_seconds=0.2) as model:
            with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.2 s"):
                await model.generate(REQUEST)


async def test_a_server_that_is_not_there_is_a_network_matter() -> None:
    async with fake_gemini() as fake:
        url = fake.url
    async with gemini(url) as model:
        with pytest.raises(ModelUnavailable, match="check the network connection"):
            await model.generate(REQUEST)


async def test_a_key_that_no_header_can_hold_does_not_show() -> None:
    async with fake_gemini() as fake:
        for key in ("geheim\nschlüssel", "geheim\r\nx: y"):
            async with gemini(fake.url, key) as model:
                with pytest.raises(ModelUnavailable) as caught:
                    await model.generate(REQUEST)
            assert "geheim" not in str(caught.value)


async def test_a_cancelled_request_stays_cancelled() -> None:
    async with fake_gemini() as fake:
        fake.reply = None
        async with gemini(fake.url) as model:
            task = asyncio.create_task(model.generate(REQUEST))
            async with asyncio.timeout(10):
                await fake.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
