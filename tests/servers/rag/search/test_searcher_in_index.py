"""The search over the real index file: what the doubles of the other tests stand for holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.rag.chunking.chunker import chunk_document
from servers.rag.index import Index
from servers.rag.passages import DocumentEntry, SearchMode
from servers.rag.search.searcher import NOTHING_FITS, Searcher
from servers.reading.source import Extracted
from tests.servers.rag.search.memory_index import ExactVectors, WordCountEmbedder

GUIDE = """\
# Coffee machine

## Descaling

Descale the machine every 90 days with citric acid, and rinse it twice afterwards.

## Warranty

The warranty ends after 24 months; keep the receipt of the shop.
"""
TEA = "# Tea\n\nLet green tea draw for two minutes at 75 degrees.\n"


class Shelf:
    """Documents in an index on disk, and a search over it."""

    def __init__(self, folder: Path) -> None:
        self.embedder = WordCountEmbedder(synonyms={"decalcify": "descale"})
        self.index = Index.open(folder, self.embedder.fingerprint)
        self.vectors = ExactVectors()
        self.searcher = Searcher(self.index, self.vectors, self.embedder, noise_cosine=0.1)

    def put(self, file: str, text: str) -> None:
        """Index a document; the vectors of what is no more go."""
        extracted = Extracted(text)
        chunks = chunk_document(extracted, words=15)
        rows = self.embedder.embed_passages([chunk.text for chunk in chunks])
        entry = DocumentEntry(file, f"/{file}", "indexed", len(text), 0, len(chunks))
        self.vectors.remove(self.index.chunk_ids(file))
        self.index.replace_document(entry, text, extracted, chunks, rows)
        self.vectors.add(self.index.chunk_ids(file), rows)


@pytest.fixture(name="shelf")
def _shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path)
    shelf.put("guide.md", GUIDE)
    shelf.put("tea.md", TEA)
    yield shelf
    shelf.index.close()


@pytest.mark.parametrize("mode", ["hybrid", "words", "vectors"])
def test_the_right_passage_comes_first_with_its_place(shelf: Shelf, mode: SearchMode):
    best = shelf.searcher.search("rinse it twice", mode=mode).passages[0]
    assert best.file == "guide.md"
    assert "citric acid" in best.text
    assert best.headings == ("Coffee machine",)
    assert best.line == 1


def test_vectors_find_what_is_said_otherwise(shelf: Shelf):
    assert shelf.searcher.search("decalcify", mode="words").passages == ()
    assert "Descale" in shelf.searcher.search("decalcify").passages[0].text


def test_only_the_named_file_is_searched(shelf: Shelf):
    found = shelf.searcher.search("warranty months tea", file="tea.md").passages
    assert {passage.file for passage in found} == {"tea.md"}
    assert shelf.searcher.search("warranty", file="other.md").passages == ()


def test_a_changed_document_is_found_by_its_new_text_only(shelf: Shelf):
    shelf.put("tea.md", "# Tea\n\nBlack tea needs boiling water.\n")
    assert "boiling" in shelf.searcher.search("black boiling").passages[0].text
    assert all("green" not in p.text for p in shelf.searcher.search("green degrees").passages)


def test_a_vector_whose_chunk_was_removed_is_passed_over(shelf: Shelf):
    shelf.index.remove_document("tea.md")  # its vectors are still in the cache
    assert all(p.file == "guide.md" for p in shelf.searcher.search("green tea degrees").passages)


@pytest.mark.parametrize(
    "odd", ['"', "tea AND", "NEAR(tea 5", "c1:tea*", "月の海", "tea\x00\ud800"]
)
def test_any_text_is_a_question(shelf: Shelf, odd: str):
    for mode in ("hybrid", "words", "vectors"):
        shelf.searcher.search(odd, mode=mode)


def test_nothing_fits_is_said(shelf: Shelf):
    assert shelf.searcher.search("quantum chromodynamics").note == NOTHING_FITS
