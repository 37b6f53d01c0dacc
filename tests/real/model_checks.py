"""What every model's service does for us, whether a mock of it or the service itself.

Each check takes what is to be asked and asserts; `tests/real` runs them against a mock that speaks
the services' protocols, `tests/live` against the services. What only a mock can be made to do
(break off, refuse for a while) is tested with the mock alone.
"""

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from config.models_file import ModelsFile
from core.errors import ModelUnavailable
from core.ports import (
    ImageInput,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    TextModel,
)
from core.values import JsonObject
from modules.models.choosing.choice import choose_models
from modules.models.serving.watched import collect_reply
from tests.command_line import SUMS_SERVER, Finished, agent, write_profile

STABLE = "You do exactly what you are told, and write nothing else.\n"
"""What stands before every request, and is sent as the system's message."""

COUNTING = "Write the numbers from one to twenty as English words, with a space between two."
COUNTED = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)

CAPITAL = 'What is the capital of France? Answer with a JSON object: {"capital": NAME}.'
CAPITAL_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"capital": {"type": "string"}},
    "required": ["capital"],
    "additionalProperties": False,
}

COLOUR = "Which colour is this image? Answer with one English word."
RED_SQUARE = ImageInput(
    "red.png",
    "image/png",
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAATUlEQVR42u3PQQkAAAgAseuf0ihG8C0MVmBN"
        "vZaAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAwGUB/G8A0yJ+jUEAAAAA"
        "SUVORK5CYII="
    ),
)

SUM = "Add 1234 and 5678 with the tool for it, and answer with the sum alone."
SUM_ANSWER = "6912"

NO_SUCH_MODEL = "no-such-model-of-cortex-r"

REPLY_SECONDS = 50.0
"""Bound on one reply; a model on this machine's own processor takes its time."""

STOP_SECONDS = 1.0
"""Bound on giving a reply up: `make bench` measures how quick that is."""


@asynccontextmanager
async def built(
    name: str, models: ModelsFile, environ: Mapping[str, str], home: Path | None = None
) -> AsyncGenerator[TextModel]:
    """The backend that `--model NAME` means, as the program builds it; closed at the end."""
    (chosen,) = choose_models(name, "offline", models, environ, home).models
    try:
        yield chosen.model
    finally:
        await chosen.model.aclose()


def request(text: str, *images: ImageInput, schema: JsonObject | None = None) -> ModelRequest:
    """A request whose beginning never changes."""
    return ModelRequest("text", STABLE + text, None, len(STABLE), images, schema)


async def reply_to(model: TextModel, asked: ModelRequest) -> ModelReply:
    """The whole reply, in bounded time."""
    async with asyncio.timeout(REPLY_SECONDS):
        return await collect_reply(model, model.stream(asked))


async def deltas_of(model: TextModel, asked: ModelRequest) -> list[ReplyDelta]:
    """All that a reply consists of, in bounded time."""
    async with asyncio.timeout(REPLY_SECONDS), aclosing(model.stream(asked)) as deltas:
        return [delta async for delta in deltas]


async def failure_of(model: TextModel, asked: ModelRequest) -> ModelUnavailable:
    """What a request fails with, in bounded time; it names the model."""
    with pytest.raises(ModelUnavailable) as caught:
        await reply_to(model, asked)
    assert model.name in str(caught.value)
    return caught.value


async def check_streams(model: TextModel) -> ReplyEnd:
    """Text comes in pieces, in order, and the end last and once; gives the end."""
    *pieces, end = await deltas_of(model, request(COUNTING))
    texts = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    assert len(texts) > 1
    assert [word.strip(".,") for word in "".join(texts).lower().split()] == COUNTED.split()
    assert isinstance(end, ReplyEnd)
    assert not any(isinstance(piece, ReplyEnd) for piece in pieces)
    assert (end.finish, end.usage.model_calls) == ("stop", 1)
    return end


async def check_counts(model: TextModel) -> None:
    """The tokens that were read and written are told."""
    end = await check_streams(model)
    assert end.usage.input_tokens > 0
    assert end.usage.output_tokens > 0
    assert 0 <= end.usage.cached_tokens <= end.usage.input_tokens


async def check_holds_to_schema(model: TextModel) -> None:
    """A reply is the object that a JSON Schema asks for, and nothing around it."""
    reply = await reply_to(model, request(CAPITAL, schema=CAPITAL_SCHEMA))
    assert json.loads(reply.text) == {"capital": "Paris"}


async def check_sees(model: TextModel) -> None:
    """An image goes with the request, and is seen."""
    assert model.traits.images
    reply = await reply_to(model, request(COLOUR, RED_SQUARE))
    assert "red" in reply.text.lower()


async def check_stops(model: TextModel) -> None:
    """A reply is given up as soon as its stream is closed, and the model can be asked again."""
    async with asyncio.timeout(REPLY_SECONDS):
        deltas = model.stream(request(COUNTING))
        await anext(deltas)
        began = time.monotonic()
        await deltas.aclose()
    assert time.monotonic() - began < STOP_SECONDS
    assert (await reply_to(model, request(COUNTING))).text


async def check_unknown_model(model: TextModel) -> None:
    """A model that the service doesn't know is named, and asked for once only."""
    error = await failure_of(model, request(COUNTING))
    assert NO_SUCH_MODEL in str(error)
    assert not error.transient


async def check_wrong_key(model: TextModel, key: str) -> None:
    """A key that the service refuses is said to be one, and never shown."""
    error = await failure_of(model, request(COUNTING))
    assert "key" in str(error)
    assert key not in str(error)
    assert not error.transient


def check_whole_run(home: Path, name: str, env: dict[str, str]) -> Finished:
    """`agent.py --model NAME` plans, calls a tool, and answers from its result."""
    profile = write_profile(home, SUMS_SERVER)
    done = agent(home, "--profile", str(profile), "--model", name, SUM, env=env)
    assert (done.code, SUM_ANSWER in done.out.replace(",", "")) == (0, True), done
    assert "Traceback" not in done.err
    return done
