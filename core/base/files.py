"""Folders and files of this user alone, replaced as a whole, with one writer at a time."""

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIVATE_FILE_MODE: Final = 0o600
"""What we keep holds requests, answers and what tools said: nobody else's business."""

PRIVATE_FOLDER_MODE: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Make the folder, and parents that are missing; one that is there keeps its mode.

    Raises:
        OSError: it can't be made, or something else has its name.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
    descriptor = os.open(folder.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_folder(descriptor)
    finally:
        os.close(descriptor)


def open_private(path: Path, flags: int) -> int:
    """A descriptor of the file, made if need be; nobody else can read it from now on.

    It never waits: opening a pipe that nobody reads is an error.

    Raises:
        OSError: it can't be opened that way.
    """
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, PRIVATE_FILE_MODE)
    with suppress(OSError):  # another user's file, or a file system without modes
        os.fchmod(descriptor, PRIVATE_FILE_MODE)
    return descriptor


def make_private_file(path: Path) -> None:
    """Make an empty file if there is none; from now on nobody else can read it.

    A file that is there is not opened: closing it would give back locks that this process holds.

    Raises:
        OSError: it can't be made.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))
    except FileExistsError:
        with suppress(OSError):
            if path.is_file() and path.stat().st_mode & 0o077:
                path.chmod(PRIVATE_FILE_MODE)


def sync_folder(folder: int) -> None:
    """Wait until the names in an open folder are on the disk, where its file system can."""
    with suppress(OSError):
        os.fsync(folder)


_POLL_SECONDS = 0.005


def lock_folder(descriptor: int, deadline: float) -> None:
    """Lock the open folder; closing the descriptor gives the lock back.

    `deadline` is in seconds of `time.monotonic`. A file system without locks gives none, silently:
    writers read before they write, and replace files as a whole.

    Raises:
        TimeoutError: another process holds it until the deadline.
    """
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds its folder") from None
            time.sleep(_POLL_SECONDS)
        except OSError:
            return
        else:
            return


LOCK_TIMEOUT_SECONDS = 5.0
"""How long a writer waits for another process that holds the folder."""


def write_atomically(path: Path, text: str) -> None:
    """Write `text` as UTF-8 in place of what `path` held.

    A link is followed and stays a link; the mode of a file that is there is kept.

    Raises:
        OSError: a folder or the file can't be written; the old text is untouched then.
        UnicodeEncodeError: the text holds half a character (a lone surrogate).
    """
    data = text.encode()
    target = path.resolve()
    make_private_folder(target.parent)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), _mode_of(target))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


@contextlib.contextmanager
def folder_locked(path: Path) -> Generator[None]:
    """Hold the folder of `path` (of what it links to), made if need be, against our other writers.

    Raises:
        OSError: the folder can't be made or read, or another process holds it for
            LOCK_TIMEOUT_SECONDS.
    """
    folder = path.resolve().parent
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock_folder(descriptor, time.monotonic() + LOCK_TIMEOUT_SECONDS)
        yield
    finally:
        os.close(descriptor)  # gives the lock back as well


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return PRIVATE_FILE_MODE
