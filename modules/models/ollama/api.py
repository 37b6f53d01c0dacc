"""The endpoints of an Ollama server that are used here: list, show, chat and pull.

Formats are those of docs/api.md and docs/openapi.yaml of ollama/ollama (August 2026); the paths in
the methods name the sections.
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Final

from config.models_file import REQUEST_TIMEOUT_SECONDS
from core.base.ollama import HOST_VARIABLE, KEY_VARIABLE, checked_address, full_name, ollama_address
from core.base.text import NEAR_SHOWN, near_names, one_line
from core.errors import ConfigurationError, ModelUnavailable
from core.values import JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.http.errors import Advice, ServiceError
from modules.models.http.reply import ServiceReply
from modules.models.http.service import ServiceHttp
from modules.models.ollama.facts import OllamaFacts, loaded_context, model_facts
from modules.models.ollama.listing import InstalledModel, installed_models

NAMES_SHOWN = 10
STATUS_CHARACTERS_MAX = 200
COUNT_MAX = 2**53
"""A larger number is no count."""

_NO_MEMORY: Final = re.compile(
    r"system memory|out of (?:device )?memory|(?:not enough|insufficient) memory"
    r"|malloc failed|failed to allocate|allocation failed",
    re.IGNORECASE,
)
"""Decided by the text, as Ollama does itself (llm/status.go): its API has no code for it."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download is: bytes of one part of the model where they are known."""

    status: str
    digest: str = ""
    total_bytes: int | None = None
    completed_bytes: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether this is the last report, of a model that is installed now."""
        return self.status == "success"


class OllamaApi:
    """One server, asked on behalf of one model; connects when first used."""

    def __init__(
        self,
        model: str,
        environ: Mapping[str, str],
        base_url: str | None = None,
        key: ApiKey | None = None,
        idle_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        """The server at `base_url`, else where OLLAMA_HOST of `environ` says.

        `key` goes with every request; without one, that in OLLAMA_API_KEY does to where OLLAMA_HOST
        says, over https only. It may send nothing for `idle_seconds`.

        Raises:
            ConfigurationError: OLLAMA_HOST is no address.
        """
        address = _address(environ, base_url)
        self.model = model
        self.place = address.partition("://")[2].partition("/")[0]
        self._subject = f"model ollama:{model}"
        self._http = ServiceHttp(
            self._subject,
            address,
            Advice(
                unreachable="start Ollama there with: ollama serve (where it is, OLLAMA_HOST or "
                "base_url in config/models.json says), or choose another model with --model",
                unknown=self._how_to_pull(),
                no_key=f"set {KEY_VARIABLE}, which goes to an OLLAMA_HOST with https, or name a "
                "variable as api_key_env in config/models.json",
            ),
            key or _usual_key(environ, address, base_url),
            idle_seconds=idle_seconds,
        )

    async def installed(self) -> tuple[InstalledModel, ...]:
        """The models that are there (`GET /api/tags`).

        Raises:
            ModelUnavailable: the server can't be reached, or is none of Ollama's.
        """
        async with self._http.get("/api/tags") as reply:
            return installed_models(await reply.json())

    async def facts(self) -> OllamaFacts:
        """What the server knows of the model (`POST /api/show`).

        Raises:
            ModelUnavailable: see `installed`; or it is not installed.
        """
        async with self._http.post("/api/show", {"model": self.model}) as reply:
            return model_facts(await reply.json())

    async def loaded_context(self) -> int | None:
        """The context with which the model is in memory (`GET /api/ps`), None if it is not.

        Raises:
            ModelUnavailable: see `installed`.
        """
        async with self._http.get("/api/ps") as reply:
            return loaded_context(await reply.json(), full_name(self.model))

    def chat(self, body: JsonObject) -> AbstractAsyncContextManager[ServiceReply]:
        """Begin a chat (`POST /api/chat`); raises as `ServiceHttp.post`."""
        return self._http.post("/api/chat", {"model": self.model, **body})

    async def pull(self) -> AsyncGenerator[PullProgress, None]:
        """Have the server download the model (`POST /api/pull`); the last report says success.

        Giving it up stops the download; the next one goes on where it was.

        Raises:
            ModelUnavailable: the server can't be reached, knows no such model, or failed.
        """
        try:
            async with (
                self._http.post("/api/pull", {"model": self.model}) as reply,
                aclosing(reply.objects(reply.lines())) as reports,
            ):
                async for report in reports:
                    progress = _progress(report)
                    yield progress
                    if progress.is_success:
                        return
                raise reply.broke_off()
        except ServiceError as error:
            said = one_line(error.said.message, STATUS_CHARACTERS_MAX) or f"HTTP {error.status}"
            raise ModelUnavailable(
                f"{self._subject} can't be pulled by {self.place}: {said}; look its name up "
                "at https://ollama.com/library, and see to that machine's network and disk"
            ) from None

    async def explained(self, error: ServiceError) -> ModelUnavailable:
        """What a refusal means, where more can be said than the status does."""
        if _NO_MEMORY.search(error.said.message):
            said = one_line(error.said.message, STATUS_CHARACTERS_MAX)
            return ModelUnavailable(
                f"{self._subject} does not fit into memory: {said}; "
                "choose a smaller one (agent.py models), close other programs, or set a smaller "
                "context_tokens in config/models.json"
            )
        if error.status == 404:
            return await self._not_installed(error)
        return error

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def _not_installed(self, error: ServiceError) -> ModelUnavailable:
        try:
            names = [model.name for model in await self.installed()]
        except ModelUnavailable:  # what was refused first says more
            return error
        near = near_names(self.model, names, 0.5)
        base = self.model.partition(":")[0]
        near = near or [name for name in names if name.partition(":")[0] == base]
        if near:
            there = f"did you mean {' or '.join(near[:NEAR_SHOWN])}? if not,"
        elif names:
            there = (
                f"there are: {', '.join(names[:NAMES_SHOWN])}{', …' * bool(names[NAMES_SHOWN:])};"
            )
        else:
            there = "no model is yet;"
        return ModelUnavailable(
            f"{self._subject} is not installed at {self.place}; {there} {self._how_to_pull()}"
        )

    def _how_to_pull(self) -> str:
        return f"get it with: agent.py models pull {self.model} (or ollama pull {self.model})"


def count_in(document: JsonObject, key: str) -> int | None:
    """A number of tokens or bytes; None if there is none that can be."""
    match document.get(key):
        case bool():
            return None
        case int(count) if 0 <= count < COUNT_MAX:
            return count
        case _:
            return None


def _address(environ: Mapping[str, str], base_url: str | None) -> str:
    if base_url is not None:  # checked where it was read
        return ollama_address({HOST_VARIABLE: base_url})
    try:
        return checked_address(environ)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _usual_key(environ: Mapping[str, str], address: str, base_url: str | None) -> ApiKey | None:
    if base_url is not None or not address.startswith("https://"):
        return None
    value = environ.get(KEY_VARIABLE, "").strip()
    return ApiKey(value, KEY_VARIABLE) if value else None


def _progress(report: JsonObject) -> PullProgress:
    status, digest = report.get("status"), report.get("digest")
    return PullProgress(
        one_line(status, STATUS_CHARACTERS_MAX) if isinstance(status, str) else "",
        digest[:STATUS_CHARACTERS_MAX] if isinstance(digest, str) else "",
        count_in(report, "total"),
        count_in(report, "completed"),
    )
