"""Which of several servers on one index writes to it.

A lock of the operating system (`flock`) on a small file beside the index: it is gone at the moment
when its holder is, however that ended, so another can take over. The holder's process id stands in
the file, for people. On a file system without locks everyone holds it; SQLite then still keeps
each transaction whole.
"""

import errno
import fcntl
import os
from pathlib import Path

from core.base.files import make_private_folder, open_private
from servers.rag.errors import IndexUnusable

LOCK_FILE = "index.lock"

_PID_CHARACTERS_MAX = 20
_NO_LOCKS_HERE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


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
        if not _locked(descriptor):
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


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE
    return True


def _write_own_pid(descriptor: int) -> None:
    """For people only; on a full disk the lock holds without it."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError:
        return
