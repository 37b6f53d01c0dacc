"""`mcp list`: every configured server, with nothing started. Light: imports no engine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.errors import ExitCode
from core.values import Json, JsonObject
from modules.commands.command import ListServers
from modules.commands.shown import (
    kind_of,
    shown_command,
    shown_origin,
    shown_start,
    shown_url,
)
from modules.commands.surroundings import Surroundings
from modules.shipped_tools import ShippedToolCache
from modules.terminal.printing import shortened, table

START_CHARACTERS = 60
"""How much of a command a row shows; --verbose and --json show all."""

NOTHING_CONFIGURED = "no server is configured; to add one: agent.py mcp add --help"
_HEAD = ("NAME", "KIND", "STATE", "TOOLS", "STARTS OR ANSWERS AT", "STANDS IN")


def list_servers(command: ListServers, around: Surroundings) -> ExitCode:
    """Print all servers, those that are switched off behind the others."""
    rows = list(_rows(around))
    if command.options.json:
        around.print_json([_document(*row, around) for row in rows])
    elif not rows:
        around.print(NOTHING_CONFIGURED)
    else:
        around.print(around.redactor.text(_text(rows, verbose=command.options.verbose)))
    return ExitCode.ANSWERED


def _rows(around: Surroundings) -> Iterator[tuple[ServerSpec, str, int | None]]:
    """Each server, its state, and how many of its tools are in the cache."""
    cache = ShippedToolCache(around.places.cache)
    for spec in around.servers.specs:
        known = cache.load(spec)
        state = "on" if spec.problem is None else "problem"
        yield spec, state, len(known) if known is not None else None
    for spec in around.servers.disabled:
        yield spec, "disabled", None


def _text(rows: list[tuple[ServerSpec, str, int | None]], *, verbose: bool) -> str:
    cells = [
        (
            spec.id,
            kind_of(spec),
            state,
            "-" if tools is None else str(tools),
            _start(spec, whole=verbose),
            shown_origin(spec),
        )
        for spec, state, tools in rows
    ]
    lines = [table([_HEAD, *cells])]
    lines += [spec.problem for spec, _, _ in rows if spec.problem is not None]
    return "\n".join(lines)


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


def _document(spec: ServerSpec, state: str, tools: int | None, around: Surroundings) -> JsonObject:
    command: list[Json] = [*shown_command(spec.command)]
    return around.redactor.object(
        {
            "id": spec.id,
            "kind": kind_of(spec),
            "state": state,
            "problem": spec.problem,
            "command": command if spec.url is None else None,
            "url": shown_url(spec.url) if spec.url is not None else None,
            "origin": shown_origin(spec),
            "description": spec.description,
            "cached_tools": tools,
        }
    )
