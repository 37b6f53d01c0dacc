"""One file into markdown: which kind it is, its reader, and bounds on what comes out.

To be run in a process of its own (`worker.ExtractionWorker`): the parsers are many, large, and
partly written in C, and a hostile file may crash them or keep them busy for ever.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from servers.rag.errors import ExtractionError
from servers.rag.passages import Extracted
from servers.reading.html.file_page import read_html
from servers.reading.kinds import Kind, kind_of, refuse_by_name
from servers.reading.limits import Clock, Limits, no_more
from servers.reading.office.delimited import read_csv
from servers.reading.office.docx import read_docx
from servers.reading.office.epub import read_epub
from servers.reading.office.sheets import read_xlsx
from servers.reading.office.slides import read_pptx
from servers.reading.pdf.document import read_pdf
from servers.reading.pictures.captioner import Captioner
from servers.reading.pictures.image_file import read_image
from servers.reading.pictures.pictures import Pictures
from servers.reading.source import Reader, Reading, Source
from servers.reading.text.link_file import PageReader, address_in, fetched, usual_page_reader
from servers.reading.text.mail import read_mail
from servers.reading.text.plain import read_markdown, read_rst, read_text
from servers.reading.text.source_code import read_json, read_notebook, read_source

ERROR_CHARS_MAX = 300


class FileExtractor:
    """Reads files here, in this process; a `ports.Extractor`."""

    def __init__(
        self,
        captioner: Captioner | None = None,
        *,
        limits: Limits | None = None,
        read_page: PageReader = usual_page_reader,
        open_captioner: Callable[[], Captioner | None] | None = None,
    ) -> None:
        """`captioner` describes pictures; `open_captioner` is asked for one at the first picture.

        `read_page` fetches the pages that link files lead to.
        """
        self._limits = limits or Limits()
        self._read_page = read_page
        self._open_captioner = open_captioner
        self._captioner = captioner

    def extract(self, path: Path) -> Extracted:
        """The text of a file; raises ExtractionError with one line for the status."""
        return self.extract_within(path)

    def extract_within(
        self,
        path: Path,
        announce_scans: Callable[[int], None] = no_more,
        *,
        is_careful: bool = False,
    ) -> Extracted:
        """The same, telling whoever bounds the time of pages to be read from their picture."""
        refuse_by_name(path.name)
        return self.extract_source(
            read_file(path, self._limits), announce_scans, is_careful=is_careful
        )

    def extract_source(
        self,
        source: Source,
        announce_scans: Callable[[int], None] = no_more,
        *,
        is_careful: bool = False,
    ) -> Extracted:
        """The text of a file in memory; raises ExtractionError."""
        if not source.data.strip():
            return Extracted("", notes=("the file is empty",))
        clock = Clock(self._limits, announce_scans)
        pictures = Pictures(self._opened_captioner, self._limits, clock)
        reading = Reading(self._limits, clock, pictures, is_careful, read_enclosed)
        try:
            extracted = self._read(source, reading)
        except ExtractionError as error:
            raise ExtractionError(" ".join(str(error).split())[:ERROR_CHARS_MAX]) from error
        except MemoryError:
            raise ExtractionError("it takes more memory than one file may have") from None
        except Exception as error:
            raise ExtractionError(
                f"it can't be read, probably it is damaged ({type(error).__name__})"
            ) from error
        return self._bounded(extracted, reading)

    def _opened_captioner(self) -> Captioner | None:
        """The captioner, opened once: its weights take seconds to load."""
        if self._captioner is None and self._open_captioner is not None:
            self._captioner = self._open_captioner()
        return self._captioner

    def _read(self, source: Source, reading: Reading) -> Extracted:
        kind = kind_of(source)
        if kind != "link":
            return reader_of(kind)(source, reading)
        address = address_in(source)
        page = fetched(address, self._read_page)
        kind = kind_of(page)
        if kind == "link":
            raise ExtractionError("the link leads to another link file")
        extracted = reader_of(kind)(page, reading)
        return replace(extracted, title=extracted.title or address)

    def _bounded(self, extracted: Extracted, reading: Reading) -> Extracted:
        most = self._limits.markdown_chars
        if len(extracted.markdown) > most:
            reading.note(f"only the first {most:,} characters are kept")
        starts = tuple(start for start in extracted.page_starts if start == 0 or start < most)
        return Extracted(
            extracted.markdown[:most],
            extracted.title,
            starts,
            (*extracted.notes, *reading.all_notes()),
            extracted.first_line,
        )


def read_file(path: Path, limits: Limits) -> Source:
    """A file in memory, as it was at one moment.

    Raises:
        ExtractionError: there is none, it is too large, or it changes while it is read.
    """
    try:
        # Without O_NONBLOCK a named pipe would be waited for.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as file:  # noqa: PTH123 - it is open already
            before = os.fstat(number)
            if not stat.S_ISREG(before.st_mode):
                raise ExtractionError("it is no regular file")
            if before.st_size > limits.file_bytes:
                raise ExtractionError(
                    f"it has {before.st_size / 2**20:,.0f} MB, more than the "
                    f"{limits.file_bytes // 2**20:,} MB that are read"
                )
            data = file.read(limits.file_bytes + 1)
            after = os.fstat(number)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ExtractionError(f"it can't be opened: {reason}") from error
    moment = (before.st_size, before.st_mtime_ns)
    if len(data) != before.st_size or moment != (after.st_size, after.st_mtime_ns):
        raise ExtractionError("it changes while it is read; it is read again when it rests")
    return Source(path.name, data)


def read_enclosed(source: Source, reading: Reading) -> Extracted:
    """The text of a file that stands in another one; raises ExtractionError."""
    refuse_by_name(source.name)
    return reader_of(kind_of(source))(source, reading)


def reader_of(kind: Kind) -> Reader:  # noqa: C901 - one line for each kind
    """The reader of a kind; link files are read by the extractor itself."""
    match kind:
        case "pdf":
            return read_pdf
        case "html":
            return read_html
        case "docx":
            return read_docx
        case "pptx":
            return read_pptx
        case "xlsx":
            return read_xlsx
        case "epub":
            return read_epub
        case "csv":
            return read_csv
        case "markdown":
            return read_markdown
        case "rst":
            return read_rst
        case "text":
            return read_text
        case "json":
            return read_json
        case "notebook":
            return read_notebook
        case "source":
            return read_source
        case "mail":
            return read_mail
        case "image":
            return read_image
        case "link":
            raise ExtractionError("link files lead to another file")
        case _:
            assert_never(kind)
