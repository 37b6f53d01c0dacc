"""Starts the servers that a request will most likely need, before anything heavy is imported.

A server boots on another core while we import the engine and plan. The guess is by words alone
and costs microseconds; a server that was guessed wrongly is ended unused, one that was missed
starts when it is called.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from config.servers import ServerSpec
from core.dispatch.start_failures import StartFailures
from core.errors import ServerError
from core.process.server import SpawnedServer, spawn
from core.process.watchdog import Watchdog

_WORD = re.compile(r"[a-z]{3,}")
_STEM_LETTERS = 5
"""Words are compared by their first letters: "exponentials" and "exponential" are one."""

_STOP_WORDS = frozenset(
    {"the", "and", "for", "with", "from", "that", "this", "what", "which", "then", "its", "are"}
    | {"was", "has", "their", "them", "they", "there"}
)

_COMMON_WORDS = "server mcp http https com www python node npx run modelcontextprotocol"
"""What commands and addresses of servers say of none of them."""


def likely_servers(request: str, specs: Sequence[ServerSpec]) -> list[ServerSpec]:
    """The servers whose description or tool names share a word with the request.

    One that shares only a part of another's words is left out: "search my documents" is no case
    for the server that searches the web. A profile with one server has no choice to make; one
    that is to start eagerly always counts. Only what is a program that lives on and can be
    started is given at all.
    """
    startable = [spec for spec in specs if _can_start_early(spec)]
    if len(specs) == 1:
        return startable
    wanted = _stems(request)
    shared = [wanted & _stems(_words_of(spec)) for spec in startable]
    return [
        spec
        for spec, words in zip(startable, shared, strict=True)
        if spec.start == "eager" or (words and not any(words < others for others in shared))
    ]


def prespawn(
    request: str, specs: Sequence[ServerSpec], logs: Path, failures: StartFailures | None = None
) -> dict[str, SpawnedServer]:
    """Spawn the likely servers; one that can't be started is left for later, and told then.

    One that `failures` knows to be left alone now is left alone.
    """
    started: dict[str, SpawnedServer] = {}
    watchdog = Watchdog()
    for spec in likely_servers(request, specs):
        if failures is not None and failures.resting(spec) is not None:
            continue
        try:
            started[spec.id] = spawn(spec, logs, watchdog)
        except (ServerError, OSError):
            continue
    watchdog.retire()
    return started


def may_be_meant(request: str, spec: ServerSpec) -> bool:
    """Whether a server of which no tools are known shares a word with the request.

    Its id and what it starts or where it answers count as well: often nothing else is said of it.
    """
    arguments = [Path(word).stem for word in spec.command[1:] if not word.startswith("-")]
    words = " ".join([_words_of(spec), spec.id, *arguments, spec.url or ""])
    return bool(_stems(request) & (_stems(words) - _stems(_COMMON_WORDS)))


def _can_start_early(spec: ServerSpec) -> bool:
    return spec.connection == "persistent" and spec.url is None and spec.problem is None


def _words_of(spec: ServerSpec) -> str:
    return " ".join([spec.description, *spec.capabilities])


def _stems(text: str) -> set[str]:
    words = _WORD.findall(text.lower().replace("_", " "))
    return {word[:_STEM_LETTERS] for word in words if word not in _STOP_WORDS}
