"""An index read as it stands, by its words or its list, without what an index needs otherwise."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from config.settings import ROOT
from servers.rag.index.index import Index
from servers.rag.index.reader import find_by_words, match_texts, read_documents
from servers.rag.index.schema import INDEX_FILE
from tests.servers.rag.index.made import FINGERPRINT, found, put

LONG_SECONDS = 50.0
GARDEN = ("The notice period is six weeks.", "Zebras graze.", "The gate is green.")


def texts(folder: Path, query: str, count: int = 9, seconds: float = LONG_SECONDS) -> list[str]:
    return [passage.text for passage in find_by_words(folder, query, count, seconds)]


def test_it_finds_what_the_index_finds_while_that_is_open_and_after(tmp_path: Path) -> None:
    index = Index.open(tmp_path, FINGERPRINT)
    put(index, "garden.md", *GARDEN, *(f"Line {n} on the gate." for n in range(50)))
    for query in ("notice period", "gate", "which gate is green?", "zebra 7"):
        expected = found(index, query)[:9]
        assert texts(tmp_path, query) == expected
        assert expected
    index.close()
    assert texts(tmp_path, "zebras") == ["Zebras graze."]
    (best, *_) = find_by_words(tmp_path, "zebras", 1, LONG_SECONDS)
    assert (best.file, best.headings, best.rare) == ("garden.md", ("Top", "Sub"), True)


def test_how_well_a_chunk_matches_compares_between_questions(index: Index, tmp_path: Path) -> None:
    put(index, "garden.md", *GARDEN, *(f"Line {n} on sheep." for n in range(50)))
    (whole, *_) = find_by_words(tmp_path, "zebras graze", 1, LONG_SECONDS)
    (part, *_) = find_by_words(tmp_path, "zebras swim far away", 1, LONG_SECONDS)
    assert part.text == whole.text
    assert part.match < whole.match / 2


def test_a_word_is_rare_where_few_files_hold_it_however_often_one_does(
    index: Index, tmp_path: Path
) -> None:
    for number in range(16):
        own = ("The lease ends.", "The lease is paid.") if number == 3 else ()
        put(index, f"{number}.md", f"Sheep graze on meadow {number}.", *own)

    def rare(query: str) -> set[bool]:
        return {each.rare for each in find_by_words(tmp_path, query, 9, LONG_SECONDS)}

    assert rare("lease") == {True}
    assert rare("sheep") == {False}
    assert rare("7") == {False}, "a short number stands in a text by chance"


def test_texts_without_an_index_are_matched_alike(index: Index, tmp_path: Path) -> None:
    put(index, "garden.md", *GARDEN)
    indexed = find_by_words(tmp_path, "a notice on zebras", 9, LONG_SECONDS)
    texts = [("garden.md", text) for text in GARDEN]
    found = match_texts("a notice on zebras", texts)
    assert {GARDEN[place]: (match, rare) for place, match, rare in found} == {
        each.text: (each.match, each.rare) for each in indexed
    }
    assert match_texts("anything", []) == ()


def test_what_is_being_written_does_not_keep_it_waiting(index: Index, tmp_path: Path) -> None:
    put(index, "garden.md", *GARDEN)
    writer = sqlite3.connect(tmp_path / INDEX_FILE, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM documents")
    assert texts(tmp_path, "zebras") == ["Zebras graze."]
    writer.close()


def test_when_the_time_is_over_nothing_is_found(index: Index, tmp_path: Path) -> None:
    put(index, "garden.md", *(f"Sheep number {n} graze." for n in range(3_000)))
    assert texts(tmp_path, "sheep graze number", seconds=0.0) == []
    assert len(texts(tmp_path, "sheep graze number")) == 9


def _no_file(path: Path) -> None:
    path.unlink(missing_ok=True)


def _a_folder(path: Path) -> None:
    _no_file(path)
    path.mkdir()


def _noise(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)


def _another_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def _another_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 99")
    connection.close()


def _spoilt_rows(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE chunks SET headings = '['")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "spoil", [_no_file, _a_folder, _noise, _another_version, _another_program, _spoilt_rows]
)
def test_where_no_index_of_ours_stands_nothing_is_found(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    index = Index.open(tmp_path, FINGERPRINT)
    put(index, "garden.md", *GARDEN)
    index.close()
    assert texts(tmp_path, "zebras")
    spoil(tmp_path / INDEX_FILE)
    assert texts(tmp_path, "zebras") == []


def test_its_documents_are_listed_as_the_index_lists_them(index: Index, tmp_path: Path) -> None:
    put(index, "garden.md", *GARDEN)
    assert [*read_documents(tmp_path)] == index.documents() != []
    assert read_documents(tmp_path / "elsewhere") == ()
    (tmp_path / INDEX_FILE).write_bytes(b"noise")
    assert read_documents(tmp_path) == ()


@pytest.mark.parametrize("query", ["", "   ", '"', "' OR 1", "NEAR(a b)", "\ud800", "?" * 9_000])
def test_any_query_will_do(index: Index, tmp_path: Path, query: str) -> None:
    put(index, "garden.md", *GARDEN)
    assert texts(tmp_path, query) == []


def test_it_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; before = {*sys.modules}; import servers.rag.index.reader; "
        "print(*{name.partition('.')[0] for name in {*sys.modules} - before})"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert loaded <= {*sys.stdlib_module_names, "core", "servers"}
    assert "servers" in loaded
