"""Our own library, from files in a folder to passages, as the documents server uses it."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from servers.rag.library.library import DocumentLibrary
from servers.rag.library.options import DocumentOptions
from servers.rag.library.parts import open_parts
from tests.benchmarks.drivers.document_task import PASSAGES_READ, TimedEmbedder, take_task


class OurDocuments:
    """A `DocumentSearch` over a folder of text files, which are written before time counts."""

    def __init__(self, embedder: TimedEmbedder) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="cortex-bench-"))
        (self._home / "documents").mkdir()
        options = DocumentOptions(
            folders=(self._home / "documents",),
            index_folder=self._home / "index",
            captions="none",
            watch=False,
        )
        parts = replace(open_parts(options, {}), open_embedder=lambda: embedder)
        self._library = DocumentLibrary.open(options, parts=parts)

    def index(self, documents: dict[str, str]) -> None:
        """Files, written and read again, are part of our time."""
        for key, text in documents.items():
            (self._home / f"documents/{key}.txt").write_text(text, encoding="utf-8")
        self._library.sync()

    def search(self, question: str) -> Sequence[tuple[str, str]]:
        """As a plan would."""
        found = self._library.search(question, PASSAGES_READ).passages
        return [(Path(passage.file).stem, passage.text) for passage in found]


if __name__ == "__main__":
    take_task(OurDocuments)
