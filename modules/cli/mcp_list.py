"""`mcp list`: every configured server, with nothing started. Light: imports no engine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from config.servers import ServerSpec
from core.dispatch.known_tools import ShippedToolCache
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode
from core.values import Json, JsonObject
from modules.cli.command import ListServers
from modules.cli.shown_servers import kind_of, shown_command, shown_origin, shown_start, shown_url
from modules.cli.surroundings import Surroundings
from modules.terminal.printing import shortened, table

START_CHARACTERS = 60
"""How much of a command a row shows; --verbose and --json show all."""

NOTHING_CONFIGURED = "no server is configured; to add one: agent.py mcp add --help"
_HEAD = ("NAME", "KIND", "STATE", "TOOLS", "STARTS OR ANSWERS AT", "STANDS IN")


@dataclass(frozen=True, slots=True)
class _Row:
    """A server, its state, what there is to say of it, how many of its tools are in the cache."""

    spec: ServerSpec
    state: str
    problem: str | None
    tools: int | None


def list_servers(command: ListServers, around: Surroundings) -> ExitCode:
    """Print all servers, those that are switched off behind the others."""
    rows = list(_rows(around))
    if command.options.json:
        around.print_json([_document(row, around) for row in rows])
    elif not rows:
        around.print(NOTHING_CONFIGURED)
    else:
        around.print(around.redactor.text(_text(rows, verbose=command.options.verbose)))
    return ExitCode.ANSWERED


def _rows(around: Surroundings) -> Iterator[_Row]:
    cache, failures = (
        ShippedToolCache(around.places.cache),
        StartFailures(around.places.failures_file),
    )
    for spec in around.servers.specs:
        known = cache.load(spec)
        problem, state = spec.problem, "on" if spec.problem is None else "problem"
        if problem is None and (failure := failures.resting(spec)) is not None:
            problem = failure.told(failures.clock())
            state = "set aside" if failure.is_set_aside else "failed"
        yield _Row(spec, state, problem, len(known) if known is not None else None)
    for spec in around.servers.disabled:
        yield _Row(spec, "disabled", spec.problem, None)


def _text(rows: list[_Row], *, verbose: bool) -> str:
    cells = [
        (
            row.spec.id,
            kind_of(row.spec),
            row.state,
            "-" if row.tools is None else str(row.tools),
            _start(row.spec, whole=verbose),
            shown_origin(row.spec),
        )
        for row in rows
    ]
    return "\n".join([table([_HEAD, *cells]), *(row.problem for row in rows if row.problem)])


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
