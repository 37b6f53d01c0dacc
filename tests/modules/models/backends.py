"""Every backend behind HTTP, as the conformance suite asks it, and what its service sends."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, TextModel
from core.values import Json, JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.model import HostedModel
from modules.models.ollama.model import OllamaModel
from modules.models.serving.reply import collect_reply
from tests.modules.models.service import FakeService, answers, serving

REQUEST: Final = ModelRequest("decision", "Plan this: {}")
KEY: Final = "sk-geheim-0123456789"
VARIABLE: Final = "TEST_API_KEY"


@dataclass(frozen=True)
class Backend:
    """One backend: how it is made, and the reply `x` as its service streams it.

    `began` is that reply without its end. `key_header` goes out with the key behind it. `error`
    makes the service's error document from HTTP's status and a message. `asides` are what it may
    ask besides, with the service's answers.
    """

    name: str
    make: Callable[[ModelEntry, ApiKey], TextModel]
    model: str
    began: bytes
    whole: bytes
    key_header: str = "authorization: Bearer "
    error: Callable[[int, str], JsonObject] = lambda status, message: {
        "error": {"message": message}
    }
    asides: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    @asynccontextmanager
    async def service(self) -> AsyncGenerator[FakeService]:
        """A service on loopback that streams the whole reply, until a test says otherwise."""
        fake = FakeService()
        fake.on = {path: answers(200, said) for path, said in self.asides.items()}
        fake.streams(self.whole)
        async with serving(fake):
            yield fake

    @asynccontextmanager
    async def open(
        self, url: str, key: str = KEY, /, **fields: object
    ) -> AsyncGenerator[TextModel]:
        """The model at a URL, with more fields of its entry; closed twice, as it may be."""
        fixed = {"type": self.name, "model": self.model, "base_url": url, "timeout_seconds": 10.0}
        entry = ModelEntry.model_validate({**fixed, **fields})
        model = self.make(entry, ApiKey(key, VARIABLE))
        try:
            yield model
        finally:
            await model.aclose()
            await model.aclose()

    async def asked_body(self, request: ModelRequest = REQUEST, **fields: object) -> JsonObject:
        """What the service is sent for a request."""
        async with self.service() as fake, self.open(fake.url, **fields) as model:
            await ask(model, request)
            return fake.bodies[0]

    async def failure(self, fake: FakeService, **fields: object) -> ModelUnavailable:
        """The error that the user gets for what the service says; it holds no key and no cause."""
        async with self.open(fake.url, **fields) as model:
            with pytest.raises(ModelUnavailable) as caught:
                await ask(model)
        error = caught.value
        assert KEY not in str(error)
        assert error.__suppress_context__ or error.__context__ is None
        assert error.__cause__ is None
        assert str(error).startswith(f"model {self.name}:{self.model} ")
        assert len(str(error)) < 1000
        return error


async def ask(model: TextModel, request: ModelRequest = REQUEST) -> ModelReply:
    """The whole reply."""
    return await collect_reply(model, model.stream(request))


def event(document: Json, kind: str = "") -> bytes:
    """A server-sent event."""
    named = f"event: {kind}\n" if kind else ""
    return f"{named}data: {json.dumps(document)}\n\n".encode()


def line(document: Json) -> bytes:
    """A line of JSON."""
    return json.dumps(document).encode() + b"\n"


def chunk(text: str, finish: str | None = None) -> JsonObject:
    """A chunk of OpenAI's protocol."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


def gemini_piece(text: str, finish: str | None = None) -> JsonObject:
    """A GenerateContentResponse."""
    content: JsonObject = {"role": "model", "parts": [{"text": text}]}
    candidate: JsonObject = {"content": content, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate]}


def claude_text(text: str) -> bytes:
    """The events of a message's beginning."""
    usage: JsonObject = {"input_tokens": 3, "output_tokens": 1}
    begin: JsonObject = {"type": "message_start", "message": {"type": "message", "usage": usage}}
    block: JsonObject = {"type": "text", "text": ""}
    start: JsonObject = {"type": "content_block_start", "index": 0, "content_block": block}
    inner: JsonObject = {"type": "text_delta", "text": text}
    delta: JsonObject = {"type": "content_block_delta", "index": 0, "delta": inner}
    stop: JsonObject = {"type": "content_block_stop", "index": 0}
    documents = (begin, start, delta, stop)
    return b"".join(event(document, str(document["type"])) for document in documents)


CLAUDE_END: Final = event(
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    "message_delta",
) + event({"type": "message_stop"}, "message_stop")

CLAUDE_FACTS: Final[JsonObject] = {
    "type": "model",
    "max_tokens": 128_000,
    "capabilities": {
        "structured_outputs": {"supported": True},
        "thinking": {
            "supported": True,
            "types": {
                "adaptive": {"supported": True},
                "between_tools": {"supported": True},
                "disabled": {"supported": True},
                "enabled": {"supported": False},
            },
        },
    },
}
"""What the Models API says of a current model."""

FACTS_PATH: Final = "/v1/models/"

OPENAI: Final = Backend(
    "openai",
    HostedModel,
    "test-model",
    began=event(chunk("x")),
    whole=event(chunk("x")) + event(chunk("", "stop")) + b"data: [DONE]\n\n",
)
ANTHROPIC: Final = Backend(
    "anthropic",
    HostedModel,
    "claude-sonnet-5-5",
    began=claude_text("x"),
    whole=claude_text("x") + CLAUDE_END,
    error=lambda status, message: {
        "type": "error",
        "error": {"type": "some_error", "message": message},
    },
    asides={FACTS_PATH: CLAUDE_FACTS},
)
GEMINI: Final = Backend(
    "gemini",
    HostedModel,
    "gemini-test",
    began=event(gemini_piece("x")),
    whole=event(gemini_piece("x", "STOP")),
    key_header="x-goog-api-key: ",
    error=lambda status, message: {
        "error": {"code": status, "message": message, "status": "SOME_STATUS"}
    },
)
OLLAMA: Final = Backend(
    "ollama",
    lambda entry, key: OllamaModel(entry, {}, key),
    "qwen:7b",
    began=line({"message": {"content": "x"}, "done": False}),
    whole=line({"message": {"content": "x"}, "done": False})
    + line({"message": {"content": ""}, "done": True, "done_reason": "stop"}),
    error=lambda status, message: {"error": message},
    asides={"/api/show": {}, "/api/ps": {}, "/api/tags": {"models": []}},
)
BACKENDS: Final = (OPENAI, ANTHROPIC, GEMINI, OLLAMA)
