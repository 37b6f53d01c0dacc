"""Models of an Ollama server, over its own HTTP API: no key, no cost, nothing leaves the machine.

Its own API rather than the OpenAI-compatible one, for that has no context length: Ollama's default
is too short for a decision prompt (see `ollama_server/facts.py`). We ask for enough, and
for an error in place of a silent cut where even that is too little (`truncate`, `shift`).
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

from config.models_file import ModelEntry
from core.errors import ConfigurationError, ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.errors import ServiceRefusal
from modules.models.ollama.api import OllamaApi
from modules.models.ollama.chat import chat_deltas, chat_messages
from modules.models.ollama.facts import (
    REPLY_TOKENS,
    THOUGHTFUL_REPLY_TOKENS,
    ContextWindow,
    OllamaFacts,
)
from modules.models.ollama.listing import billions_of_parameters
from modules.models.serving.budget import output_limit

FIRST_EMBEDDED_TEXTS = 4
EMBEDDED_TEXTS_MAX = 64
EMBEDDED_NUMBERS_MAX = 16_000
"""How much is embedded at a time: reading the numbers takes up to 20 ms, and nothing runs then."""

_SEES = re.compile(
    r"llava|vision|moondream|minicpm-v|gemma[34]|llama4|mistral-small3|(?<![a-z])vl(?![a-z])",
    re.IGNORECASE,
)
"""Families of models that see images: a guess, until the server has been asked."""


class OllamaModel:
    """One model of one Ollama server; what it can do is asked for at the first request."""

    def __init__(
        self, entry: ModelEntry, environ: Mapping[str, str], key: ApiKey | None = None
    ) -> None:
        """The entry's model, at its `base_url` or where OLLAMA_HOST says.

        `key` is that of the entry's own variable; as to others, see `OllamaApi`.

        Raises:
            ConfigurationError: the entry names no model, or OLLAMA_HOST is no address.
        """
        if entry.model is None:
            raise ConfigurationError(
                "ollama needs the name of a model: --model ollama:NAME; agent.py models lists the "
                "installed ones"
            )
        self._entry = entry
        self._name = f"{entry.type}:{entry.model}"
        self._api = OllamaApi(entry.model, environ, entry.base_url, key)
        self._window = ContextWindow(entry.context_tokens)
        self._facts: OllamaFacts | None = None
        self._asking = asyncio.Lock()

    def __repr__(self) -> str:
        """The model and its server."""
        return f"OllamaModel({self._name!r} at {self._api.place})"

    @property
    def name(self) -> str:
        """`ollama:MODEL`."""
        return self._name

    @property
    def traits(self) -> ModelTraits:
        """What it can do: as the server says once it was asked (see `learn`), else by its name.

        `strength` is in billions of parameters, as far as the name or the server tells.
        """
        facts, model = self._facts or OllamaFacts(), self._api.model
        said = (self._entry.images, facts.can("vision"))
        return ModelTraits(
            images=next((sees for sees in said if sees is not None), bool(_SEES.search(model))),
            schemas=True,
            context_tokens=self._window.limit(facts),
            strength=billions_of_parameters(model) or billions_of_parameters(facts.parameters),
        )

    async def learn(self) -> ModelTraits:
        """Ask the server what the model can do, once, and give the traits that follow.

        Raises:
            ModelUnavailable: the server can't be reached.
        """
        await self._known_facts()
        return self.traits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /api/chat`), `ReplyEnd` last.

        Raises:
            ModelUnavailable: nobody answers, the model is not installed, does not fit into
                memory or can't see the request's images, or the server failed.
        """
        try:
            body = self._body(request, await self._known_facts())
            async with self._api.chat(body) as reply, aclosing(chat_deltas(reply)) as deltas:
                async for delta in deltas:
                    yield delta
        except ServiceRefusal as refusal:
            raise await self._api.explained(refusal) from None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length, in the order of the texts.

        A text that is longer than the model's context is cut at its end. Texts go in batches, so
        that reading the numbers never takes long.

        Raises:
            ModelUnavailable: as with `stream`, or the model makes no embeddings.
        """
        vectors: list[list[float]] = []
        size = FIRST_EMBEDDED_TEXTS
        try:
            while len(vectors) < len(texts):
                vectors += await self._api.embed(texts[len(vectors) : len(vectors) + size])
                size = max(1, min(EMBEDDED_TEXTS_MAX, EMBEDDED_NUMBERS_MAX // len(vectors[0])))
        except ServiceRefusal as refusal:
            raise await self._api.explained(refusal) from None
        return vectors

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._api.aclose()

    async def _known_facts(self) -> OllamaFacts:
        """What the server knows of the model; nothing where it does not say.

        That is so with an old server, with one that only speaks for others, and of a model that
        is not there: the chat will be refused then, in better words.

        Raises:
            ModelUnavailable: it can't be reached.
        """
        async with self._asking:
            if self._facts is None:
                try:
                    self._facts = await self._api.facts()
                except ModelUnavailable as error:
                    if error.transient:
                        raise
                    return OllamaFacts()
                with suppress(ModelUnavailable):  # it only saves a reload
                    self._window.note_loaded(await self._api.loaded_context())
            return self._facts

    def _body(self, request: ModelRequest, facts: OllamaFacts) -> JsonObject:
        """The request in Ollama's form, without the model's name."""
        if request.images and not self.traits.images:
            raise ModelUnavailable(
                f"model {self._name} can't see images; choose one that can with --model, leave the "
                "image out, or, if it can, say images: true in its entry of config/models.json"
            )
        thinks = facts.can("thinking")
        reply_tokens = self._reply_tokens(request)
        expected = reply_tokens or (THOUGHTFUL_REPLY_TOKENS if thinks else REPLY_TOKENS)
        options: JsonObject = {"temperature": request.temperature}
        if reply_tokens is not None:
            options["num_predict"] = reply_tokens
        if (size := self._window.size_for(request, expected, facts)) is not None:
            options["num_ctx"] = size
        body: JsonObject = {
            "messages": chat_messages(request),
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": options,
        }
        if request.schema is not None:
            body["format"] = request.schema
        if self._entry.thinking is not None and thinks is not False:
            body["think"] = False if self._entry.thinking == "off" else self._entry.thinking
        return body

    def _reply_tokens(self, request: ModelRequest) -> int | None:
        return output_limit(request, self._entry.max_output_tokens)
