"""Replaces a file's text as a whole: a reader, or a crash, sees the old text or the new one."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from config.folder_lock import lock_folder
from core.base.private_files import PRIVATE_FILE_MODE, make_private_folder

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
