"""What can go wrong with Ollama, and what its user is told."""

import pytest

from core.errors import ModelUnavailable
from tests.modules.models.ollama.server import (
    OllamaServer,
    chunk,
    deltas,
    ollama,
    ollama_server,
)
from tests.modules.models.service import Exchange


async def failure(fake: OllamaServer, name: str = "qwen:7b") -> ModelUnavailable:
    """What a request ends in."""
    async with ollama(fake, name) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await deltas(model)
    assert f"model ollama:{name} " in str(caught.value)
    return caught.value


async def test_a_server_that_is_not_there_is_named_with_how_to_start_it() -> None:
    async with ollama_server() as fake:
        pass
    error = await failure(fake)
    assert fake.place in str(error)
    assert "ollama serve" in str(error)
    assert error.transient


async def test_a_model_that_is_not_installed_is_named_with_the_nearest_that_are() -> None:
    async with ollama_server("qwen3:8b", "llama3.2:latest") as fake:
        error = await failure(fake, "qwen3:4b")
        assert "did you mean qwen3:8b?" in str(error)
        assert "agent.py models pull qwen3:4b" in str(error)
        assert "ollama pull qwen3:4b" in str(error)
        assert not error.transient
        assert "there are: qwen3:8b, llama3.2:latest;" in str(await failure(fake, "zz"))
        assert "did you mean qwen3:8b?" in str(await failure(fake, "qwen3:480b-a35b-instruct-q8"))
        fake.models = []
        assert "no model is yet" in str(await failure(fake, "zz"))


@pytest.mark.parametrize(
    ("status", "said", "told", "transient"),
    [
        (500, "model requires more system memory (40 GiB) than is available", "fit into", False),
        (500, "llama runner process has terminated: cudaMalloc failed", "fit into", False),
        (500, "llama runner process has terminated: exit status 2", "exit status 2", True),
        (503, "server busy, please try again. maximum pending requests exceeded", "busy", True),
        (400, '"qwen:7b" does not support chat', "does not support chat", False),
        (400, "the prompt is longer than the context length", "longer than", False),
        (401, "unauthorized", "OLLAMA_API_KEY", False),
    ],
)
async def test_what_a_server_refuses_says_what_to_do(
    status: int, said: str, told: str, transient: bool
) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.json({"error": said}, status)

    async with ollama_server() as fake:
        fake.on["/api/chat"] = refuse
        error = await failure(fake)
        assert told in str(error)
        assert error.transient == transient
        assert "/api/tags" not in [asked.path for asked in fake.seen]


async def test_a_failure_in_the_middle_of_a_reply_is_told() -> None:
    async with ollama_server() as fake:
        fake.chat = [chunk("Yes"), {"error": "an error was encountered while running the model"}]
        error = await failure(fake)
        assert "an error was encountered" in str(error)
        assert error.transient
        fake.chat = [chunk("Yes"), {"error": "CUDA error: out of memory"}]
        error = await failure(fake)
        assert "does not fit into memory" in str(error)
        assert not error.transient
