"""The file of a run's events: so that a run can be read after its process is gone.

One event a line, written as they come; a line that a killed process left half written is no event.
"""

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.base.files import make_private_folder, open_private, read_regular
from core.values import Json
from modules.service.events import ServiceEvent

RUNS_FOLDER: Final = "runs"
"""Under the user's home."""

RUNS_KEPT: Final = 500
"""Older files go when a new run begins."""

LOG_BYTES_MAX: Final = 64 * 1024 * 1024


class RunLog:
    """Appends events to the file of a run; a disk that refuses costs the file, not the run."""

    def __init__(self, home: Path, run_id: str) -> None:
        """Make the file; the oldest of too many go."""
        self._descriptor: int | None = None
        folder = home / RUNS_FOLDER
        with contextlib.suppress(OSError):
            make_private_folder(folder)
            _leave_newest(folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._descriptor = open_private(log_file(home, run_id), flags)

    def write(self, event: ServiceEvent) -> None:
        """Append an event."""
        if self._descriptor is None:
            return
        line = json.dumps([event.id, event.name, event.data], ensure_ascii=False) + "\n"
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            self.close()

    def close(self) -> None:
        """Write no more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def log_file(home: Path, run_id: str) -> Path:
    """Where the events of a run are."""
    return home / RUNS_FOLDER / f"{run_id}.jsonl"


def read_log(home: Path, run_id: str) -> list[ServiceEvent] | None:
    """The events of a run that some process has answered; None where there is no such run."""
    try:
        data = read_regular(log_file(home, run_id), LOG_BYTES_MAX)
    except (OSError, ValueError):
        return None
    events: list[ServiceEvent] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if (event := _event(line)) is None:
            break
        events.append(event)
    return events


def _event(line: str) -> ServiceEvent | None:
    try:
        read: Json = json.loads(line)
        match read:
            case [int(id_), str(name), dict() as data]:
                return ServiceEvent(id_, name, data)
            case _:
                return None
    except (ValueError, RecursionError):
        return None


def _leave_newest(folder: Path) -> None:
    files: Sequence[Path] = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    for path in files[: max(0, len(files) - RUNS_KEPT + 1)]:
        with contextlib.suppress(OSError):
            path.unlink()
