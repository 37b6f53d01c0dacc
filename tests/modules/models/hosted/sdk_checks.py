"""What holds for every backend over a vendor's SDK: tests to inherit, and what they ask with."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import pytest

from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, TextDelta, TextModel
from core.values import JsonObject
from modules.models.serving.reply import collect_reply
from tests.modules.models.hosted.fake_service import FakeService, fake_service

REQUEST = ModelRequest("decision", "Plan this: {}")

ModelT = TypeVar("ModelT", bound=TextModel)


class OpenModel(Protocol):
    """Makes the backend's model for a service at a URL, with more fields of its entry."""

    def __call__(
        self, url: str, key: str = ..., /, **fields: object
    ) -> AbstractAsyncContextManager[TextModel]: ...


@asynccontextmanager
async def opened(model: ModelT) -> AsyncGenerator[ModelT]:
    """The model, closed twice behind it, for that must be safe."""
    try:
        yield model
    finally:
        await model.aclose()
        await model.aclose()


async def ask(model: TextModel, request: ModelRequest = REQUEST) -> ModelReply:
    return await collect_reply(model, model.stream(request))


@dataclass(frozen=True)
class SdkService:
    """A backend, and what its service sends: the reply "x" whole, and one that `began` with it.

    The key is said to come from `variable`, and goes out in the header `key_header`.
    """

    open: OpenModel
    key: str
    variable: str
    key_header: str
    began: bytes
    whole: bytes

    async def asked_body(self, request: ModelRequest, **fields: object) -> JsonObject:
        """What the service is sent for a request."""
        async with fake_service() as fake:
            fake.streams(self.whole)
            async with self.open(fake.url, **fields) as model:
                await ask(model, request)
        return fake.bodies[0]

    async def failure(self, fake: FakeService, **fields: object) -> ModelUnavailable:
        """The error that the user gets for what the service says."""
        async with self.open(fake.url, **fields) as model:
            with pytest.raises(ModelUnavailable) as caught:
                await ask(model)
        assert self.key not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return caught.value


class SdkChecks:
    """Tests of what the backends have in common; a class with a `service` inherits them."""

    service: ClassVar[SdkService]

    async def test_the_key_shows_nowhere_but_in_a_header(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        async with fake_service() as fake:
            fake.streams(self.service.whole)
            async with self.service.open(fake.url) as model:
                await ask(model)
                assert self.service.key not in repr(model)
        request_line, _, headers = fake.heads[0].partition("\r\n")
        assert self.service.key not in request_line
        assert self.service.key not in json.dumps(fake.bodies[0])
        assert f"{self.service.key_header}{self.service.key}".lower() in headers.lower()
        assert self.service.key not in caplog.text

    @pytest.mark.parametrize("key", ["geheim\nschlüssel", "geheim\r\nx: y", ""], ids=ascii)
    async def test_a_key_that_no_header_can_hold_does_not_show(self, key: str) -> None:
        async with self.service.open("http://127.0.0.1:1", key) as model:
            with pytest.raises(ModelUnavailable, match=f"check {self.service.variable}") as caught:
                await ask(model)
        assert "geheim" not in str(caught.value)

    async def test_settings_that_are_no_use_are_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "no-proxy://x")
        monkeypatch.setenv("SSL_CERT_FILE", "")
        async with self.service.open("https://model.invalid") as model:
            with pytest.raises(ModelUnavailable, match="check HTTPS_PROXY"):
                await ask(model)

    async def test_requests_at_once_share_one_client(self) -> None:
        async with fake_service() as fake:
            fake.streams(self.service.whole)
            async with self.service.open(fake.url) as model:
                replies = await asyncio.gather(*(ask(model) for _ in range(5)))
        assert [reply.text for reply in replies] == ["x"] * 5

    async def test_a_model_that_was_closed_opens_again(self) -> None:
        async with fake_service() as fake:
            fake.streams(self.service.whole)
            async with self.service.open(fake.url) as model:
                await ask(model)
                await model.aclose()
                assert (await ask(model)).text == "x"

    async def test_a_server_that_never_answers_is_given_up(self) -> None:
        async with fake_service() as fake:
            fake.is_silent()
            async with asyncio.timeout(10):
                error = await self.service.failure(fake, timeout_seconds=0.2)
        assert "did not answer within 0.2 s" in str(error)
        assert error.transient

    async def test_a_server_that_is_not_there_is_a_network_matter(self) -> None:
        async with fake_service() as fake:
            pass
        error = await self.service.failure(fake)
        assert "(ConnectError); check the network connection" in str(error)
        assert error.transient

    @pytest.mark.parametrize("is_silent", [True, False])
    async def test_a_cancelled_request_stays_cancelled_and_the_server_sees_it(
        self, is_silent: bool
    ) -> None:
        async with fake_service() as fake:
            if is_silent:
                fake.is_silent()
            else:
                fake.streams(self.service.began, ending="hang")
            async with self.service.open(fake.url) as model:
                task = asyncio.create_task(ask(model))
                async with asyncio.timeout(10):
                    await fake.asked.wait()
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    await fake.left.wait()

    async def test_closing_the_stream_closes_the_connection_at_once(self) -> None:
        async with fake_service() as fake:
            fake.streams(self.service.began, ending="hang")
            async with self.service.open(fake.url) as model, asyncio.timeout(10):
                stream = model.stream(REQUEST)
                assert await anext(stream) == TextDelta("x")
                await stream.aclose()
                await fake.left.wait()
                fake.streams(self.service.whole)
                assert (await ask(model)).text == "x"
