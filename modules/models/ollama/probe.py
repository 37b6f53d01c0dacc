"""Looks for an Ollama server, quickly and without waiting: what automatic choice asks at start-up.

How little it may cost, and how little whoever listens is trusted: see `choosing/probe_http.py`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from modules.models.choosing.probe_http import get_json
from modules.models.ollama.listing import (
    InstalledModel,
    chat_models,
    installed_models,
    is_address,
    is_listing,
    ollama_address,
)

PROBE_TIMEOUT_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class OllamaFound:
    """A server that answered, at this address, and its models: those in memory first."""

    address: str
    models: tuple[InstalledModel, ...]


def find_ollama(
    environ: Mapping[str, str], timeout_seconds: float = PROBE_TIMEOUT_SECONDS
) -> list[str]:
    """Names of the installed models that write text: those in memory first, then newest first.

    Models that Ollama runs in its cloud are left out: nothing leaves the machine unasked. Empty
    where no Ollama answers in time.
    """
    found = look_for_ollama(environ, timeout_seconds)
    return [model.name for model in chat_models(found.models)] if found is not None else []


def look_for_ollama(
    environ: Mapping[str, str], timeout_seconds: float = PROBE_TIMEOUT_SECONDS
) -> OllamaFound | None:
    """The server at OLLAMA_HOST, else on loopback, with all its models; None if none answers."""
    address = ollama_address(environ)
    if not is_address(address):
        return None  # whoever chooses Ollama is told what is wrong with it
    deadline = time.monotonic() + timeout_seconds
    listing = get_json(f"{address}/api/tags", deadline)
    if not is_listing(listing):
        return None  # another service may have that port
    models = installed_models(listing)
    if len(models) > 1:  # then it matters which of them is in memory
        models = installed_models(listing, get_json(f"{address}/api/ps", deadline))
    return OllamaFound(address, models)
