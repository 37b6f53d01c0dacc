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
from core.values import JsonObject
from modules.models.credentials import ApiKey
from modules.models.hosted.model import HostedModel
from modules.models.ollama.model import OllamaModel
from modules.models.serving.watched import collect_reply
from tests.modules.models.hosted import claude_events as claude
from tests.modules.models.hosted import gemini_events as gemini
from tests.modules.models.http import chat_server as openai
from tests.modules.models.ollama import server as ollama
from tests.modules.models.service import FakeService, answers, serving

REQUEST: Final = ModelRequest("decision", "Plan this: {}")
KEY: Final = "sk-geheim-0123456789"
VARIABLE: Final = "TEST_API_KEY"


@dataclass(frozen=True)
class Backend:
    """One backend: how it is made, where it asks, and the reply `x` as its service streams it.

    `began` is that reply without its end, `cut` the same at the limit of tokens; `rich` has all
    that a reply may have, with `cached_tokens` as far as the service tells them. `key_header` goes
    out with the key behind it. `error` makes the service's error document from HTTP's status and a
    message. `asides` are what it may ask besides, with the service's answers.
    """

    name: str
    make: Callable[[ModelEntry, ApiKey], TextModel]
    model: str
    path: str
    began: bytes
    whole: bytes
    cut: bytes
    rich: bytes
    cached_tokens: int = 8
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


def events(*documents: JsonObject) -> bytes:
    """Server-sent events."""
    return b"".join(f"data: {json.dumps(document)}\n\n".encode() for document in documents)


def lines(*documents: JsonObject) -> bytes:
    """Lines of JSON."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


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
    path="/chat/completions",
    began=events(openai.chunk(content="x")),
    whole=events(openai.chunk(content="x"), openai.chunk("stop")) + b"data: [DONE]\n\n",
    cut=events(openai.chunk(content="x"), openai.chunk("length")),
    rich=events(
        openai.chunk(reasoning_content="Let me see"),
        openai.chunk(content="Grüße\u2028 and\n"),
        openai.call_piece("add", '{"a": 1, "b'),
        openai.call_piece(None, '": [2.5, "ü"]}'),
        openai.chunk("tool_calls"),
        openai.counted(
            prompt_tokens=11, completion_tokens=7, prompt_tokens_details={"cached_tokens": 8}
        ),
    ),
)
ANTHROPIC: Final = Backend(
    "anthropic",
    HostedModel,
    "claude-sonnet-5-5",
    path="/v1/messages",
    began=claude.begin() + claude.text("x"),
    whole=claude.begin() + claude.text("x") + claude.end(),
    cut=claude.begin() + claude.text("x") + claude.end("max_tokens"),
    rich=b": a comment\n\n"
    + claude.begin(cache_read_input_tokens=8)
    + claude.block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Let me see"},
        {"type": "thinking_delta", "thinking": ""},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    + claude.text("Grüße\u2028 and\n", index=1)
    + claude.block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"a": 1, "b'},
        {"type": "input_json_delta", "partial_json": '": [2.5, "ü"]}'},
    )
    + claude.event("a_later_invention", index=5)
    + claude.end("tool_use"),
    error=lambda status, message: claude.refusal("some_error", message),
    asides={FACTS_PATH: CLAUDE_FACTS},
)
GEMINI: Final = Backend(
    "gemini",
    HostedModel,
    "gemini-test",
    path="/v1beta/models/gemini-test:streamGenerateContent?alt=sse",
    began=gemini.event(gemini.answer("x", reason=None)),
    whole=gemini.event(gemini.answer("x")),
    cut=gemini.event(gemini.answer("x", "MAX_TOKENS")),
    rich=gemini.event(gemini.part({"text": "Let me see", "thought": True}, reason=None))
    + gemini.event(gemini.answer("Grüße\u2028 and\n", reason=None))
    + gemini.event(
        gemini.part(
            {"functionCall": {"name": "add", "args": {"a": 1, "b": [2.5, "ü"]}}},
            usageMetadata=gemini.USAGE | {"cachedContentTokenCount": 8},
        )
    ),
    key_header="x-goog-api-key: ",
    error=lambda status, message: gemini.refusal(status, "SOME_STATUS", message),
)
OLLAMA: Final = Backend(
    "ollama",
    lambda entry, key: OllamaModel(entry, {}, key),
    "qwen:7b",
    path="/api/chat",
    began=lines(ollama.chunk("x")),
    whole=lines(ollama.chunk("x"), ollama.last()),
    cut=lines(ollama.last("x", "length")),
    rich=lines(
        ollama.chunk(thinking="Let me see"),
        ollama.chunk("Grüße\u2028 and\n"),
        ollama.chunk(
            tool_calls=[{"function": {"name": "add", "arguments": {"a": 1, "b": [2.5, "ü"]}}}]
        ),
        ollama.last(prompt_eval_count=11, eval_count=7),
    ),
    cached_tokens=0,
    error=lambda status, message: {"error": message},
    asides={"/api/show": {}, "/api/ps": {}, "/api/tags": {"models": []}},
)
BACKENDS: Final = (OPENAI, ANTHROPIC, GEMINI, OLLAMA)
