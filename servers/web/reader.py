"""Makes text of what was fetched, in a few processes that no page can crash, hang or fill.

Pictures of a page that nobody describes are fetched under the same guard, and described there.
"""

import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from core.base.text import sentence
from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.process.worker import ExtractionWorker, ReaderProcess
from servers.reading.source import PICTURES_MAX, Extracted, ExtractionError, picture_mark
from servers.reading.text.encodings import is_text, text_of
from servers.web.errors import PageUnavailable, WebError
from servers.web.options import WebOptions
from servers.web.ports import Fetched, Fetcher, ReadPage

PROCESSES_MAX = 4
READ_SECONDS = 20.0
MARKDOWN_CHARS_MAX = 4_000_000
PAGES_MAX = 300
"""Of a PDF; a page of the web is waited for."""

PICTURES_SECONDS = 20.0
"""For the pictures of a page: the text is waited for."""

NOT_DESCRIBED = "[image]"
NO_CAPTIONS = "none"
PDF_MARK_WITHIN_BYTES = 1024
BODY = Path("page")
"""What came, in a folder of its own while it is read."""

URL_CHARS_SHOWN = 200


class WebPageReader:
    """Reads in child processes, which start with the first page. Close it when done."""

    def __init__(
        self,
        options: WebOptions,
        fetcher: Fetcher | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        processes: int | None = None,
        start: Callable[[], ReaderProcess] | None = None,
    ) -> None:
        """`fetcher` is used for pictures, where the options want them described.

        `processes` is the most that read at a time, by default as many as there are cores. `start`
        is for tests.
        """
        count = processes or min(PROCESSES_MAX, os.cpu_count() or 1)
        limits = Limits(
            file_bytes=options.page_bytes + 64 * 1024,
            markdown_chars=MARKDOWN_CHARS_MAX,
            seconds=READ_SECONDS,
            seconds_in_all=3 * READ_SECONDS,
            pages=PAGES_MAX,
        )
        self._worker = ExtractionWorker(
            options.captions, limits=limits, environ=environ, processes=count, start=start
        )
        self._fetcher = fetcher if options.captions.strip() != NO_CAPTIONS else None
        # More threads would only wait for a process, in the place of others' threads.
        self._limiter = anyio.CapacityLimiter(count)

    async def read(self, fetched: Fetched) -> ReadPage:
        """The main content as markdown; raises PageUnavailable where nothing can be read."""
        named = PICTURES_MAX if self._fetcher is not None else 0
        asked = Request(BODY, "page", fetched.url, fetched.media_type, fetched.charset, named)
        shown = fetched.url[:URL_CHARS_SHOWN]
        try:
            found = await self._ask(asked, fetched.body)
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
            return (await self._ask(Request(BODY, "picture"), image)).markdown
        except ExtractionError:
            return ""

    async def _ask(self, request: Request, body: bytes) -> Extracted:
        """What a process makes of bytes; raises ExtractionError."""
        return await anyio.to_thread.run_sync(
            self._extracted, request, body, abandon_on_cancel=True, limiter=self._limiter
        )

    def _extracted(self, request: Request, body: bytes) -> Extracted:
        with tempfile.TemporaryDirectory(prefix="cortex-page-") as folder:
            # The worker tries one of that name again, with another library, if it ends a process.
            is_pdf = b"%PDF-" in body[:PDF_MARK_WITHIN_BYTES]
            path = Path(folder, BODY).with_suffix(".pdf" if is_pdf else "")
            path.write_bytes(body)
            return self._worker.read(replace(request, path=path))


async def read_source(fetched: Fetched) -> ReadPage:
    """The text of what came, whatever it is made of; a `ports.ReadFetched`.

    Raises:
        PageUnavailable: it is no text.
    """
    if not is_text(fetched.body):
        kind = fetched.media_type or "of an unknown type"
        raise PageUnavailable(
            f"{fetched.url[:URL_CHARS_SHOWN]} is no text, but {kind}; leave out raw to read what "
            "it says",
            fetched.status,
        )
    return ReadPage(fetched.url, text_of(fetched.body, fetched.charset))


async def with_pictures(
    markdown: str,
    addresses: Sequence[str],
    fetcher: Fetcher,
    describe: Callable[[bytes], Awaitable[str]],
) -> tuple[str, tuple[str, ...]]:
    """The markdown with what pictures show in their places, and notes on those that failed.

    Only those are fetched whose mark stands in the markdown.
    """
    wanted = [
        (picture_mark(number), address)
        for number, address in enumerate(addresses[:PICTURES_MAX])
        if picture_mark(number) in markdown
    ]
    said: dict[str, str] = {}

    async def show(mark: str, address: str) -> None:
        try:
            said[mark] = await describe((await fetcher.fetch(address, because="found")).body)
        except WebError:
            said[mark] = ""

    with anyio.move_on_after(PICTURES_SECONDS):
        async with anyio.create_task_group() as tasks:
            for mark, address in wanted:
                tasks.start_soon(show, mark, address)
    for mark, _ in wanted:
        markdown = markdown.replace(mark, said.get(mark) or NOT_DESCRIBED)
    for number in range(len(addresses)):
        markdown = markdown.replace(picture_mark(number), "")
    failed = sum(1 for mark, _ in wanted if not said.get(mark))
    return markdown, (f"pictures without a description: {failed}",) if failed else ()
