"""`mcp list`: every configured server, with nothing started, and how its entry is shown."""

import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.redaction import names_a_secret
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode, StorageError
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
    documents: list[Json] = [_document(row, around) for row in _rows(around)]
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


TAIL_BYTES_MAX = 4 * 1024 * 1024
"""How far from the end of a log its last lines are looked for; logs are cut long before."""

FOLLOW_POLL_SECONDS = 0.2
"""How often a followed log is looked at; the standard library can't wait for a file to grow."""

_CHUNK_BYTES = 65_536


def show_log(around: Surroundings, wait: Callable[[float], None] = time.sleep) -> ExitCode:
    """Print the last lines, then with `follow` all that comes, until interrupted.

    Raises:
        UsageError: no such server.
        StorageError: the log can't be read.
    """
    around.tell_notes(to_users=True)
    options = around.options
    count: int = options.lines
    spec = around.find(options.name)
    if spec.url is not None:
        around.print(f"'{spec.id}' answers at a URL: its log is where it runs, not here")
        return ExitCode.ANSWERED
    path = around.places.server_logs / f"{spec.id}.log"  # ids hold no character that a path lacks
    lines, end = tail(path, count)
    if options.json:
        shown: list[Json] = [around.redactor.text(line) for line in lines]
        around.print_json({"id": spec.id, "log": str(path), "lines": shown})
    elif lines:
        around.print(around.redactor.text("\n".join(lines)))
    elif count:
        around.print(_nothing_yet(spec.id, path))
    if options.follow:
        for text in _growth(path, end, wait):
            around.print(around.redactor.text(text))
    return ExitCode.ANSWERED


def _nothing_yet(server: str, path: Path) -> str:
    if path.exists():
        return f"'{server}' has written nothing to stderr since its last start ({path} is empty)"
    return f"'{server}' has no log yet: it has not been started here (it will be {path})"


def tail(path: Path, count: int) -> tuple[list[str], int]:
    """The last lines of a file, none if there is no file, and the offset behind them."""
    try:
        with path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(0, end - TAIL_BYTES_MAX))
            lines = log.read(TAIL_BYTES_MAX).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise _unreadable(path, error) from error
    return lines[len(lines) - min(count, len(lines)) :], end


def _growth(path: Path, offset: int, wait: Callable[[float], None]) -> Iterator[str]:
    """What is written to the file from `offset` on, in whole lines; never ends by itself.

    A file that gets shorter was begun anew by the server's next start.
    """
    pending = b""
    while True:
        try:
            with path.open("rb") as log:
                if log.seek(0, os.SEEK_END) < offset:
                    offset, pending = 0, b""
                log.seek(offset)
                chunk = log.read(_CHUNK_BYTES)
        except FileNotFoundError:
            chunk = b""
        except OSError as error:
            raise _unreadable(path, error) from error
        offset += len(chunk)
        *complete, pending = (pending + chunk).split(b"\n")
        if complete:
            yield b"\n".join(complete).decode("utf-8", "replace")
        if not chunk:
            wait(FOLLOW_POLL_SECONDS)


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"the log {path} can't be read: {error.strerror or error}")
