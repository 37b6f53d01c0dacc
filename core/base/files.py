"""Folders and files of this user alone, replaced as a whole, with one writer at a time.

A file is written beside the old one, synced, and renamed over it: a reader, or a crash, sees the
old file or the new one. One writer at a time holds the folder's lock (`flock`), which is gone at
the moment when its holder is; no lock file is left behind. POSIX only.
"""

import errno
import fcntl
import itertools
import json
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.json_text import Json, JsonObject

PRIVATE_FILE_MODE: Final = 0o600
"""What we keep holds requests, answers and what tools said: nobody else's business."""

PRIVATE_FOLDER_MODE: Final = 0o700

DRAFT_SUFFIX: Final = ".tmp"
"""How the names of files end that are not yet renamed; a killed writer leaves one behind."""

DAMAGED: Final = "damaged-"
"""How the endings begin of the names under which damaged files are set aside."""

LOCK_TIMEOUT_SECONDS: Final = 5.0
"""How long a writer waits for another process that holds the folder."""

_POLL_SECONDS: Final = 0.005

_REMOVED_MAX: Final = 100
"""A folder that was removed so often in the midst is not made again."""

_FOLDER_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""Of a folder that is only passed through: reading it need not be allowed."""


class FileTooLarge(ValueError):
    """A file holds more than its reader takes; the text says of how much."""


def make_private_folder(folder: Path) -> None:
    """Make the folder, and parents that are missing; one that is there keeps its mode.

    Raises:
        OSError: it can't be made, or something else has its name.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER_MODE)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return  # another process made it just now
    if stat.S_IMODE(folder.stat().st_mode) != PRIVATE_FOLDER_MODE:  # by the umask
        folder.chmod(PRIVATE_FOLDER_MODE)
    _sync(folder.parent)


def open_private(path: Path, flags: int) -> int:
    """A descriptor of the file, made if need be; nobody else can read it from now on.

    It never waits: opening a pipe that nobody reads is an error.

    Raises:
        OSError: it can't be opened that way.
    """
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, PRIVATE_FILE_MODE)
    with suppress(OSError):  # another user's file, or a file system without modes
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # a device is everybody's
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


def open_without_links(path: Path, flags: int) -> int:
    """A descriptor of what lies at a path, opened folder by folder, no link followed.

    Whoever has checked a path without links opens that file, or none: not what a folder on the way
    leads to that was replaced by a link since.

    Raises:
        OSError: it can't be opened, or a part of the path is a link.
    """
    parts = path.absolute().parts
    if ".." in parts or len(parts) < 2:
        raise OSError(errno.EINVAL, "it is no plain path of a file")
    folder = os.open(parts[0], _FOLDER_FLAGS)
    try:
        for part in parts[1:-1]:
            inner = os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def read_regular(path: Path, bytes_max: int) -> bytes:
    """What a file holds. Never waits: a pipe in its place would wait for a writer for ever.

    Raises:
        FileTooLarge: it holds more than `bytes_max`.
        OSError: it can't be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise FileTooLarge(f"it has over {bytes_max:,} bytes")
    return data


def write_atomically(
    path: Path, data: bytes, *, keeps_mode: bool = False, is_lasting: bool = True
) -> os.stat_result:
    """Write `data` in place of what `path` held; its folder must be there. What was written.

    A link is followed and stays a link. With `keeps_mode`, a file that is there keeps its mode:
    else nobody but its owner can read it from now on. Without `is_lasting`, nothing is waited
    for, and a crash of the machine may cost the file: for what can be made again.

    Raises:
        OSError: the folder or the file can't be written; what was there is untouched then, a
            device or pipe too.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is not a regular file")
    target = _resolved(path)
    draft = target.with_name(f".{target.name}.{os.urandom(8).hex()}{DRAFT_SUFFIX}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(draft, flags, PRIVATE_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            with suppress(PermissionError):  # a file system without modes
                mode = _mode_of(target) if keeps_mode else PRIVATE_FILE_MODE
                os.fchmod(file.fileno(), mode)  # whatever the umask is
            file.flush()
            if is_lasting:
                os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    if is_lasting:
        _sync(target.parent)
    return written


def drafts_of(path: Path) -> Iterator[Path]:
    """What killed writers of a file left; while the folder is locked, nobody writes them."""
    return path.parent.glob(f".{path.name}.*{DRAFT_SUFFIX}")


@contextmanager
def folder_locked(path: Path, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Generator[None]:
    """Hold the folder of `path` (of what it links to), made if need be, against our other writers.

    Raises:
        TimeoutError: another process holds it for `timeout_seconds`.
        OSError: the folder can't be made or read.
    """
    folder = _resolved(path).parent
    for _ in range(_REMOVED_MAX):
        make_private_folder(folder)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # removed just now
        try:
            lock(descriptor, timeout_seconds)
            if not _is_still(descriptor, folder):
                continue  # removed while another process held it
            yield
            return
        finally:
            os.close(descriptor)  # gives the lock back as well
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def lock(descriptor: int, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Lock an open file or folder; closing the descriptor gives the lock back.

    Raises:
        TimeoutError: another process holds it for so long.
    """
    deadline = time.monotonic() + timeout_seconds
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, "another process holds its folder")
        time.sleep(_POLL_SECONDS)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file or folder if no other process holds it; at once, without waiting.

    Several may hold a `shared` lock, which keeps out who wants it alone.
    A file system without locks gives none, silently: writers read before they write, and replace
    files as a whole.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def reserve_damaged_name(path: Path, now: float) -> Path:
    """An empty file beside a damaged one, for what it holds: `name.damaged-TIME`, made here.

    Raises:
        OSError: it can't be made.
    """
    stem = f"{path.name}.{DAMAGED}{int(now)}"
    for number in itertools.count(1):
        aside = path.with_name(stem if number == 1 else f"{stem}-{number}")
        with suppress(FileExistsError):
            os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))
            return aside
    raise AssertionError("unreachable: the count has no end")


class KeptEntries:
    """A small JSON file of ours: `{"format": 1, NAME: {…}}`, read anew each time.

    Every method blocks for a moment.
    """

    def __init__(
        self,
        file: Path,
        name: str,
        bytes_max: int = 4 * 1024 * 1024,
        is_sound: Callable[[Json], bool] = lambda entry: True,
        clock: Clock = time.time,
    ) -> None:
        """Touch nothing yet. A larger file is damaged, and so is one whose entry is not sound."""
        self.file = file
        self._name = name
        self._bytes_max = bytes_max
        self._is_sound = is_sound
        self._clock = clock

    def read(self) -> JsonObject:
        """The entries; none where the file is absent, damaged or no file."""
        try:
            return self._read()
        except (OSError, ValueError):
            return {}

    @contextmanager
    def changing(self) -> Generator[JsonObject]:
        """The entries, which no other process changes meanwhile; written when all went well.

        A damaged file is set aside under another name.

        Raises:
            OSError: the file can't be read or written.
        """
        with folder_locked(self.file):
            entries: JsonObject = {}
            try:
                entries = self._read()
            except FileNotFoundError:
                pass
            except ValueError:
                self.file.replace(reserve_damaged_name(self.file, self._clock()))
            before = {**entries}
            yield entries
            if entries != before:
                text = json.dumps({"format": 1, self._name: entries}, indent=1)
                write_atomically(self.file, f"{text}\n".encode())

    def _read(self) -> JsonObject:
        """The entries; a `ValueError` says that the file is damaged."""
        try:
            content: Json = json.loads(read_regular(self.file, self._bytes_max))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        found = content.get(self._name) if isinstance(content, dict) else None
        is_known = isinstance(content, dict) and content.get("format") == 1
        if (
            not is_known
            or not isinstance(found, dict)
            or not all(map(self._is_sound, found.values()))
        ):
            raise ValueError("it is of another form")
        return found


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where its file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _resolved(path: Path) -> Path:
    """The path without links; for links in a circle, one whose use is an OSError."""
    return Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle


def _is_still(descriptor: int, folder: Path) -> bool:
    """Whether an open folder is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return PRIVATE_FILE_MODE
