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


class WriterLock:
    """The right to write to the index in a folder; threads may ask for it at the same time."""

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._path = folder / LOCK_FILE
        self._descriptor: int | None = None
        self._taking = threading.RLock()

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
        with self._taking:
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

    def take(self, index: Index) -> bool:
        """Become the one that writes to an open index, if no other process is; at once.

        Raises:
            IndexUnusable: the index can't be written.
        """
        with self._taking:
            if self.held:
                return True
            if not self.acquire():
                return False
            try:
                index.begin_writing()
            except BaseException:
                self.release()
                raise
            return True

    def require(self, index: Index) -> None:
        """The same.

        Raises:
            IndexUnusable: another process writes; the message tells which.
        """
        if not self.take(index):
            raise IndexUnusable(
                f"another process ({self.holder or 'of unknown number'}) keeps this index up "
                "to date, an agent or `docs watch`: it takes up changed files by itself; for more "
                "than that, end it first"
            )

    def release(self) -> None:
        """Give the lock back; nothing happens without it."""
        with self._taking:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


def _write_own_pid(descriptor: int) -> None:
    """For people only; on a full disk the lock holds without it."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError:
        return
