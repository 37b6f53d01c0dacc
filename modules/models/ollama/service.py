"""An Ollama server, asked on behalf of one model: list, show, chat and pull.

Formats are those of docs/api.md and docs/openapi.yaml of ollama/ollama (August 2026); the paths in
the methods name the sections. Heavy: imports httpx2 (0.1 s).
"""

import asyncio
import base64
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from typing import Final

from config.models_file import ModelEntry
from core.base.ollama import full_name
from core.base.text import NEAR_SHOWN, near_names, one_line
from core.errors import ModelUnavailable
from core.ports import ModelRequest, NativeToolCall, ReplyDelta, ReplyEnd, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.client import ServiceClient
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.json_text import count_of, tool_call
from modules.models.http.reply import ReplyReader, ServiceReply, deltas_of
from modules.models.ollama.facts import (
    REPLY_TOKENS,
    STATUS_CHARACTERS_MAX,
    THOUGHTFUL_REPLY_TOKENS,
    Learned,
    OllamaFacts,
    PullProgress,
    context_size,
    installed_models,
    loaded_context,
    model_facts,
    ollama_traits,
    pull_progress,
)
from modules.models.serving.budget import output_limit, with_estimates
from modules.models.thinking import ThinkingSplitter

NAMES_SHOWN = 10

_NO_MEMORY: Final = re.compile(
    r"system memory|out of (?:device )?memory|(?:not enough|insufficient) memory"
    r"|malloc failed|failed to allocate|allocation failed",
    re.IGNORECASE,
)
"""Decided by the text, as Ollama does itself (llm/status.go): its API has no code for it."""


class OllamaService:
    """One model of one server."""

    def __init__(
        self, entry: ModelEntry, errors: ServiceErrors, learned: Learned | None = None
    ) -> None:
        """Make the client; takes its time, so call it in a thread. `entry.model` is filled in.

        What is learned of the model goes to `learned`.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        self._entry = entry
        self._model = entry.model or ""
        self._errors = errors
        self._http = ServiceClient(errors)
        self._learned = learned or Learned()
        self._asking = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /api/chat`), `ReplyEnd` last.

        Raises:
            ModelUnavailable: nobody answers, the model is not installed, does not fit into
                memory or can't see the request's images, or the server failed.
        """
        try:
            body = self._body(request, await self._known_facts())
            async with self._http.exchange("/api/chat", body) as reply:
                read = deltas_of(reply.documents(), OllamaReply(reply), reply.expect_end)
                async with aclosing(with_estimates(read, request)) as deltas:
                    async for delta in deltas:
                        yield delta
        except ServiceError as error:
            raise await self._explained(error) from None

    async def pull(self) -> AsyncGenerator[PullProgress, None]:
        """Have the server download the model (`POST /api/pull`); the last report says success.

        Giving it up stops the download; the next one goes on where it was.

        Raises:
            ModelUnavailable: the server can't be reached, knows no such model, or failed.
        """
        try:
            async with (
                self._http.exchange("/api/pull", {"model": self._model}) as reply,
                aclosing(reply.documents()) as reports,
            ):
                async for report in reports:
                    progress = pull_progress(report)
                    yield progress
                    if progress.is_success:
                        return
                raise self._errors.broke_off()
        except ServiceError as error:
            said = one_line(error.said.message, STATUS_CHARACTERS_MAX) or f"HTTP {error.status}"
            raise self._errors.unavailable(
                f"can't be pulled by {self._errors.place}: {said}; look its name up at "
                "https://ollama.com/library, and see to that machine's network and disk"
            ) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _known_facts(self) -> OllamaFacts:
        """What the server knows of the model (`POST /api/show`); nothing where it does not say.

        That is so with an old server, with one that only speaks for others, and of a model that
        is not there: the chat will be refused then, in better words.

        Raises:
            ModelUnavailable: it can't be reached.
        """
        async with self._asking:
            if self._learned.facts is None:
                try:
                    self._learned.facts = model_facts(
                        await self._json("/api/show", {"model": self._model})
                    )
                except ModelUnavailable as error:
                    if error.transient:
                        raise
                    return OllamaFacts()
                with suppress(ModelUnavailable):  # it only saves a reload
                    running = await self._json("/api/ps")
                    self._learned.context_tokens = (
                        loaded_context(running, full_name(self._model)) or 0
                    )
            return self._learned.facts

    async def _json(self, path: str, body: JsonObject | None = None) -> JsonObject:
        async with self._http.exchange(path, body) as reply:
            return await reply.json()

    def _body(self, request: ModelRequest, facts: OllamaFacts) -> JsonObject:
        """The request in Ollama's form."""
        entry = self._entry
        if request.images and not ollama_traits(entry, facts).images:
            raise self._errors.unavailable(
                "can't see images; choose one that can with --model, leave the image out, or, if "
                "it can, say images: true in its entry of config/models.json"
            )
        thinks = facts.can("thinking")
        limit = output_limit(request, entry.max_output_tokens)
        expected = limit or (THOUGHTFUL_REPLY_TOKENS if thinks else REPLY_TOKENS)
        options: JsonObject = {"temperature": request.temperature}
        if request.seed is not None:
            options["seed"] = request.seed
        if limit is not None:
            options["num_predict"] = limit
        size = context_size(
            request, expected, facts, entry.context_tokens, self._learned.context_tokens
        )
        if size is not None:
            options["num_ctx"] = self._learned.context_tokens = size
        # An error in place of a silent cut, where even that context is too short.
        body: JsonObject = {
            "model": self._model,
            "messages": _messages(request),
            "stream": True,
            "truncate": False,
            "shift": False,
            "options": options,
        }
        if request.schema is not None:
            body["format"] = request.schema
        if entry.thinking is not None and thinks is not False:
            body["think"] = False if entry.thinking == "off" else entry.thinking
        return body

    async def _explained(self, error: ServiceError) -> ModelUnavailable:
        """What a refusal means, where more can be said than the status does."""
        if _NO_MEMORY.search(error.said.message):
            said = one_line(error.said.message, STATUS_CHARACTERS_MAX)
            return self._errors.unavailable(
                f"does not fit into memory: {said}; choose a smaller one (agent.py models), close "
                "other programs, or set a smaller context_tokens in config/models.json"
            )
        if error.status == 404:
            return await self._not_installed(error)
        return error

    async def _not_installed(self, error: ServiceError) -> ModelUnavailable:
        """The models that are there (`GET /api/tags`), those of a like name first."""
        try:
            names = [model.name for model in installed_models(await self._json("/api/tags"))]
        except ModelUnavailable:  # what was refused first says more
            return error
        base = self._model.partition(":")[0]
        near = near_names(self._model, names, 0.5)
        near = near or [name for name in names if name.partition(":")[0] == base]
        if near:
            there = f"did you mean {' or '.join(near[:NEAR_SHOWN])}? if not,"
        elif names:
            there = (
                f"there are: {', '.join(names[:NAMES_SHOWN])}{', …' * bool(names[NAMES_SHOWN:])};"
            )
        else:
            there = "no model is yet;"
        return self._errors.unavailable(
            f"is not installed at {self._errors.place}; {there} {self._errors.advice.unknown}"
        )


class OllamaReply(ReplyReader):
    """Reads one reply; it is complete with the chunk that says `done`."""

    def __init__(self, reply: ServiceReply) -> None:
        super().__init__(reply)
        self._splitter = ThinkingSplitter()
        self._was_cut = False

    def feed(self, chunk: JsonObject, /) -> Iterator[ReplyDelta]:
        """What a chunk adds."""
        message = chunk.get("message")
        if isinstance(message, dict):
            yield from self._written(message)
        if chunk.get("done") is True:
            if isinstance(reason := chunk.get("done_reason"), str):
                self.check_finish("done_reason", reason)
            self.is_complete = True
            self._was_cut = reason == "length"
            read, written = map(chunk.get, ("prompt_eval_count", "eval_count"))
            self.usage = Usage(1, count_of(read) or 0, count_of(written) or 0)

    def end(self) -> Iterator[ReplyDelta]:
        """What is known only at the end.

        Raises:
            ModelUnavailable: nobody said that this is the end.
        """
        if not self.is_complete:
            yield ReplyEnd(self.usage)
            raise self.errors.broke_off()
        yield from self._splitter.end()
        yield ReplyEnd(self.usage, "length" if self._was_cut else "stop")

    def _written(self, message: JsonObject) -> Iterator[ReplyDelta]:
        thought, text, calls = map(message.get, ("thinking", "content", "tool_calls"))
        if isinstance(thought, str) and thought:
            yield ThinkingDelta(thought)
        if isinstance(text, str) and text:
            yield from self._splitter.feed(text)
        for call in calls if isinstance(calls, list) else []:
            match call:
                case {"function": {"name": str(name), "arguments": dict(arguments)}}:
                    yield NativeToolCall(name, arguments)
                case {"function": {"name": str(name), "arguments": str(text)}}:
                    yield tool_call(name, text)
                case _:
                    continue


def _messages(request: ModelRequest) -> list[Json]:
    """The request as messages: its stable part as the system's, images with the user's."""
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    user: JsonObject = {"role": "user", "content": request.user}
    if request.images:
        user["images"] = [base64.b64encode(image.data).decode("ascii") for image in request.images]
    return [*messages, user]
