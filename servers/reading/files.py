"""One file or page into markdown: which kind it is, its reader, and bounds on what comes out.

To be run in a process of its own (`process.worker`): the parsers are many, large, and partly
written in C, and a hostile file may crash them or keep them busy for ever.
"""

import os
import plistlib
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from core.base.files import open_without_links
from servers.reading.context import Reader, Reading
from servers.reading.html.feeds import read_feed
from servers.reading.html.page import read_html
from servers.reading.kinds import Kind, as_source, kind_of, refuse_by_name, what_it_is
from servers.reading.limits import Clock, Limits, no_more
from servers.reading.markdown import seen
from servers.reading.office.docx import read_docx
from servers.reading.office.epub import read_epub
from servers.reading.office.slides import read_pptx
from servers.reading.office.tables import read_csv, read_xlsx
from servers.reading.pdf.document import read_pdf
from servers.reading.pictures.captioner import Captioner
from servers.reading.pictures.image_file import read_image
from servers.reading.pictures.pictures import Pictures
from servers.reading.process.messages import Request
from servers.reading.source import Extracted, ExtractionError, Source
from servers.reading.text.encodings import text_of
from servers.reading.text.mail import read_mail
from servers.reading.text.plain import (
    read_json,
    read_markdown,
    read_notebook,
    read_rst,
    read_source,
    read_text,
)

ERROR_CHARS_MAX = 300
LINK_BYTES_MAX = 64 * 1024
ADDRESS_CHARS_MAX = 2_000

_URL_LINE = re.compile(r"^\s*(?:BASE)?URL\s*=\s*(\S+)", re.IGNORECASE | re.MULTILINE)

READERS: dict[Kind, Reader] = {
    "pdf": read_pdf,
    "html": read_html,
    "feed": read_feed,
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "csv": read_csv,
    "markdown": read_markdown,
    "rst": read_rst,
    "text": read_text,
    "json": read_json,
    "notebook": read_notebook,
    "source": read_source,
    "mail": read_mail,
    "image": read_image,
}
"""All kinds but link files, which the extractor itself follows."""

FetchPage: TypeAlias = Callable[[str], Source]
"""Fetches the page at an address; raises ExtractionError."""


def no_page(address: str) -> Source:
    """Fetches nothing."""
    raise ExtractionError("pages that files lead to are not fetched here")


def no_captioner() -> Captioner | None:
    """Nothing describes pictures."""
    return None


class FileExtractor:
    """Reads files and pages here, in this process."""

    def __init__(
        self,
        open_captioner: Callable[[], Captioner | None] = no_captioner,
        *,
        limits: Limits | None = None,
        fetch_page: FetchPage = no_page,
    ) -> None:
        """`open_captioner` is asked at the first picture for what describes them.

        `fetch_page` fetches the pages that link files lead to.
        """
        self._limits = limits or Limits()
        self._fetch_page = fetch_page
        self._open_captioner = open_captioner
        self._captioner: Captioner | None = None

    def extract(
        self, request: Request, announce_scans: Callable[[int], None] = no_more
    ) -> Extracted:
        """What is asked for; `announce_scans` hears of pages to be read from their picture.

        Raises:
            ExtractionError: it can't be read; the message is one line for the status.
        """
        match request.task:
            case "file":
                refuse_by_name(request.path.name)
                source = read_file(request.path, self._limits, has_links=False)
                return self.extract_source(source, announce_scans, is_careful=request.is_careful)
            case "page":
                return self._page(request, announce_scans)
            case "picture":
                image = read_file(request.path, self._limits).data
                pictures = self._pictures(Clock(self._limits, announce_scans))
                return Extracted(seen(pictures.describe(image)))

    def extract_source(
        self,
        source: Source,
        announce_scans: Callable[[int], None] = no_more,
        *,
        is_careful: bool = False,
        pictures_named: int = 0,
    ) -> Extracted:
        """The text of a file in memory; raises the same. See `Reading` for the flags."""
        if not source.data.strip():
            return Extracted("", notes=("the file is empty",))
        clock = Clock(self._limits, announce_scans)
        reading = Reading(
            self._limits, clock, self._pictures(clock), is_careful, pictures_named, read_enclosed
        )
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

    def _page(self, request: Request, announce_scans: Callable[[int], None]) -> Extracted:
        """The text of an answer of the web; errors name what it is."""
        body = read_file(request.path, self._limits).data
        source = as_source(request.url, request.media_type, request.charset, body)
        try:
            found = self.extract_source(
                source,
                announce_scans,
                is_careful=request.is_careful,
                pictures_named=request.pictures_named,
            )
        except ExtractionError as error:
            what = what_it_is(request.media_type, body)
            raise ExtractionError(f"it is {what}: {error}") from error
        title = "" if found.title == source.name else seen(found.title)
        # Offsets of pages are of no use on the web, so the text may become shorter.
        return replace(found, markdown=seen(found.markdown), title=title, page_starts=())

    def _pictures(self, clock: Clock) -> Pictures:
        return Pictures(self._opened_captioner, self._limits, clock)

    def _opened_captioner(self) -> Captioner | None:
        """The captioner, opened once: its weights take seconds to load."""
        if self._captioner is None:
            self._captioner = self._open_captioner()
        return self._captioner

    def _read(self, source: Source, reading: Reading) -> Extracted:
        kind = kind_of(source)
        if kind != "link":
            return READERS[kind](source, reading)
        address = address_in(source)
        page = self._fetch_page(address)
        kind = kind_of(page)
        if kind == "link":
            raise ExtractionError("the link leads to another link file")
        # As that of a file, its links are of no use.
        extracted = READERS[kind](replace(page, url=""), reading)
        return replace(extracted, title=extracted.title or address)

    def _bounded(self, extracted: Extracted, reading: Reading) -> Extracted:
        most = self._limits.markdown_chars
        if len(extracted.markdown) > most:
            reading.note(f"only the first {most:,} characters are kept")
        return replace(
            extracted,
            markdown=extracted.markdown[:most],
            page_starts=tuple(
                start for start in extracted.page_starts if start == 0 or start < most
            ),
            notes=(*extracted.notes, *reading.all_notes()),
        )


def read_file(path: Path, limits: Limits, *, has_links: bool = True) -> Source:
    """A file in memory, as it was at one moment.

    A path that has no links was checked by whoever asks; one that is put into it is not followed.

    Raises:
        ExtractionError: there is none, it is too large, or it changes while it is read.
    """
    try:
        # Without O_NONBLOCK a named pipe would be waited for.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        number = os.open(path, flags) if has_links else open_without_links(path, flags)
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
    kind = kind_of(source)
    if kind == "link":
        raise ExtractionError("link files lead to another file")
    return READERS[kind](source, reading)


def address_in(source: Source) -> str:
    """The address that a link file holds.

    Raises:
        ExtractionError: it holds none of a web page.
    """
    data = source.data[:LINK_BYTES_MAX]
    address = _from_webloc(data) if source.suffix == ".webloc" else _from_url(data)
    scheme = urlsplit(address).scheme.lower() if address.isprintable() else ""
    if scheme not in ("http", "https") or len(address) > ADDRESS_CHARS_MAX:
        raise ExtractionError("the link leads to no web page (http or https)")
    return address


def _from_url(data: bytes) -> str:
    """INI text with one section, `[InternetShortcut]`."""
    section = text_of(data).partition("[InternetShortcut]")[2].partition("\n[")[0]
    found = _URL_LINE.search(section)
    return found[1] if found else ""


def _from_webloc(data: bytes) -> str:
    """A property list, as XML (without entities, which plistlib refuses) or binary."""
    try:
        listed = cast(object, plistlib.loads(data))
    except (plistlib.InvalidFileException, ExpatError, ValueError, OverflowError, RecursionError):
        return ""
    found = cast(dict[str, object], listed).get("URL") if isinstance(listed, dict) else None
    return found if isinstance(found, str) else ""
