"""Formats that are zip files: opened within bounds, without unpacking more than is read."""

import html
import io
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager

from servers.reading.limits import Limits
from servers.reading.markdown import as_title
from servers.reading.source import ENCRYPTED, ExtractionError

ENTRIES_MAX = 20_000
ENCRYPTED_FLAG = 0x1
"""APPNOTE.TXT of PKWARE, 4.4.4: bit 0 of the general purpose flag."""

_TITLE = re.compile(rb"<dc:title[^>]*>([^<]{1,500})</dc:title>")


def opened_zip(data: bytes) -> zipfile.ZipFile:
    """A zip in memory, by its table of contents; raises ExtractionError where it is damaged."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise ExtractionError(f"the file is damaged: {error}") from None


@contextmanager
def opened_package(data: bytes, limits: Limits) -> Generator[zipfile.ZipFile]:
    """An open package.

    Raises:
        ExtractionError: it is damaged, encrypted, or far larger unpacked than a document is.
    """
    with opened_zip(data) as package:
        entries = package.infolist()
        if any(entry.flag_bits & ENCRYPTED_FLAG for entry in entries):
            raise ExtractionError(ENCRYPTED)
        size = sum(entry.file_size for entry in entries)
        if size > limits.unpacked_bytes or len(entries) > ENTRIES_MAX:
            raise ExtractionError(
                f"it unpacks to {size // 2**20:,} MB in {len(entries):,} parts, more than is read"
            )
        yield package


def part_of(package: zipfile.ZipFile, name: str) -> bytes:
    """One part, no longer than the package says it is; empty if it is missing or damaged."""
    try:
        entry = package.getinfo(name)
        with package.open(entry) as part:
            return part.read(entry.file_size)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return b""


def office_title(package: zipfile.ZipFile) -> str:
    """The title in an Office file's properties; empty without one."""
    found = _TITLE.search(part_of(package, "docProps/core.xml")[:100_000])
    return as_title(html.unescape(found[1].decode("utf-8", errors="replace"))) if found else ""
