"""The items of one session: what was asked, called and answered."""

import itertools
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.text import sentence
from core.errors import StorageError
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import JsonObject
from modules.session.file import MAX_FILE_BYTES, MemoryFile, Sync
from modules.session.ids import Structure, session_path
from modules.session.records import MemoryRecord, shorten

_TEXT_CHARS: Final = 500


class MemoryManager:
    """The items of one session, kept in its file, which is read by `load` alone.

    Items that could not be written stay in memory and are written with the next one that can.
    After `stop_writing` they wait for the next `load` that works, which a request begins with.
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
        clock: Clock = time.time,
        sync: Sync = "item",
        is_new: bool = False,
    ) -> None:
        """Only remember where things go; `enabled=False` keeps items in this process alone.

        Nobody asked for a session that `is_new`: where it can't be read, that is only told.

        Raises:
            UsageError: the session id is not of a known form.
        """
        self.session_id = session_id
        path = session_path(session_id, memory_dir, structure)
        self._file = MemoryFile(path, max_file_bytes, clock, sync=sync)
        self._enabled = enabled
        self._is_new = is_new
        self._is_stopped = False
        self._trouble = ""  # why nothing is written for now, as it was told
        self._clock = clock
        self._mutex = threading.Lock()

    @property
    def path(self) -> Path:
        """The session's file, whether it exists yet or not."""
        return self._file.path

    @property
    def is_kept(self) -> bool:
        """Whether there are items, and writing them is neither disabled nor given up."""
        return self._is_written and bool(self._file.records)

    def get_session_items(self) -> list[MemoryItem]:
        """All items of the session, oldest first; a new list each time."""
        return [record.item for record in self._file.records]

    def load(self) -> None:
        """Read the file, again if need be; what other processes wrote is then there too.

        A damaged file is set aside under another name, with a warning; items of it that can be
        read are kept. No file means no items.

        Raises:
            StorageError: the file can't be read, or is damaged and can't be set aside. A session
                that has begun goes on without its file, with a warning.
        """
        if not self._enabled:
            return
        with self._mutex:
            try:
                self._file.load()
            except StorageError as error:
                if not self._is_new and not self._file.records:
                    raise
                self.stop_writing(error)
                return
            self._is_stopped = False

    def save(self) -> None:
        """Write all items, after taking in what other processes wrote.

        Raises:
            StorageError: the folder is read-only or full, or the session too large.
        """
        with self._mutex:
            self._save()

    def add(self, item: MemoryItem) -> None:
        """Keep an item; when this returns it is on the disk, as far as `sync` waits for that.

        Raises:
            StorageError: as `save`; the item stays in memory all the same.
        """
        record = MemoryRecord.of(item)
        with self._mutex:
            self._file.records.append(record)
            self._save()

    def flush(self) -> None:
        """Wait until all that was written is on the disk, with `sync="run"`: a run has ended.

        Raises:
            StorageError: the disk fails.
        """
        if self._is_written:
            with self._mutex:
                self._file.flush()

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
            for item in reversed(self.get_session_items())
            if item.type == "tool_output" and item.success and item.tool_name != SANDBOX_STEP
        )
        unique = dict.fromkeys(name for name in names if name)
        return list(itertools.islice(unique, max(limit, 0)))

    def stop_writing(self, error: StorageError) -> None:
        """From now on keep items in this process only, until a `load` works; warns of it once."""
        trouble = f"{sentence(str(error))} This session goes on without being kept."
        if trouble != self._trouble:
            self._file.warnings.append(trouble)
        self._is_stopped, self._trouble = True, trouble

    def take_warnings(self) -> list[str]:
        """The warnings so far; they are then forgotten."""
        taken, self._file.warnings = self._file.warnings, []
        return taken

    @property
    def _is_written(self) -> bool:
        return self._enabled and not self._is_stopped

    def _save(self) -> None:
        if not self._is_written:
            return
        self._file.save()
        if self._trouble:
            self._file.warnings.append(f"session memory {self.path} is kept again, as a whole")
            self._trouble = ""
