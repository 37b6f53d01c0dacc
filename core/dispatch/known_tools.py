"""Which tools are known: of this run's servers, on disk from the runs before, and as shipped."""

import hashlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from config.servers import ServerSpec, files_named, may_be_run
from core.base.files import make_private_folder, read_regular, write_atomically
from core.base.frozen import frozen
from core.dispatch.tool_pins import ALLOW_OPTION
from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject


class ToolRegistry:
    """The tools of all servers in the order of the configuration; replaced server by server."""

    def __init__(self, server_ids: Iterable[str]) -> None:
        """Know no tool of any server."""
        self._order = tuple(server_ids)
        self._refused: dict[str, Collection[str]] = {}
        self.server_tools: dict[str, list[ToolSpec]] = {}
        """The known tools by server id, in the order of the configuration."""
        self.tool_map: dict[str, ToolSpec] = {}
        """The known tools by bare name, or by `server.tool` where a name is shared."""
        self.catalog = ToolCatalog(())

    def learn(self, server: str, tools: list[ToolSpec], refused: Collection[str]) -> None:
        """Replace what is known of a server; `refused` are tools whose changes nobody accepted."""
        self._refused[server] = refused
        self._offer({**self.server_tools, server: tools})

    def arrange(self, server_ids: Iterable[str], known: Collection[str]) -> None:
        """Have these servers, in this order; nothing is known but of those in `known`."""
        self._order = tuple(server_ids)
        self._refused = {name: each for name, each in self._refused.items() if name in known}
        self._offer({name: each for name, each in self.server_tools.items() if name in known})

    def _offer(self, known: Mapping[str, list[ToolSpec]]) -> None:
        self.server_tools = {name: known[name] for name in self._order if name in known}
        self.catalog = ToolCatalog(tool for tools in self.server_tools.values() for tool in tools)
        self.tool_map = {
            tool.qualified_name if self.catalog.is_ambiguous(tool) else tool.name: tool
            for tool in self.catalog
        }

    def resolve(self, name: str) -> ToolSpec:
        """The tool that a name means.

        Raises:
            CallRefused: no such tool, or several, or one that was left out because it changed.
        """
        for owner, refused in self._refused.items():
            for bare in refused:
                # The full name first: no other server's tool may answer in its place.
                if name == f"{owner}.{bare}" or (name == bare and name not in self.catalog):
                    raise CallRefused(
                        f"'{owner}.{bare}' is left out: its definition is not the one that was "
                        f"first used; accept the new one with {ALLOW_OPTION}"
                    )
        return self.catalog.resolve(name)


CACHE_BYTES_MAX = 64 * 1024 * 1024
"""A larger file counts as absent; a listing is bounded by the session that brings it."""

CACHE_FORMAT = 4
"""Goes up when `ToolSpec` or this file's form changes; other numbers count as absent."""

FRESH_SECONDS = 24 * 60 * 60.0
"""How long a listing is taken at its word: what a URL or `npx` leads to changes unseen."""

_log = logging.getLogger(__name__)


@frozen
class Listing:
    """The tools that a server listed last, and what of its list could not be used, and why.

    `has_changed` tells that its program is not the one that listed them: the list holds until the
    server is up.
    """

    tools: list[ToolSpec]
    left_out: list[str]
    has_changed: bool = False


class ToolCache:
    """The tool lists under one folder, made when first written, and those that ship."""

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._folder = folder

    def load(self, spec: ServerSpec) -> list[ToolSpec] | None:
        """The tools of `listing`."""
        listing = self.listing(spec)
        return None if listing is None else listing.tools

    def listing(self, spec: ServerSpec) -> Listing | None:
        """What the server listed last; None if nothing is known.

        What ships for a server of ours counts for more than a list that an older program gave.
        """
        stored = self._stored(spec) or {}
        has_changed = stored.get("fingerprint") != fingerprint(spec)
        if has_changed and (shipped := shipped_tools(spec)) is not None:
            return Listing(shipped, [])
        match stored:
            case {"tools": list() as tools, "left_out": list() as left_out}:
                with suppress(ValueError):
                    known = [_from_json(spec.id, tool) for tool in tools]
                    return Listing(known, [*map(str, left_out)], has_changed)
            case _:
                pass
        return None

    def is_old(self, spec: ServerSpec) -> bool:
        """Whether the server last confirmed its list longer than `FRESH_SECONDS` ago."""
        if spec.bundled:
            return False  # its files are all that its tools depend on
        try:
            return time.time() - self._path(spec).stat().st_mtime > FRESH_SECONDS
        except OSError:
            return True

    def store(self, spec: ServerSpec, tools: list[ToolSpec], left_out: Sequence[str] = ()) -> None:
        """Keep a listing; readers see the old file or the new one, never a part."""
        content = {
            "format": CACHE_FORMAT,
            "fingerprint": fingerprint(spec),
            "tools": [_to_json(tool) for tool in tools],
            "left_out": [*left_out],
        }
        try:
            make_private_folder(self._folder)
            write_atomically(self._path(spec), json.dumps(content).encode(), is_lasting=False)
        except OSError as error:
            _log.debug("tool list of '%s' is not cached: %s", spec.id, error)

    def _stored(self, spec: ServerSpec) -> JsonObject | None:
        """The file's content."""
        try:
            stored: Json = json.loads(read_regular(self._path(spec), CACHE_BYTES_MAX))
        except (OSError, ValueError, RecursionError):
            return None
        is_known = isinstance(stored, dict) and stored.get("format") == CACHE_FORMAT
        return stored if isinstance(stored, dict) and is_known else None

    def _path(self, spec: ServerSpec) -> Path:
        """One file for each way to start a server.

        Values of environment variables and headers are left out: they are secrets.
        """
        names = [sorted(spec.env), sorted(spec.headers)]
        start = json.dumps([spec.id, spec.command, str(spec.cwd), spec.url, *names])
        return self._folder / f"{hashlib.sha256(start.encode()).hexdigest()[:32]}.json"


def fingerprint(spec: ServerSpec) -> str:
    """A hash that changes with the server's program.

    A file that the command names for its data is none: a database changes with each call.
    """
    files = [[str(path), *_time_and_size(path)] for path in sorted(set(_program_files(spec)))]
    return hashlib.sha256(json.dumps([sys.version, files]).encode()).hexdigest()


def _program_files(spec: ServerSpec) -> Iterator[Path]:
    """The program, the files to be run that its command names, and the scripts' neighbours."""
    words = spec.command
    if words and (program := shutil.which(words[0])) is not None:
        yield Path(program)
    for path in filter(_is_program, files_named(words, spec.cwd)):
        yield path
        if path.suffix == ".py":
            with suppress(OSError):
                yield from path.parent.glob("*.py")


def _is_program(path: Path) -> bool:
    """Whether an interpreter may run the file; one without a suffix says so by its mode."""
    return may_be_run(path) and (path.suffix != "" or os.access(path, os.X_OK))


def _time_and_size(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def _to_json(tool: ToolSpec) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "read_only": tool.read_only,
        "says_effects": tool.says_effects,
        "idempotent": tool.idempotent,
    }


def _from_json(server: str, value: Json) -> ToolSpec:
    """The tool of a server that `_to_json` wrote; ValueError for anything else."""
    match value:
        case {
            "name": str() as name,
            "description": str() as description,
            "input_schema": dict() as input_schema,
            "output_schema": (dict() | None) as output_schema,
            "read_only": bool() as read_only,
            "says_effects": bool() as says_effects,
            "idempotent": bool() as idempotent,
        }:
            return ToolSpec(
                server=server,
                name=name,
                description=description,
                input_schema=cast("JsonObject", input_schema),
                output_schema=cast("JsonObject | None", output_schema),
                read_only=read_only,
                says_effects=says_effects,
                idempotent=idempotent,
            )
        case _:
            raise ValueError("it is no tool")


LISTS: Final = Path(__file__).resolve().parents[2] / "servers" / "tool_lists.json"
"""The tools of our own servers, so that the first request of a fresh installation starts no server
but those that it needs; what a server lists itself counts from then on."""


def shipped_tools(spec: ServerSpec, lists: Path = LISTS) -> list[ToolSpec] | None:
    """The shipped list of a server of our own; None where there is none, or it can't be read.

    The file is ours, and a test compares it with what the servers list.
    """
    if not spec.bundled:
        return None
    try:
        by_server = cast("dict[str, list[JsonObject]]", json.loads(lists.read_bytes()))
    except (OSError, ValueError):
        return None
    name = Path(spec.command[1]).stem.removesuffix("_server") if len(spec.command) > 1 else ""
    tools = by_server.get(name)
    if tools is None:
        return None
    return [_from_json(spec.id, {**tool, "says_effects": True}) for tool in tools]
