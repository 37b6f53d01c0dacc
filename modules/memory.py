"""Session memory: what was asked, called and answered; `modules.session.file` keeps it on disk."""

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import TypeAdapter, ValidationError

from core.errors import UsageError
from core.turn import SANDBOX_STEP, USAGE, Exchange, MemoryItem, Usage
from core.values import JsonObject
from modules.session.file import MAX_FILE_BYTES, MemoryFile, MemoryRecord, shorten

__all__ = [
    "MemoryItem",
    "MemoryManager",
    "check_session_id",
    "exchanges",
    "new_session_id",
    "session_path",
    "usage_of",
]

Structure: TypeAlias = Literal["date", "flat"]

MAX_USAGE = 10**15
"""More than this of calls, tokens or dollars in one run is no figure of ours."""

_TEXT_CHARS = 500
_SESSION_ID = re.compile(
    r"[0-9]{4}/(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/session-[0-9]{1,12}-[A-Za-z0-9]{6}"
    r"|[A-Za-z0-9_-]{1,100}"
)


def new_session_id(now: datetime, uid: str) -> str:
    """`YYYY/MM/DD/session-{unix seconds}-{first six characters of uid}`.

    Raises:
        UsageError: `uid` has fewer than six letters or digits.
    """
    day = f"{now.year:04}/{now.month:02}/{now.day:02}"
    return check_session_id(f"{day}/session-{int(now.timestamp())}-{uid[:6]}")


def check_session_id(session_id: str) -> str:
    """The same id, if it is of a form that can't leave the memory folder.

    Raises:
        UsageError: it is neither the documented form nor a plain name.
    """
    if _SESSION_ID.fullmatch(session_id) is None:
        raise UsageError(
            f"--session {shorten(repr(session_id), 120)} is not a session id: give "
            "YYYY/MM/DD/session-<unix time>-<6 letters or digits>, as a run reports it, or a "
            "plain name of up to 100 letters, digits, '_' and '-'"
        )
    return session_id


def session_path(session_id: str, memory_dir: str | Path, structure: Structure = "date") -> Path:
    """The file of a session: `<memory_dir>/<id>.json`; `flat` leaves the date folders out.

    Raises:
        UsageError: see `check_session_id`.
    """
    checked = check_session_id(session_id)
    name = checked if structure == "date" else checked.rpartition("/")[2]
    return Path(memory_dir) / f"{name}.json"


class MemoryManager:
    """The items of one session, kept in its file; `load` is explicit (or use `open`).

    Items that could not be written stay in memory and are written with the next one that can.
    Methods may be called from several threads; all but the readers wait for the disk.
    """

    def __init__(
        self,
        session_id: str,
        memory_dir: str | Path = "memory",
        *,
        enabled: bool = True,
        structure: Structure = "date",
        max_file_bytes: int = MAX_FILE_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Only remember where things go; `enabled=False` keeps items in this process alone.

        Raises:
            UsageError: the session id is not of a known form.
        """
        self.session_id = session_id
        path = session_path(session_id, memory_dir, structure)
        self._file = MemoryFile(path, max_file_bytes, clock)
        self._enabled = enabled
        self._clock = clock
        self._mutex = threading.Lock()

    @classmethod
    def open(
        cls,
        session_id: str,
        memory_dir: str | Path = "memory",
        *,
        enabled: bool = True,
        structure: Structure = "date",
    ) -> Self:
        """A manager with the session's file loaded.

        Raises:
            UsageError: the session id is not of a known form.
            StorageError: see `load`.
        """
        memory = cls(session_id, memory_dir, enabled=enabled, structure=structure)
        memory.load()
        return memory

    @property
    def path(self) -> Path:
        """The session's file, whether it exists yet or not."""
        return self._file.path

    @property
    def is_kept(self) -> bool:
        """Whether there are items, and writing them is neither disabled nor given up."""
        return self._enabled and bool(self._file.records)

    @property
    def warnings(self) -> list[str]:
        """What the user should know about the file, such as that it was damaged."""
        return list(self._file.warnings)

    @property
    def items(self) -> list[MemoryItem]:
        """All items of the session, oldest first; a new list each time."""
        return [record.item for record in self._file.records]

    def get_session_items(self) -> list[MemoryItem]:
        """All items of the session, oldest first."""
        return self.items

    def load(self) -> None:
        """Read the file, again if need be; what other processes wrote is then there too.

        A damaged file is set aside under another name, with a warning; items of it that can be
        read are kept. No file means no items.

        Raises:
            StorageError: the file can't be read, or is damaged and can't be set aside.
        """
        if self._enabled:
            with self._mutex:
                self._file.load()

    def save(self) -> None:
        """Write all items, after taking in what other processes wrote.

        Raises:
            StorageError: the folder is read-only or full, or the session too large.
        """
        with self._mutex:
            self._save()

    def add(self, item: MemoryItem) -> None:
        """Keep an item; when this returns it is on the disk (unless memory is disabled).

        Raises:
            StorageError: as `save`; the item stays in memory all the same.
        """
        record = MemoryRecord.of(item)
        with self._mutex:
            self._file.records.append(record)
            self._save()

    def add_tool_call(
        self, tool_name: str, tool_args: JsonObject, tags: Sequence[str] | None = None
    ) -> None:
        """Keep that a tool is being called.

        Raises:
            StorageError: as `add`.
        """
        self.add(
            MemoryItem(
                timestamp=self._clock(),
                type="tool_call",
                text=shorten(f"Called {tool_name} with {tool_args}", _TEXT_CHARS),
                tool_name=tool_name,
                tool_args=tool_args,
                tags=list(tags or ()),
                session_id=self.session_id,
            )
        )

    def add_tool_output(
        self,
        tool_name: str,
        tool_args: JsonObject,
        tool_result: JsonObject,
        success: bool,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Keep what a tool answered, or how it failed.

        Raises:
            StorageError: as `add`.
        """
        self.add(
            MemoryItem(
                timestamp=self._clock(),
                type="tool_output",
                text=shorten(f"Output of {tool_name}: {tool_result}", _TEXT_CHARS),
                tool_name=tool_name,
                tool_args=tool_args,
                tool_result=tool_result,
                success=success,
                tags=list(tags or ()),
                session_id=self.session_id,
            )
        )

    def find_recent_successes(self, limit: int = 5) -> list[str]:
        """Names of tools that worked in this session, newest first, each once."""
        names = (
            item.tool_name
            for item in reversed(self.items)
            if item.type == "tool_output" and item.success and item.tool_name != SANDBOX_STEP
        )
        unique = dict.fromkeys(name for name in names if name)
        return list(itertools.islice(unique, max(limit, 0)))

    def stop_writing(self) -> None:
        """From now on keep items in this process only, as with `enabled=False`."""
        self._enabled = False

    def take_warnings(self) -> list[str]:
        """The warnings so far; they are then forgotten."""
        taken, self._file.warnings = self._file.warnings, []
        return taken

    def _save(self) -> None:
        if self._enabled:
            self._file.save()


def exchanges(items: Iterable[MemoryItem]) -> tuple[Exchange, ...]:
    """The session's earlier requests with their answers, in the order in which they were asked.

    A `final_answer` item answers the request that it names (`user_query`), else the last one
    before it.
    """
    found: list[Exchange] = []
    open_places: dict[str, int] = {}  # of requests without an answer
    for item in items:
        if item.type == "run_metadata" and item.user_query is not None:
            open_places[item.user_query] = len(found)
            found.append(Exchange(item.user_query, None))
        elif item.type == "final_answer" and item.final_answer is not None:
            asked = item.user_query
            if asked is None and found and found[-1].answer is None:
                asked = found[-1].request
            if asked in open_places:
                found[open_places.pop(asked)] = Exchange(asked, item.final_answer)
            elif asked is not None:
                found.append(Exchange(asked, item.final_answer))
    return tuple(found)


def usage_of(items: Iterable[MemoryItem]) -> dict[str, Usage]:
    """What the session's runs have used, by the names of models; what can't be read counts none."""
    used: dict[str, Usage] = {}
    for item in items:
        if item.type != "run_metadata" or USAGE not in item.metadata:
            continue
        try:
            by_model = _usage_reader().validate_python(item.metadata[USAGE])
        except ValidationError:
            continue
        for name, usage in by_model.items():
            if all(0 <= figure <= MAX_USAGE for figure in astuple(usage)):
                used[name] = used.get(name, Usage()) + usage
    return used


@dataclass(frozen=True, slots=True)
class Activity:
    """What a session has done, whichever model planned it; times are seconds.

    `seconds` are those of plans: writing them, and running them with their calls.
    """

    requests: int = 0
    plans: int = 0
    seconds: float = 0.0
    calls: int = 0
    call_seconds: float = 0.0


def activity_of(items: Iterable[MemoryItem]) -> Activity:
    """The session's requests, plans and calls that were sent, and the time that they took."""
    done = Activity()
    for item in items:
        if item.type == "run_metadata" and "start_time" in item.metadata:
            done = replace(done, requests=done.requests + 1)
        if item.type != "tool_output" or "kept" in item.metadata or "refused" in item.metadata:
            continue
        seconds = _seconds(item)
        if item.tool_name == SANDBOX_STEP:
            done = replace(done, plans=done.plans + 1, seconds=done.seconds + seconds)
        else:
            total = done.call_seconds + seconds
            done = replace(done, calls=done.calls + 1, call_seconds=total)
    return done


def _seconds(item: MemoryItem) -> float:
    seconds = item.metadata.get("seconds")
    if isinstance(seconds, int | float) and 0 <= seconds <= MAX_USAGE:
        return float(seconds)
    return 0.0


@cache
def _usage_reader() -> TypeAdapter[dict[str, Usage]]:
    return TypeAdapter(dict[str, Usage])
