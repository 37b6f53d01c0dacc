"""What came of reading one file; a file never ends the indexer."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from servers.rag.faults import ExtractionError
from servers.rag.indexing.reading import NotReadable, Reading, Vanished, read_hash
from servers.rag.indexing.scan import FoundFile
from servers.rag.passages import Extracted
from servers.rag.ports import Extractor

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileRead:
    """Its text. `settled` is False where it changed meanwhile, so that it wants another look."""

    file: FoundFile
    reading: Reading
    extracted: Extracted
    settled: bool


@dataclass(frozen=True, slots=True)
class FileUnchanged:
    """Only its times are new; the content is the one in the index."""

    file: FoundFile
    reading: Reading


@dataclass(frozen=True, slots=True)
class FileFailed:
    """It can't be read.

    Without a `reading` it could not even be opened, which is tried again each time; with one,
    it is its content that can't be read, and that has to change first.
    """

    file: FoundFile
    reading: Reading | None
    reason: str
    settled: bool


@dataclass(frozen=True, slots=True)
class FileGone:
    """It was there a moment ago."""

    file: FoundFile


Outcome: TypeAlias = FileRead | FileUnchanged | FileFailed | FileGone


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files one by one, whatever happens to them meanwhile."""

    extractor: Extractor
    bytes_max: int

    def read(self, file: FoundFile, known_hash: str | None) -> Outcome:
        """Hash a file and, unless it has the hash that is known of it, extract its text."""
        try:
            reading = read_hash(file.path, self.bytes_max)
        except Vanished:
            return FileGone(file)
        except NotReadable as error:
            return FileFailed(file, None, f"can't be opened: {error}", settled=False)
        if reading.content_hash == known_hash:
            return FileUnchanged(file, reading)
        try:
            extracted = self.extractor.extract(Path(file.path))
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
