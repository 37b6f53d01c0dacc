"""Reading files one by one, some ahead; whatever happens to a file, it never ends the indexer.

A file that is written while it is read shows by other times, another size or another inode
afterwards. One that was written just before might be written again within the same tick of the
file system's clock, unseen: like Git, we then keep a time that can't be right, so that the next
comparison looks at the content.
"""

import hashlib
import logging
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

from core.base.files import open_without_links
from core.base.frozen import frozen
from servers.rag.folders.scan import FoundFile
from servers.rag.passages import DOUBTFUL_BY_NS
from servers.rag.ports import Extractor
from servers.reading.source import Extracted, ExtractionError, TakesLong

YOUNG_NS = 2_000_000_000
"""Younger files may change unseen: the coarsest clock in use (FAT's) ticks every two seconds."""

_BLOCK_BYTES = 1 << 20

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class NotReadable(Exception):
    """A file can't be opened now, with the reason in a few words."""


class Vanished(Exception):
    """A file is no longer there."""


@frozen
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
    """Hash a file without waiting for a pipe, and without following a link on the way to it.

    Raises:
        Vanished: it is not there any more.
        NotReadable: no permission, a broken disk, no file, or more than `bytes_max`.
    """
    try:
        handle = open_without_links(Path(path), os.O_RDONLY | os.O_NONBLOCK)
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


@frozen
class FileRead:
    """Its text. `settled` is False where it changed meanwhile, so that it wants another look."""

    file: FoundFile
    reading: Reading
    extracted: Extracted
    settled: bool


@frozen
class FileUnchanged:
    """Only its times are new; the content is the one in the index."""

    file: FoundFile
    reading: Reading


@frozen
class FileFailed:
    """It can't be read.

    Without a `reading` it could not even be opened, which is tried again each time; with one,
    it is its content that can't be read, and that has to change first.
    """

    file: FoundFile
    reading: Reading | None
    reason: str
    settled: bool


@frozen
class FileGone:
    """It was there a moment ago."""

    file: FoundFile


@frozen
class FileSlow:
    """It takes longer than others should have to wait for."""

    file: FoundFile


Outcome: TypeAlias = FileRead | FileUnchanged | FileFailed | FileGone | FileSlow


def changed_meanwhile(outcome: Outcome) -> bool:
    """Whether a file wants another look soon; one that can't be opened doesn't, but later."""
    read = isinstance(outcome, FileRead | FileFailed)
    return read and outcome.reading is not None and not outcome.settled


@frozen
class FileReader:
    """Reads files one by one, whatever happens to them meanwhile."""

    extractor: Extractor
    bytes_max: int

    def read(
        self, file: FoundFile, known_hash: str | None, within_seconds: float | None = None
    ) -> Outcome:
        """Hash a file and, unless it has the hash that is known of it, extract its text.

        One whose text takes longer than `within_seconds`, where they are given, is `FileSlow`.
        """
        try:
            reading = read_hash(file.path, self.bytes_max)
        except Vanished:
            return FileGone(file)
        except NotReadable as error:
            return FileFailed(file, None, f"can't be opened: {error}", settled=False)
        if reading.content_hash == known_hash:
            return FileUnchanged(file, reading)
        try:
            extracted = self.extractor.extract(Path(file.path), within_seconds)
        except TakesLong:
            return FileSlow(file)
        except ExtractionError as error:
            return self._failed(file, reading, str(error))
        except Exception as error:
            logger.exception("reading %s failed", file.file)
            return self._failed(file, reading, f"can't be read ({type(error).__name__})")
        return FileRead(file, reading, extracted, settled=reading.still_holds(file.path))

    def _failed(self, file: FoundFile, reading: Reading, reason: str) -> Outcome:
        """A failure, or what explains it: the file went away meanwhile."""
        if not os.path.lexists(file.path):
            return FileGone(file)
        return FileFailed(file, reading, reason, settled=reading.still_holds(file.path))


def read_ahead(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], ahead: int
) -> Generator[ResultT]:
    """What `work` makes of each item, in order, on another thread; at most `ahead` results wait.

    The generator must be closed when it is left early: the item that is worked on is not waited
    for. An exception of `work` is raised where its result would be taken.
    """
    thread = ThreadPoolExecutor(1, "reading ahead")
    waiting = deque[Future[ResultT]]()
    try:
        for item in items:
            waiting.append(thread.submit(work, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        thread.shutdown(wait=False, cancel_futures=True)
