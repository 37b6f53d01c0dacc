"""Makes text of what was fetched, in a few processes that no page can crash, hang or fill."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from core.base.text import sentence
from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.process.reader_process import ReaderProcess
from servers.reading.process.worker import ExtractionWorker
from servers.reading.source import PICTURES_MAX, Extracted, ExtractionError
from servers.reading.text.encodings import is_text, text_of
from servers.web.errors import PageUnavailable
from servers.web.options import WebOptions
from servers.web.pages.pictures import with_pictures
from servers.web.ports import Fetched, Fetcher, ReadPage

PROCESSES_MAX = 4
READ_SECONDS = 20.0
MARKDOWN_CHARS_MAX = 4_000_000
PAGES_MAX = 300
"""Of a PDF; a page of the web is waited for."""

NO_CAPTIONS = "none"
PDF_MARK_WITHIN_BYTES = 1024
URL_CHARS_SHOWN = 200


class WebPageReader:
    """Reads in child processes; a `ports.PageReader`. Close it when done."""

    def __init__(
        self,
        worker: ExtractionWorker,
        *,
        processes: int = 1,
        fetcher: Fetcher | None = None,
    ) -> None:
        """`fetcher` gets the pictures that are to be described; without one none are."""
        self._worker = worker
        self._fetcher = fetcher
        # More threads would only wait for a process, in the place of others' threads.
        self._limiter = anyio.CapacityLimiter(processes)

    async def read(self, fetched: Fetched) -> ReadPage:
        """The main content as markdown; raises PageUnavailable where nothing can be read."""
        named = PICTURES_MAX if self._fetcher is not None else 0

        def request(path: Path) -> Request:
            return Request(path, "page", fetched.url, fetched.media_type, fetched.charset, named)

        shown = fetched.url[:URL_CHARS_SHOWN]
        try:
            found = await self._ask(request, fetched.body)
        except ExtractionError as error:
            raise PageUnavailable(
                f"{shown} can't be read: {sentence(str(error))} Try another page on the "
                "subject, or one that describes this file.",
                fetched.status,
            ) from error
        markdown, notes = found.markdown, found.notes
        if self._fetcher is not None and found.pictures:
            markdown, more = await with_pictures(
                markdown, found.pictures, self._fetcher, self._describe
            )
            notes += more
        if not markdown.strip():
            raise PageUnavailable(
                f"{shown} was fetched, but holds no text to read; a page that builds itself by "
                "scripts looks so. Try another page on the subject.",
                fetched.status,
            )
        return ReadPage(fetched.url, markdown, found.title, found.author, found.date, notes)

    def close(self) -> None:
        """End the processes; a page that is being read fails."""
        self._worker.close()

    async def _describe(self, image: bytes) -> str:
        """A paragraph about a picture; empty if there is nothing to say, or it can't be read."""
        try:
            return (await self._ask(lambda path: Request(path, "picture"), image)).markdown
        except ExtractionError:
            return ""

    async def _ask(self, request: Callable[[Path], Request], body: bytes) -> Extracted:
        """What a process makes of bytes; raises ExtractionError."""
        return await anyio.to_thread.run_sync(
            self._extracted, request, body, abandon_on_cancel=True, limiter=self._limiter
        )

    def _extracted(self, request: Callable[[Path], Request], body: bytes) -> Extracted:
        with tempfile.TemporaryDirectory(prefix="cortex-page-") as folder:
            # The worker tries one of that name again, with another library, if it ends a process.
            name = "page.pdf" if b"%PDF-" in body[:PDF_MARK_WITHIN_BYTES] else "page"
            path = Path(folder) / name
            path.write_bytes(body)
            return self._worker.read(request(path))


class SourceReader:
    """Gives the text of what came, whatever it is made of; a `ports.PageReader`."""

    async def read(self, fetched: Fetched) -> ReadPage:
        """The source, decoded.

        Raises:
            PageUnavailable: it is no text.
        """
        if not is_text(fetched.body):
            kind = fetched.media_type or "of an unknown type"
            raise PageUnavailable(
                f"{fetched.url[:200]} is no text, but {kind}; leave out raw to read what it says",
                fetched.status,
            )
        return ReadPage(fetched.url, text_of(fetched.body, fetched.charset))


def open_reader(
    options: WebOptions,
    fetcher: Fetcher | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    processes: int | None = None,
    start: Callable[[], ReaderProcess] | None = None,
) -> WebPageReader:
    """The reader that the options describe; its processes start with the first page.

    `fetcher` is used for pictures, where the options want them described. `processes` is the most
    that read at a time, by default as many as there are cores. `start` is for tests.
    """
    count = processes or min(PROCESSES_MAX, os.cpu_count() or 1)
    limits = Limits(
        file_bytes=options.page_bytes + 64 * 1024,
        markdown_chars=MARKDOWN_CHARS_MAX,
        seconds=READ_SECONDS,
        seconds_in_all=3 * READ_SECONDS,
        pages=PAGES_MAX,
    )
    worker = ExtractionWorker(
        processes=count,
        start=start or (lambda: ReaderProcess(options.captions, limits, environ)),
    )
    wants_pictures = options.captions.strip() != NO_CAPTIONS
    return WebPageReader(worker, processes=count, fetcher=fetcher if wants_pictures else None)
