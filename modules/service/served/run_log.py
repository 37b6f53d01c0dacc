"""The file of a run's events: so that a run can be read after its process is gone.

The first line says whose run it is, then comes one event a line, written as they come. A line that
a killed process left half written is no event. What is written outlives the process, not a crash of
the machine: nothing waits for the disk. The process that answers holds a lock on the file, so that
others can tell a run that goes on from one that was interrupted.
"""

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.files import make_private_folder, open_private, read_regular, try_lock
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import counted
from core.values import Json, JsonObject
from modules.service.served.events import CHUNK, ServiceEvent, as_kept

RUNS_FOLDER: Final = "runs"
"""Under the user's home."""

RUNS_KEPT: Final = 500
"""Older files go when a new run begins."""

RUNS_BYTES_KEPT: Final = 512 * 1024 * 1024
"""So do the oldest of files that take more together."""

LOG_BYTES_MAX: Final = 128 * 1024 * 1024
"""A larger file is not read. All events of a run take less, see `RUN_CHARACTERS_MAX`."""

SUFFIX: Final = ".jsonl"

_FORMAT: Final = 1


@frozen
class RunFacts:
    """What is known of a run before its first event."""

    conversation_id: str = ""
    profile: str = ""
    trace_id: str = ""


@frozen
class KeptRun:
    """A run as its file tells it.

    Attributes:
        facts: what was known at its beginning.
        events: those that were kept, with ids from 1 on.
        is_going_on: another process answers it just now.
    """

    facts: RunFacts
    events: list[ServiceEvent]
    is_going_on: bool


class RunLog:
    """Appends events to the file of a run; a disk that refuses costs the file, not the run."""

    def __init__(self, home: Path, run_id: str, facts: RunFacts, redactor: Redactor) -> None:
        """Make the file; the oldest of too many go. No secret gets into it."""
        self._redactor = redactor
        self._descriptor: int | None = None
        self._size_bytes = 0  # of what was written whole
        self._is_refused = False
        self._answer = ""  # as far as it was told
        folder = home / RUNS_FOLDER
        with contextlib.suppress(OSError):
            make_private_folder(folder)
            _leave_newest(folder)
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._descriptor = open_private(log_file(home, run_id), flags)
            try_lock(self._descriptor)  # nobody else knows the id
            head: JsonObject = {"format": _FORMAT, "conversation_id": facts.conversation_id}
            self._append({**head, "profile": facts.profile, "trace_id": facts.trace_id})

    def write(self, event: ServiceEvent, *, is_last: bool = False) -> int:
        """Append an event; how many characters it takes. The last one closes the file.

        Where the disk has refused one before, only the last is tried.
        """
        kept = as_kept(self._with_whole_answer(event), self._redactor)
        entry: list[Json] = [kept.id, kept.name, kept.data]
        characters = self._append(entry, is_tried=not self._is_refused or is_last)
        if is_last:
            self.close()
        return characters

    def _with_whole_answer(self, event: ServiceEvent) -> ServiceEvent:
        """The last piece with all of the answer, the others without: half a secret looks like none.

        Any other event is as it was.
        """
        match event.data if event.name == CHUNK else {}:
            case {"content": str(content)} as piece:
                before = "" if piece.get("restart") else self._answer
                self._answer = before + content
                if piece.get("more"):
                    return replace(event, data={**piece, "content": ""})
                told: JsonObject = {"content": self._answer, "restart": True} if before else {}
                return replace(event, data={**piece, **told})
            case _:
                return event

    def close(self) -> None:
        """Write no more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, entry: Json, *, is_tried: bool = True) -> int:
        line = json.dumps(entry, ensure_ascii=False)
        if self._descriptor is None or not is_tried:
            return len(line)
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            written = -1
        if written == len(data):
            self._size_bytes += written
        else:
            self._is_refused = True
            with contextlib.suppress(OSError):  # a half line would spoil the next
                os.ftruncate(self._descriptor, self._size_bytes)
        return len(line)


def log_file(home: Path, run_id: str) -> Path:
    """Where the events of a run are."""
    return home / RUNS_FOLDER / f"{run_id}{SUFFIX}"


def read_log(home: Path, run_id: str) -> KeptRun | None:
    """A run that some process has answered, or answers; None where there is no such run.

    Blocks for a moment.
    """
    path = log_file(home, run_id)
    try:
        is_going_on = _is_locked(path)  # before it is read: what has ended by now is whole
        data = read_regular(path, LOG_BYTES_MAX)
    except (OSError, ValueError):
        return None
    facts, events = RunFacts(), list[ServiceEvent]()
    for number, line in enumerate(data.split(b"\n")):
        match _read(line):
            case dict() as head if not number:
                facts = _facts(head)
            case [int(id_), str(name), dict() as fields]:
                if missing := id_ - 1 - len(events):
                    events.append(_notice_of_lost(missing, len(events) + 1, fields))
                events.append(ServiceEvent(len(events) + 1, name, fields))
            case _:
                break
    return KeptRun(facts, events, is_going_on)


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return not try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _read(line: bytes) -> Json:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _facts(head: JsonObject) -> RunFacts:
    found = (head.get(name) for name in ("conversation_id", "profile", "trace_id"))
    return RunFacts(*(each if isinstance(each, str) else "" for each in found))


def _notice_of_lost(missing: int, id_: int, next_: JsonObject) -> ServiceEvent:
    """What stands for events that the disk has refused."""
    text = f"{counted(missing, 'event')} could not be kept: the disk was full, or failed"
    where = {name: next_[name] for name in ("run", "at") if name in next_}
    return ServiceEvent(id_, "notice", {"type": "notice", **where, "source": "run", "text": text})


def _leave_newest(folder: Path) -> None:
    """Delete the oldest files of too many, or of files that are too large together."""
    found: list[tuple[float, int, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):  # another process has just deleted it
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.path))
    left_bytes = RUNS_BYTES_KEPT
    for number, (_, size, path) in enumerate(sorted(found, reverse=True), 1):
        left_bytes -= size
        if number >= RUNS_KEPT or left_bytes < 0:
            with contextlib.suppress(OSError):
                Path(path).unlink()
