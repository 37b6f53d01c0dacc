"""An Ollama server on loopback, after docs/api.md of ollama/ollama, with faults on order.

It knows the models that a test gives it; `server.on[path] = handler` replaces what it does there.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from config.models_file import ModelEntry
from core.ports import ModelRequest, ReplyDelta
from core.values import Json, JsonObject
from modules.models.ollama.model import OllamaModel
from tests.modules.models.service import Exchange, FakeService, serving

REQUEST = ModelRequest("decision", "You plan. Add 1 and 2.", prefix_characters=9)

SHOWN: JsonObject = {
    "parameters": 'stop                           "<|im_end|>"',
    "template": "{{ .Prompt }}",
    "details": {"family": "qwen2", "parameter_size": "7.6B", "quantization_level": "Q4_K_M"},
    "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768},
    "capabilities": ["completion", "tools"],
}
"""What /api/show says of a model by default."""


def listed(name: str, **fields: Json) -> JsonObject:
    """A model as /api/tags lists it."""
    return {
        "name": name,
        "model": name,
        "modified_at": "2026-05-10T08:06:48.639712648-07:00",
        "size": 4683075271,
        "digest": "0a8c266910232fd3291e71e5ba1e058cc5af9d411192cf88b6d30e92b6e73163",
        "details": {
            "format": "gguf",
            "family": "qwen2",
            "families": ["qwen2"],
            "parameter_size": "7.6B",
            "quantization_level": "Q4_K_M",
        },
        **fields,
    }


def chunk(content: str = "", **message: Json) -> JsonObject:
    """A part of a chat's reply."""
    return {
        "model": "m",
        "created_at": "2026-08-04T08:52:19.385406455-07:00",
        "message": {"role": "assistant", "content": content, **message},
        "done": False,
    }


def last(content: str = "", reason: str = "stop", **fields: Json) -> JsonObject:
    """The last part of a chat's reply."""
    counts: JsonObject = {"prompt_eval_count": 26, "eval_count": 298, "total_duration": 4883583458}
    return {**chunk(content), "done": True, "done_reason": reason, **counts, **fields}


@dataclass
class OllamaServer(FakeService):
    """What is installed, what is in memory, and how a chat is answered."""

    models: list[JsonObject] = field(default_factory=lambda: [listed("qwen:7b")])
    running: list[JsonObject] = field(default_factory=list[JsonObject])
    shown: JsonObject = field(default_factory=lambda: dict(SHOWN))
    chat: list[JsonObject] = field(default_factory=lambda: [chunk("Hello"), chunk("!"), last()])

    @property
    def environ(self) -> dict[str, str]:
        """An environment in which Ollama is this server."""
        return {"OLLAMA_HOST": self.place}

    def options(self) -> JsonObject:
        """The options of the last chat."""
        options = self.asked("/api/chat")[-1]["options"]
        assert isinstance(options, dict)
        return options

    async def answer(self, exchange: Exchange) -> None:
        """As Ollama answers."""
        models: list[Json] = [*self.models]
        running: list[Json] = [*self.running]
        match exchange.path:
            case "/api/tags":
                await exchange.json({"models": models})
            case "/api/ps":
                await exchange.json({"models": running})
            case _ if exchange.body["model"] not in [model["name"] for model in self.models]:
                missing = f"model '{exchange.body['model']}' not found"
                await exchange.json({"error": missing}, 404)
            case "/api/show":
                await exchange.json(self.shown)
            case "/api/chat":
                await exchange.lines(*self.chat)
            case _:
                await exchange.reply(b"404 page not found", 404)


@asynccontextmanager
async def ollama_server(*names: str) -> AsyncGenerator[OllamaServer]:
    """A server with these models, by default `qwen:7b`."""
    fake = OllamaServer()
    if names:
        fake.models = [listed(name) for name in names]
    async with serving(fake):
        yield fake


@asynccontextmanager
async def ollama(
    fake: OllamaServer, name: str = "qwen:7b", **fields: Json
) -> AsyncGenerator[OllamaModel]:
    """A model of the server, with these fields in its entry; ten seconds for all."""
    entry = ModelEntry.model_validate({"type": "ollama", "model": name, **fields})
    model = OllamaModel(entry, fake.environ)
    try:
        async with asyncio.timeout(10):
            yield model
    finally:
        await model.aclose()
        await model.aclose()


async def deltas(model: OllamaModel, request: ModelRequest = REQUEST) -> list[ReplyDelta]:
    """All that a request is answered with."""
    return [delta async for delta in model.stream(request)]
