"""Folders and files of this user alone, made so that they survive a power failure."""

import os
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
