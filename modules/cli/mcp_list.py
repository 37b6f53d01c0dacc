"""`mcp list`: every configured server, with nothing started, and how its entry is shown."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.redaction import names_a_secret
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode
from core.values import Json, JsonObject
from modules.cli.surroundings import Surroundings
from modules.terminal.streams import shortened

START_CHARACTERS = 60
"""How much of a command a row shows; --verbose and --json show all."""

Kind: TypeAlias = Literal["stdio", "http", "per call"]

HIDDEN = "…"
"""Stands where a secret stood."""

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_SETTING = re.compile(r"([\w-]+)=(?=.)")
_AUTHORIZATION = re.compile(r"(authorization:\s*(?:\w+\s+)?|\bbearer\s+)\S+", re.I)

NOTHING_CONFIGURED = "no server is configured; to add one: agent.py mcp add --help"
_HEAD = ("NAME", "KIND", "STATE", "TOOLS", "STARTS OR ANSWERS AT", "STANDS IN")


@frozen
class _Row:
    """A server, its state, what there is to say of it, how many of its tools are in the cache."""

    spec: ServerSpec
    state: str
    problem: str | None
    tools: int | None


def list_servers(around: Surroundings) -> ExitCode:
    """Print all servers, those that are switched off behind the others."""
    around.tell_notes()
    documents = [_document(row, around) for row in _rows(around)]
    return around.report_rows(documents, *server_table(around), NOTHING_CONFIGURED)


def server_table(around: Surroundings) -> tuple[list[Sequence[str]], list[str]]:
    """A row for each server, below their heads, and what is wrong with some."""
    rows = list(_rows(around))
    cells = (_cells(row, verbose=around.options.verbose) for row in rows)
    return [_HEAD, *cells], [row.problem for row in rows if row.problem]


def _rows(around: Surroundings) -> Iterator[_Row]:
    cache = ToolCache(around.places.cache)
    failures = StartFailures(around.places.failures_file)
    for spec in around.servers.specs:
        known = cache.load(spec)
        problem, state = spec.problem, "on" if spec.problem is None else "problem"
        if problem is None and (failure := failures.resting(spec)) is not None:
            problem = failure.told(failures.clock())
            state = "set aside" if failure.is_set_aside else "failed"
        yield _Row(spec, state, problem, len(known) if known is not None else None)
    for spec in around.servers.disabled:
        yield _Row(spec, "disabled", spec.problem, None)


def _cells(row: _Row, *, verbose: bool) -> Sequence[str]:
    return (
        row.spec.id,
        kind_of(row.spec),
        row.state,
        "-" if row.tools is None else str(row.tools),
        _start(row.spec, whole=verbose),
        shown_origin(row.spec),
    )


def _start(spec: ServerSpec, *, whole: bool) -> str:
    """What starts it; unless `whole`, short enough for a row, the program without its folder.

    Both ends are kept: of most, the last folders of a long path say which server it is.
    """
    if not spec.command and spec.url is None:
        return "-"  # an entry that can't be used
    if whole or not spec.command:
        return shown_start(spec)
    program, *words = spec.command
    short = replace(spec, command=(Path(program).name, *words))
    return shortened(shown_start(short), START_CHARACTERS)


def _document(row: _Row, around: Surroundings) -> JsonObject:
    spec = row.spec
    command: list[Json] = [*shown_command(spec.command)]
    return around.redactor.object(
        {
            "id": spec.id,
            "kind": kind_of(spec),
            "state": row.state,
            "problem": row.problem,
            "command": command if spec.url is None else None,
            "url": shown_url(spec.url) if spec.url is not None else None,
            "origin": shown_origin(spec),
            "description": spec.description,
            "cached_tools": row.tools,
        }
    )


def kind_of(spec: ServerSpec) -> Kind:
    """How it is spoken to: over stdio, over HTTP, or by a process (or session) for each call."""
    if spec.connection == "per_call":
        return "per call"
    return "http" if spec.url is not None else "stdio"


def shown_start(spec: ServerSpec) -> str:
    """The command as one would type it, or the URL."""
    if spec.url is not None:
        return shown_url(spec.url)
    words = shown_command(spec.command)
    return " ".join(word if word == HIDDEN else shlex.quote(word) for word in words)


def shown_command(words: Iterable[str]) -> list[str]:
    """The words of a command; what stands where keys and passwords usually do is hidden."""
    return list(_without_secrets(words))


def shown_url(url: str) -> str:
    """The URL without user, password, query and fragment, any of which may be a secret."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        query = HIDDEN if parts.query else ""
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    except ValueError:  # brackets that make no address
        return HIDDEN


def shown_origin(spec: ServerSpec) -> str:
    """Where its entry stands: the file, as far as it is known."""
    return spec.origin.removeprefix("under mcp_servers ").removeprefix("in ")


def _without_secrets(words: Iterable[str]) -> Iterator[str]:
    is_secret = False
    for word in words:
        if is_secret and not word.startswith("-"):
            is_secret = False
            yield HIDDEN
            continue
        is_secret = _OPTION.fullmatch(word) is not None and names_a_secret(word)
        yield _AUTHORIZATION.sub(rf"\1{HIDDEN}", _without_setting(word))


def _without_setting(word: str) -> str:
    """`NAME=value` without the value, if the name is that of a secret."""
    for setting in _SETTING.finditer(word):
        if names_a_secret(setting[1]):
            return f"{word[: setting.end()]}{HIDDEN}"
    return word
