"""What is known of tool definitions: the file that all processes share, and this one's memory.

Memory holds all that this process has seen, so that nobody takes a pin back by removing the file
while we run; and it stands in for the file where that can't be used.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from core.dispatch.pin_file import Pin, PinFile, Pins

ChoosePins: TypeAlias = Callable[[Mapping[str, Pin]], dict[str, Pin]]
"""Given the pins of a server that are known, by tool name: those to add or replace."""


class PinStore:
    """Pins of all servers; every method blocks, and may be called from any thread."""

    def __init__(self, file: Path) -> None:
        """Touch nothing yet."""
        self._file = PinFile(file)
        self._pins: Pins = {}
        self._unsaved: Pins = {}
        self._said_unsaved = False
        self._guard = threading.Lock()

    def known(self, key: str, choose: ChoosePins) -> Mapping[str, Pin]:
        """All pins of one server, after adding those that `choose` wants added."""
        with self._guard:
            try:
                self._merge(self._file.read())
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
            told, self._file.warnings = self._file.warnings, []
        return told

    def _write(self, key: str, choose: ChoosePins) -> None:
        """Put what `choose` wants into file and memory, or only into memory.

        What could not be written goes into the file with the next write that works.
        """
        chosen: dict[str, Pin] | None = None

        def put_in(pins: Pins) -> None:
            nonlocal chosen
            self._merge(pins)
            chosen = choose(self._of(key))  # anew: another process may have been faster
            pins.update(self._pins)
            pins[key] = {**self._of(key), **chosen}

        try:
            self._file.update(put_in)
            self._unsaved = {}
        except OSError as error:
            self._say_unsaved(error)
            if chosen is None:
                chosen = choose(self._of(key))
            self._unsaved[key] = {**self._unsaved.get(key, {}), **chosen}
        self._pins[key] = {**self._of(key), **(chosen or {})}

    def _of(self, key: str) -> dict[str, Pin]:
        return self._pins.get(key, {})

    def _merge(self, stored: Pins) -> None:
        """Take in what the file says; what could not be written to it counts for more."""
        for pins in (stored, self._unsaved):
            for key, tools in pins.items():
                self._pins[key] = {**self._of(key), **tools}

    def _say_unsaved(self, error: OSError) -> None:
        if self._said_unsaved:
            return
        self._said_unsaved = True
        self._file.warnings.append(
            f"tool definitions are not remembered, {self._file.path} can't be used: "
            f"{error.strerror or error}. Changes are noticed within this run only; set "
            "CORTEX_HOME to a folder that you can write to"
        )
