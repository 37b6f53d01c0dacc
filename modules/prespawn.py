"""Starts the servers that a request will most likely need, before anything heavy is imported.

Importing the MCP SDK takes a second in the client and in every server; started first, the
servers import on another core while we do. The guess is by words alone and costs microseconds;
a server that was guessed wrongly is ended unused, one that was missed starts when it is called.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from config.servers import ServerSpec, server_spec
from core.errors import ServerError
from core.spawn import SpawnedServer, spawn

_WORD = re.compile(r"[a-z]{3,}")
_STEM_LETTERS = 5
"""Words are compared by their first letters: "exponentials" and "exponential" are one."""

_STOP_WORDS = frozenset(
    {"the", "and", "for", "with", "from", "that", "this", "what", "which", "then", "its", "are"}
    | {"was", "has"}
)


def likely_servers(request: str, specs: Sequence[ServerSpec]) -> list[ServerSpec]:
    """The persistent servers whose description or tool names share a word with the request.

    A profile with one server has no choice to make.
    """
    persistent = [spec for spec in specs if spec.connection == "persistent"]
    if len(specs) == 1:
        return persistent
    wanted = _stems(request)
    return [spec for spec in persistent if wanted & _stems(_words_of(spec))]


def prespawn(
    request: str, document: Mapping[str, object], root: Path, profile: Path, logs: Path
) -> dict[str, SpawnedServer]:
    """Spawn the likely servers of a raw profile; what can't be read or started is left for later.

    The profile is checked, and a failing server reported, by those who need them.
    """
    started: dict[str, SpawnedServer] = {}
    for spec in likely_servers(request, _readable_specs(document, root, profile)):
        try:
            started[spec.id] = spawn(spec, logs)
        except (ServerError, OSError):
            continue
    return started


def _readable_specs(document: Mapping[str, object], root: Path, profile: Path) -> list[ServerSpec]:
    entries = document.get("mcp_servers")
    specs: list[ServerSpec] = []
    for entry in cast("list[object]", entries) if isinstance(entries, list) else []:
        try:
            specs.append(server_spec(cast("Mapping[str, object]", entry), root, profile.parent))
        except (KeyError, TypeError, ValueError, AttributeError):
            return []  # a broken profile: its error message comes from the schema
    ids = {spec.id for spec in specs}
    return specs if len(ids) == len(specs) else []  # the same: an id used twice


def _words_of(spec: ServerSpec) -> str:
    return " ".join([spec.description, *spec.capabilities])


def _stems(text: str) -> set[str]:
    words = _WORD.findall(text.lower().replace("_", " "))
    return {word[:_STEM_LETTERS] for word in words if word not in _STOP_WORDS}
