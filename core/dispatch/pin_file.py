"""What is known of tool definitions: the file that all processes share, and this one's memory.

The file is one JSON object, read and written whole (`core.base.files`). Several processes may
write: what others wrote meanwhile is read first. A file that can't be understood is never
overwritten: it is set aside under another name.

Memory holds all that this process has seen, so that nobody takes a pin back by removing the file
while we run; and it stands in for the file where that can't be used.
"""

import errno
import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from core.base.clock import Clock
from core.base.files import (
    LOCK_TIMEOUT_SECONDS,
    folder_locked,
    read_regular,
    reserve_damaged_name,
    write_atomically,
)
from core.base.frozen import frozen
from core.values import Json, JsonObject

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A larger file counts as damaged; `core.dispatch.tool_pins` bounds what a server may put in."""

FILE_FORMAT = 1
"""Goes up when the file's form changes; a file with another number is set aside."""


@frozen
class Pin:
    """A tool's definition as it was accepted: its SHA-256 in hex, and its text to compare by."""

    sha256: str
    text: str


Pins: TypeAlias = dict[str, dict[str, Pin]]
"""Pins by server key, then by tool name."""


ChoosePins: TypeAlias = Callable[[Mapping[str, Pin]], dict[str, Pin]]
"""Given the pins of a server that are known, by tool name: those to add or replace."""


class PinStore:
    """Pins of all servers; every method blocks, and may be called from any thread."""

    def __init__(
        self,
        file: Path,
        clock: Clock = time.time,
        lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
    ) -> None:
        """Touch nothing yet; `clock` dates the names of damaged files."""
        self._file = file
        self._clock = clock
        self._lock_timeout_seconds = lock_timeout_seconds
        self._pins: Pins = {}
        self._unsaved: Pins = {}
        self._said_unsaved = False
        self._warnings: list[str] = []
        self._guard = threading.Lock()

    def known(self, key: str, choose: ChoosePins) -> Mapping[str, Pin]:
        """All pins of one server, after adding those that `choose` wants added."""
        with self._guard:
            try:
                self._merge(self._read())
            except OSError as error:
                self._say_unsaved(error)
            if choose(self._of(key)):
                self._write(key, choose)
            return self._of(key)

    def put(self, key: str, choose: ChoosePins) -> None:
        """Add or replace the pins that `choose` gives."""
        with self._guard:
            self._write(key, choose)

    def warnings(self) -> list[str]:
        """What the user should hear of the file; each once."""
        with self._guard:
            told, self._warnings = self._warnings, []
        return told

    def _write(self, key: str, choose: ChoosePins) -> None:
        """Put what `choose` wants into file and memory, or only into memory.

        What could not be written goes into the file with the next write that works.
        """
        chosen: dict[str, Pin] | None = None
        try:
            with folder_locked(self._file, self._lock_timeout_seconds):
                self._merge(self._read_or_set_aside())
                chosen = choose(self._of(key))  # anew: another process may have been faster
                self._save({**self._pins, key: {**self._of(key), **chosen}})
            self._unsaved = {}
        except OSError as error:
            self._say_unsaved(error)
            if chosen is None:
                chosen = choose(self._of(key))
            self._unsaved[key] = {**self._unsaved.get(key, {}), **chosen}
        self._pins[key] = {**self._of(key), **chosen}

    def _of(self, key: str) -> dict[str, Pin]:
        return self._pins.get(key, {})

    def _merge(self, stored: Pins) -> None:
        """Take in what the file says; what could not be written to it counts for more."""
        for pins in (stored, self._unsaved):
            for key, tools in pins.items():
                self._pins[key] = {**self._of(key), **tools}

    def _read(self) -> Pins:
        """What the file says; a damaged one is set aside first."""
        try:
            return _parsed(self._file)
        except ValueError:
            with folder_locked(self._file, self._lock_timeout_seconds):
                return self._read_or_set_aside()

    def _read_or_set_aside(self) -> Pins:
        """Read under the lock: what another process has repaired meanwhile is not damaged."""
        try:
            return _parsed(self._file)
        except ValueError as problem:
            aside = reserve_damaged_name(self._file, self._clock())
            self._file.replace(aside)
            self._warnings.append(
                f"the record of tool definitions, {self._file}, can't be used ({problem}); it is "
                f"set aside as {aside.name}. Tools that have changed since can't be told: look "
                "at what they say now (`mcp tools`)"
            )
            return {}

    def _save(self, pins: Pins) -> None:
        data = _to_json(pins)
        if len(data) > FILE_BYTES_MAX:
            raise OSError(errno.EFBIG, f"it would have over {FILE_BYTES_MAX:,} bytes")
        write_atomically(self._file, data)

    def _say_unsaved(self, error: OSError) -> None:
        if self._said_unsaved:
            return
        self._said_unsaved = True
        self._warnings.append(
            f"tool definitions are not remembered, {self._file} can't be used: "
            f"{error.strerror or error}. Changes are noticed within this run only; set "
            "CORTEX_HOME to a folder that you can write to"
        )


def _parsed(file: Path) -> Pins:
    """What the file says; nothing where there is none.

    Raises:
        ValueError: it is damaged; the text says how.
        OSError: it can't be read.
    """
    try:
        data = read_regular(file, FILE_BYTES_MAX)
    except FileNotFoundError:
        return {}
    try:
        content: Json = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    match content:
        case {"format": int(number), "servers": dict() as servers} if number == FILE_FORMAT:
            entries = cast("JsonObject", servers).items()
            return {server: _tools(tools) for server, tools in entries}
        case {"format": int(number)} if number != FILE_FORMAT:
            raise ValueError(f"it has format {number}, this version knows {FILE_FORMAT}")
        case _:
            raise ValueError("it is of another form")


def _tools(value: Json) -> dict[str, Pin]:
    if not isinstance(value, dict):
        raise ValueError("it is of another form")
    return {name: _pin(name, entry) for name, entry in value.items()}


def _pin(name: str, value: Json) -> Pin:
    match value:
        case {"sha256": str(sha256), "definition": str(text)}:
            return Pin(sha256, text)
        case _:
            raise ValueError(f"what it says of tool {name[:100]!r} is incomplete")


def _to_json(pins: Pins) -> bytes:
    servers = {
        server: {
            name: {"sha256": pin.sha256, "definition": pin.text} for name, pin in tools.items()
        }
        for server, tools in pins.items()
    }
    return json.dumps({"format": FILE_FORMAT, "servers": servers}, indent=1).encode()
