"""What a file was when it was read: its hash, and whether it has changed since.

A file that is written while it is read shows by other times, another size or another inode
afterwards. One that was written just before might be written again within the same tick of the
file system's clock, unseen: like Git, we then keep a time that can't be right, so that the next
comparison looks at the content.
"""

import hashlib
import os
import stat
import time
from dataclasses import dataclass

YOUNG_NS = 2_000_000_000
"""Younger files may change unseen: the coarsest clock in use (FAT's) ticks every two seconds."""

DOUBTFUL_BY_NS = 1
"""How far a time that is not to be trusted is put back; nobody sees the difference."""

_BLOCK_BYTES = 1 << 20


class NotReadable(Exception):
    """A file can't be opened now, with the reason in a few words."""


class Vanished(Exception):
    """A file is no longer there."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's content, by hash, and the signs by which a change of it shows."""

    content_hash: str
    size_bytes: int
    modified_ns: int
    device: int
    inode: int

    def still_holds(self, path: str) -> bool:
        """Whether the file looks as it did when it was read."""
        try:
            about = os.lstat(path)
        except OSError:
            return False
        return (about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino) == (
            self.size_bytes,
            self.modified_ns,
            self.device,
            self.inode,
        )

    @property
    def trusted_modified_ns(self) -> int:
        """The time to remember: a slightly wrong one for a file that was written just now."""
        young = abs(time.time_ns() - self.modified_ns) < YOUNG_NS
        return self.modified_ns - DOUBTFUL_BY_NS if young else self.modified_ns


def read_hash(path: str, bytes_max: int) -> Reading:
    """Hash a file without waiting for a pipe, and without following a link put in its place.

    Raises:
        Vanished: it is not there any more.
        NotReadable: no permission, a broken disk, no file, or more than `bytes_max`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise Vanished from None
    except OSError as error:
        raise NotReadable(error.strerror or type(error).__name__) from None
    with os.fdopen(handle, "rb", buffering=0) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise NotReadable("not a file but a pipe, socket or device")
        digest = hashlib.sha256()
        left = bytes_max
        try:
            while block := file.read(_BLOCK_BYTES):
                left -= len(block)
                if left < 0:
                    raise NotReadable("it grows while it is read")
                digest.update(block)
        except OSError as error:
            raise NotReadable(error.strerror or type(error).__name__) from None
    return Reading(digest.hexdigest(), about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino)
