"""The machine's own failures: an end at any moment, a full disk."""

from pathlib import Path

import pytest

from servers.rag.index.connections import IndexFull
from servers.rag.index.index import Index
from servers.rag.indexing.indexer import Indexer
from servers.rag.indexing.progress import IndexEvent, SyncReport
from tests.servers.rag.indexing.doubles import LetterEmbedder, PlainExtractor, options, write
from tests.servers.rag.indexing.kills import survive


def test_an_indexer_that_is_killed_leaves_an_index_that_answers(tmp_path: Path) -> None:
    survive(tmp_path, kills=1, seed=3, files=10)


def test_a_full_disk_is_told_keeps_what_was_written_and_is_made_up_for(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    for number in range(8):
        words = " ".join(f"{number}w{word}" for word in range(800))
        write(tmp_path / f"documents/{number}.md", words)
    events: list[IndexEvent] = []

    def sync(pages_max: int | None) -> SyncReport:
        index = Index.open(chosen.index_folder, "letters-1", pages_max=pages_max)
        try:
            indexer = Indexer(chosen, index, PlainExtractor(), LetterEmbedder(), events.append)
            return indexer.sync()
        finally:
            index.close()

    with pytest.raises(IndexFull, match="no space is left"):
        sync(pages_max=42)
    index = Index.open(chosen.index_folder, "letters-1")
    written = [entry.file for entry in index.documents()]
    assert 0 < len(written) < 8
    for file in written:
        assert index.search_words(f"{file.removesuffix('.md')}w7", 5)
    index.close()

    report = sync(pages_max=None)
    assert (report.added, report.unchanged) == (8 - len(written), len(written))
