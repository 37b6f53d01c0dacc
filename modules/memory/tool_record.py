"""How the calls of each tool went, told from the items of sessions."""

import logging
import math
import os
import stat
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import one_line
from core.errors import StorageError
from core.tools.record import ToolRecord
from core.turn import SANDBOX_STEP, MemoryItem
from modules.session.history import seconds_of
from modules.session.ids import Structure, newest_sessions, session_path
from modules.session.records import FORMAT, format_of, parse_array, whole_bytes

READING_SECONDS: Final = 0.1
"""How long the newest sessions are read for while a plan is waited for."""

READ_BYTES: Final = 512 * 1024
"""How much of a session is read then, from its end: reading it holds up the event loop."""

NEWEST_CALLS: Final = 20
"""How many calls of a tool count then: what it did long ago says little of today."""

FAILURE_CHARACTERS: Final = 500
"""How much is kept of the error of a call."""

NAME_CHARACTERS: Final = 200
"""The longest name of a tool, its server included, that is told apart from others."""

_ITEM_START: Final = b"\n  {"
_log = logging.getLogger(__name__)


@frozen
class _Call:
    at: float
    worked: bool
    seconds: float | None
    error: str


class ToolCalls:
    """The calls of tools that were sent, collected from items in any order."""

    def __init__(self) -> None:
        """No call yet."""
        self._calls: dict[str, list[_Call]] = {}

    def add(self, items: Iterable[MemoryItem]) -> None:
        """Count the calls among a session's items.

        Whole plans are none, and neither are calls whose result was kept from before or that were
        refused here: they tell nothing of the tool.
        """
        for item in items:
            if item.type != "tool_output" or item.success is None or not item.tool_name:
                continue
            told = item.metadata
            if item.tool_name == SANDBOX_STEP or "kept" in told or "refused" in told:
                continue
            self._calls.setdefault(_qualified(item), []).append(_call(item))

    def records(self, newest: int | None = None) -> dict[str, ToolRecord]:
        """A record for each tool by its qualified name, of its so many newest calls."""
        return {
            tool: _record(tool, sorted(calls, key=lambda call: -call.at)[:newest])
            for tool, calls in self._calls.items()
        }


def newest_tool_records(
    folder: Path,
    structure: Structure,
    seconds: float = READING_SECONDS,
    clock: Clock = time.monotonic,
) -> dict[str, ToolRecord]:
    """Records of the newest calls in a profile's newest sessions; a session that began is read.

    What can't be read is left out: `agent.py stats` says of it.
    """
    ends, calls = clock() + seconds, ToolCalls()
    try:
        for session_id in newest_sessions(folder, structure):
            if clock() >= ends:
                break
            try:
                calls.add(newest_items(session_path(session_id, folder, structure), READ_BYTES))
            except StorageError as error:
                _log.debug("session %s tells nothing of tools: %s", session_id, error)
    except OSError as error:
        _log.debug("sessions tell nothing of tools: %s", error)
    return calls.records(NEWEST_CALLS)


def newest_items(path: Path, bytes_max: int) -> list[MemoryItem]:
    """The last items of a session that so many bytes hold; its file stays as it is.

    Raises:
        StorageError: it can't be read, or is damaged. A write that was interrupted is no damage.
    """
    try:
        data, is_cut = _end_of(path, bytes_max)
    except OSError as error:
        raise StorageError(error.strerror or str(error)) from error
    if is_cut:
        if (start := data.find(_ITEM_START)) < 0:
            raise StorageError(f"it has over {bytes_max:,} bytes, and no item can be told")
        data = b"[" + data[start:]
    elif format_of(data) > FORMAT:
        raise StorageError("it was written by a later version")
    records, problem = parse_array(data)
    if problem is not None and not whole_bytes(data, records):
        raise StorageError(f"it is damaged ({problem})")
    return [record.item for record in records]


def _end_of(path: Path, bytes_max: int) -> tuple[bytes, bool]:
    """The last bytes of a regular file, and whether there are more before them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError("it is not a regular file")
        start = max(status.st_size - bytes_max, 0)
        return os.pread(descriptor, bytes_max, start), start > 0
    finally:
        os.close(descriptor)


def _qualified(item: MemoryItem) -> str:
    server = item.metadata.get("server")
    name = item.tool_name or ""
    return one_line(f"{server}.{name}" if isinstance(server, str) else name, NAME_CHARACTERS)


def _call(item: MemoryItem) -> _Call:
    error = "" if item.success else _error_text(item)
    at = item.timestamp if math.isfinite(item.timestamp) else 0.0
    return _Call(at, bool(item.success), seconds_of(item), error)


def _error_text(item: MemoryItem) -> str:
    """How the error begins, without the tool's own name."""
    told = (item.tool_result or {}).get("result")
    text = told if isinstance(told, str) else ""
    return text.removeprefix(f"{item.tool_name}: ")[:FAILURE_CHARACTERS]


def _record(tool: str, calls: list[_Call]) -> ToolRecord:
    """The record of a tool's calls, the newest first."""
    seconds = sorted(call.seconds for call in calls if call.seconds is not None)
    last = next((call for call in calls if not call.worked), None)
    return ToolRecord(
        tool,
        len(calls),
        sum(call.worked for call in calls),
        statistics.median(seconds) if seconds else None,
        seconds[math.ceil(0.95 * len(seconds)) - 1] if seconds else None,
        max((call.at for call in calls), default=0.0),
        "" if last is None else last.error.strip() or "an error without words",
    )
