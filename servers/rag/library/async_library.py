"""The library as tools and people ask it: once it is open, and with what there is to say about it.

Opening and indexing go on in the background. A question that comes before the files are read
waits for them a little, because an answer without them would be wrong rather than early.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from servers.rag.folders.access import resolve
from servers.rag.indexing.progress import IndexProgress
from servers.rag.library.library_protocol import Library
from servers.rag.library.wording import NO_DOCUMENTS, indexing_note
from servers.rag.passages import DocumentEntry, SearchMode, SearchResult
from servers.reading.source import Extracted

FILES_WAIT_SECONDS = 20.0
"""How long a search waits for files that are not read yet; those that are answer it then."""

VECTORS_WAIT_SECONDS = 3.0
"""How long it waits, once all files are found by words, for what finds them by meaning."""

LOOK_SECONDS = 0.05
CLOSE_SECONDS = 5.0


Tell: TypeAlias = Callable[[IndexProgress], Awaitable[None]]
"""Hears how far indexing is while somebody waits for it."""


class AsyncLibrary:
    """Opens a library in the background, and asks it."""

    def __init__(
        self,
        open_library: Callable[[], Library],
        folders: Sequence[Path],
        *,
        files_wait_seconds: float = FILES_WAIT_SECONDS,
        vectors_wait_seconds: float = VECTORS_WAIT_SECONDS,
    ) -> None:
        """Open nothing yet; `open_library` is called on a thread of its own."""
        self._open_library = open_library
        self._folders = tuple(folders)
        self._files_wait_seconds = files_wait_seconds
        self._vectors_wait_seconds = vectors_wait_seconds
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="opening")
        self._opening: Future[Library] | None = None

    def begin(self) -> Future[Library]:
        """Open the library, once; returns at once."""
        if self._opening is None:
            self._opening = self._threads.submit(_started, self._open_library)
        return self._opening

    async def library(self) -> Library:
        """The library, open.

        Raises:
            RagError: it can't be opened.
        """
        return await asyncio.shield(asyncio.wrap_future(self.begin()))

    async def search(
        self, query: str, top_k: int, file: str | None, mode: SearchMode, tell: Tell
    ) -> tuple[SearchResult, list[str]]:
        """What is found, and what is to be known about it."""
        library = await self.library()
        vectors_seconds = 0.0 if mode == "words" else self._vectors_wait_seconds
        await self._until_read(library, tell, vectors_seconds)
        found = await asyncio.to_thread(library.search, query, top_k, file, mode)
        notes = [found.note] if found.note else []
        if not found.passages and not await asyncio.to_thread(library.documents):
            notes = [NO_DOCUMENTS]
        return found, [*notes, *self._notes(library)]

    async def documents(self, tell: Tell) -> tuple[list[DocumentEntry], list[str]]:
        """All documents, and what is to be known about the list."""
        library = await self.library()
        await self._until_read(library, tell)
        return await asyncio.to_thread(library.documents), self._notes(library)

    async def text(self, file: str, tell: Tell) -> tuple[str, str]:
        """The name of a document in the index, and its markdown.

        `file` is its name, or the path of a file in the document folders.

        Raises:
            OutsideFolders: no document of that name is there.
        """
        library = await self.library()
        await self._until_read(library, tell)
        text = await asyncio.to_thread(library.text, file)
        if text is not None:
            return file, text
        path = await asyncio.to_thread(resolve, self._folders, file)
        for entry in await asyncio.to_thread(library.documents):
            if Path(entry.path) == path:
                return entry.file, await asyncio.to_thread(library.text, entry.file) or ""
        extracted = await self.extract(file)
        return file, extracted.markdown

    async def extract(self, file: str) -> Extracted:
        """The text of a file in the document folders, read now.

        Raises:
            OutsideFolders: it lies elsewhere.
            ExtractionError: it can't be read.
        """
        path = await asyncio.to_thread(resolve, self._folders, file)
        library = await self.library()
        return await asyncio.to_thread(library.extract, path)

    async def aclose(self) -> None:
        """End the library's work; bounded, and safe where opening it failed."""
        if self._opening is not None:
            with suppress(Exception):  # whoever asked has been told why it isn't there
                async with asyncio.timeout(CLOSE_SECONDS):
                    library = await self.library()
                    await asyncio.to_thread(library.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _until_read(self, library: Library, tell: Tell, vectors_seconds: float = 0.0) -> None:
        """Wait until all files are searchable, as long as that is worth it."""
        began, told = time.monotonic(), None
        while True:
            progress = library.progress
            if progress is not None and progress != told:
                await tell(progress)
                told = progress
            files_left = progress is not None and progress.files_done < progress.files_total
            if not library.has_compared or files_left:
                worth_seconds = self._files_wait_seconds
            else:
                worth_seconds = 0.0 if progress is None else vectors_seconds
            if time.monotonic() - began >= worth_seconds:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _notes(self, library: Library) -> list[str]:
        told = indexing_note(library.progress)
        return [*([told] if told else []), *library.failures()]


def _started(open_library: Callable[[], Library]) -> Library:
    library = open_library()
    library.start()
    return library
