"""Models of an Ollama server, over its own HTTP API: no key, no cost, nothing leaves the machine.

Its own API rather than the OpenAI-compatible one, for that has no context length: Ollama's default
is too short for a decision prompt (see `ollama_server/facts.py`). We ask for enough, and
for an error in place of a silent cut where even that is too little (`truncate`, `shift`).
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

from config.models_file import ModelEntry
from core.errors import ConfigurationError, ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.http.errors import ServiceError
from modules.models.http.reply import deltas_of
from modules.models.ollama.api import OllamaApi
from modules.models.ollama.chat import OllamaReply, chat_messages
from modules.models.ollama.facts import (
    REPLY_TOKENS,
    THOUGHTFUL_REPLY_TOKENS,
    ContextWindow,
    OllamaFacts,
)
from modules.models.ollama.listing import billions_of_parameters
from modules.models.serving.budget import output_limit
from modules.models.vision_names import sees_images


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
        self._api = OllamaApi(entry.model, environ, entry.base_url, key, entry.timeout_seconds)
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
            images=next((sees for sees in said if sees is not None), sees_images(model)),
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
            async with self._api.chat(body) as reply:
                chunks = reply.objects(reply.lines())
                read = deltas_of(chunks, OllamaReply(reply), reply.expect_end)
                async with aclosing(read) as deltas:
                    async for delta in deltas:
                        yield delta
        except ServiceError as error:
            raise await self._api.explained(error) from None

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
