"""What was fetched, into text, in this process: pages and feeds here, other kinds as files."""

from collections.abc import Callable
from pathlib import Path

from servers.rag.errors import ExtractionError
from servers.rag.passages import Extracted
from servers.reading.encodings import page_text
from servers.reading.files import FileExtractor, read_file
from servers.reading.html.feeds import is_feed, read_feed
from servers.reading.html.page import PageText, read_web_page
from servers.reading.kinds import Kind, as_source, kind_of, what_it_is
from servers.reading.limits import Clock, Limits, no_more
from servers.reading.pictures.captioner import Captioner
from servers.reading.pictures.pictures import Pictures
from servers.reading.process.page_messages import Asked, BrokenHead, Told, unpacked, with_head
from servers.reading.source import Source
from servers.reading.unseen import seen

XML_TYPES = ("/xml", "+xml")


class PageExtractor:
    """Reads what `exchange.packed` wrote; to be run by `child`, as hostile pages are bounded there.

    Its answers are texts after a line that `exchange.without_head` reads.
    """

    def __init__(self, limits: Limits, open_captioner: Callable[[], Captioner | None]) -> None:
        """Nothing is loaded before the first page."""
        self._limits = limits
        self._open_captioner = open_captioner
        self._captioner: Captioner | None = None
        self._files = FileExtractor(limits=limits, open_captioner=self._opened_captioner)

    def extract_within(
        self,
        path: Path,
        announce_scans: Callable[[int], None] = no_more,
        *,
        is_careful: bool = False,
    ) -> Extracted:
        """The text of an answer of the web; raises ExtractionError with what it is."""
        try:
            asked, body = unpacked(read_file(path, self._limits).data)
        except BrokenHead:
            raise ExtractionError("it was not handed over as a page is") from None
        if asked.task == "picture":
            return Extracted(with_head(Told(), self._described(body, announce_scans)))
        return self.extract_page(asked, body, announce_scans, is_careful=is_careful)

    def extract_page(
        self,
        asked: Asked,
        body: bytes,
        announce_scans: Callable[[int], None] = no_more,
        *,
        is_careful: bool = False,
    ) -> Extracted:
        """The text of an answer in memory; raises ExtractionError."""
        source = as_source(asked.url, asked.media_type, asked.charset, body)
        try:
            page = self._page(asked, source)
        except MemoryError:
            raise ExtractionError("it takes more memory than one page may have") from None
        except RecursionError:
            raise ExtractionError("it is nested too deeply") from None
        if page is None:
            return self._file(asked, source, announce_scans, is_careful=is_careful)
        most = self._limits.markdown_chars // 2
        notes = page.notes
        if len(page.markdown) > most:
            notes = (*notes, f"only the first {most:,} characters are kept")
        return Extracted(with_head(page.told, page.markdown[:most]), notes=notes)

    def _page(self, asked: Asked, source: Source) -> PageText | None:
        """A page or a feed; None for any other kind."""
        if source.suffix == ".html" and kind_of(source) == "html":
            html = page_text(source.data, source.charset)
            return read_web_page(html, asked.url, asked.pictures)
        if source.suffix in (".html", ".txt", "") and _may_be_xml(asked.media_type, source.data):
            text = page_text(source.data, source.charset)
            if is_feed(text):
                return read_feed(text, asked.url)
        return None

    def _file(
        self,
        asked: Asked,
        source: Source,
        announce_scans: Callable[[int], None],
        *,
        is_careful: bool,
    ) -> Extracted:
        if kind_in(asked, source) == "image":
            return self._picture(asked, source.data, announce_scans)
        is_plain = source.suffix in (".txt", ".md", ".csv", ".tsv", ".rst", ".json", ".jsonl")
        if is_plain and source.data.strip():
            text = page_text(source.data, source.charset)
            source = Source(source.name, text.encode("utf-8", errors="replace"), "utf-8")
        try:
            found = self._files.extract_source(source, announce_scans, is_careful=is_careful)
        except ExtractionError as error:
            what = what_it_is(asked.media_type, source.data)
            raise ExtractionError(f"it is {what}: {error}") from error
        title = "" if found.title == source.name else found.title
        markdown = with_head(Told(seen(title)), seen(found.markdown))
        return Extracted(markdown, notes=found.notes)

    def _picture(
        self, asked: Asked, image: bytes, announce_scans: Callable[[int], None]
    ) -> Extracted:
        """What a picture says that was asked for itself."""
        what = f"it is a picture ({asked.media_type or 'of no named type'})"
        pictures = Pictures(
            self._opened_captioner, self._limits, Clock(self._limits, announce_scans)
        )
        if not pictures.can_read():
            reason = "; ".join(pictures.notes()) or "the setting web.captions is none"
            raise ExtractionError(f"{what}, and pictures are not described here: {reason}")
        said = seen(pictures.text_of(image))
        if not said:
            raise ExtractionError(f"{what} in which nothing can be read")
        return Extracted(with_head(Told(), said), notes=pictures.notes())

    def _described(self, image: bytes, announce_scans: Callable[[int], None]) -> str:
        """A paragraph about a picture; empty if there is nothing to say."""
        clock = Clock(self._limits, announce_scans)
        pictures = Pictures(self._opened_captioner, self._limits, clock)
        return seen(pictures.describe(image))

    def _opened_captioner(self) -> Captioner | None:
        """The captioner, opened once: its weights take seconds to load."""
        if self._captioner is None:
            self._captioner = self._open_captioner()
        return self._captioner


def kind_in(asked: Asked, source: Source) -> Kind:
    """The kind of file; raises ExtractionError, naming what it is, for one that is not read."""
    try:
        return kind_of(source)
    except ExtractionError as error:
        raise ExtractionError(
            f"it is {what_it_is(asked.media_type, source.data)}: {error}"
        ) from error


def _may_be_xml(media_type: str, data: bytes) -> bool:
    return media_type.endswith(XML_TYPES) or data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(
        b"<"
    )
