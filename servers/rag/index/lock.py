"""Which of several servers on one index writes to it.

A lock of the operating system (`flock`) on a small file beside the index: it is gone at the moment
when its holder is, however that ended, so another can take over. The holder's process id stands in
the file, for people. On a file system without locks everyone holds it; SQLite then still keeps
each transaction whole.
"""

import os
import threading
from pathlib import Path

from core.base.files import make_private_folder, open_private, try_lock
from servers.rag.errors import IndexUnusable
from servers.rag.index.index import Index

LOCK_FILE = "index.lock"

_PID_CHARACTERS_MAX = 20


class IndexLock:
    """The right to write to the index in a folder; not for use by several threads at once."""

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._path = folder / LOCK_FILE
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._descriptor is not None

    @property
    def holder(self) -> int | None:
        """The process that holds it, as it says itself, or held it last; None if none ever did."""
        try:
            return int(self._path.read_text(encoding="ascii")[:_PID_CHARACTERS_MAX])
        except (OSError, ValueError):
            return None

    def acquire(self) -> bool:
        """Take the lock if nobody else has it; at once, without waiting.

        Raises:
            IndexUnusable: the lock's file can't be made.
        """
        if self._descriptor is not None:
            return True
        try:
            make_private_folder(self._path.parent)
            descriptor = open_private(self._path, os.O_RDWR)
        except OSError as error:
            raise IndexUnusable(
                f"the folder {self._path.parent} can't be written ({error.strerror}); "
                "the index needs one that can"
            ) from error
        if not try_lock(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        _write_own_pid(descriptor)
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens without it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class WriterRole:
    """The right to write, taken when it is free; threads may ask for it at the same time."""

    def __init__(self, index: Index, lock: IndexLock) -> None:
        self._index = index
        self._lock = lock
        self._taking = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this process writes."""
        return self._lock.held

    @property
    def other_holder(self) -> int | None:
        """The process that writes, or did last, if it isn't this one."""
        return self._lock.holder

    def take(self) -> bool:
        """Become the writer if no other process is; at once.

        Raises:
            IndexUnusable: the index can't be written.
        """
        with self._taking:
            if self._lock.held:
                return True
            if not self._lock.acquire():
                return False
            try:
                self._index.begin_writing()
            except BaseException:
                self._lock.release()
                raise
            return True

    def require(self) -> None:
        """Become the writer.

        Raises:
            IndexUnusable: another process is; the message tells which.
        """
        if not self.take():
            raise IndexUnusable(
                f"another process ({self.other_holder or 'of unknown number'}) keeps this index up "
                "to date, an agent or `docs watch`: it takes up changed files by itself; for more "
                "than that, end it first"
            )

    def release(self) -> None:
        """Let another process write."""
        with self._taking:
            self._lock.release()


def _write_own_pid(descriptor: int) -> None:
    """For people only; on a full disk the lock holds without it."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError:
        return
