"""The index follows the folders: added, changed, moved, removed, damaged and restless files."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from servers.rag.errors import EmbedderUnavailable
from servers.rag.index.index import Index
from servers.rag.indexing.indexer import Indexer
from servers.rag.indexing.progress import (
    FileNoted,
    IndexEvent,
    IndexNoted,
    IndexProgress,
    SyncReport,
)
from servers.rag.library.options import DocumentOptions
from servers.rag.passages import DocumentEntry
from servers.reading.source import Extracted, TakesLong
from tests.servers.rag.indexing.doubles import (
    LONG_AGO_NS,
    SOON_SECONDS,
    LetterEmbedder,
    PlainExtractor,
    options,
    write,
)


@dataclass
class Bench:
    """A folder, its index, and what indexes it."""

    home: Path
    index: Index
    extractor: PlainExtractor = field(default_factory=PlainExtractor)
    embedder: LetterEmbedder = field(default_factory=LetterEmbedder)
    events: list[IndexEvent] = field(default_factory=list[IndexEvent])

    def indexer(self, options_: DocumentOptions | None = None) -> Indexer:
        return Indexer(
            options_ or options(self.home),
            self.index,
            self.extractor,
            self.embedder,
            self.events.append,
            settle_seconds=0,
        )

    def sync(self, *, anew: bool = False, **others: object) -> SyncReport:
        self.extractor.read.clear()
        self.events.clear()
        return self.indexer(options(self.home, **others)).sync(anew=anew)

    def write(self, name: str, text: str, modified_ns: int = LONG_AGO_NS) -> Path:
        return write(self.home / "documents" / name, text, modified_ns)

    def entries(self) -> dict[str, DocumentEntry]:
        return {entry.file: entry for entry in self.index.documents()}

    def found(self, word: str) -> set[str]:
        hits = [hit.chunk_id for hit in self.index.search_words(word, 10)]
        return {chunk.file for chunk in self.index.chunks(hits)}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    index = Index.open(tmp_path / "index", "letters-1")
    yield Bench(tmp_path, index)
    index.close()


def test_new_files_are_found_by_their_words_before_anything_is_embedded(bench: Bench) -> None:
    bench.write("apple.md", "# Apple\n\nAn orchard of apples.")
    bench.write("deep/pear.md", "# Pear\n\nA single pear.")

    report = bench.sync()

    assert report == SyncReport(added=2)
    assert bench.found("orchard") == {"apple.md"}
    assert bench.found("single") == {"deep/pear.md"}
    assert bench.embedder.embedded == []


def test_vectors_follow_and_nothing_is_embedded_twice(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()

    assert bench.indexer().fill_vectors() == 1
    assert bench.indexer().fill_vectors() == 0
    assert bench.index.counts().chunks_without_vectors == 0


def test_an_unchanged_folder_is_left_alone(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    before = bench.index.counter

    assert bench.sync() == SyncReport(unchanged=1)
    assert bench.extractor.read == []
    assert bench.index.counter == before


def test_only_the_changed_file_is_read_and_only_its_new_chunks_lack_vectors(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.write("pear.md", long_text("pear"))
    bench.sync()
    bench.indexer().fill_vectors()
    embedded = len(bench.embedder.embedded)

    bench.write("pear.md", long_text("pear") + "\n\n# Later\n\nA quince.", LONG_AGO_NS + 1)

    assert bench.sync() == SyncReport(changed=1, unchanged=1)
    assert bench.extractor.read == ["pear.md"]
    assert bench.found("quince") == {"pear.md"}
    bench.indexer().fill_vectors()
    assert len(bench.embedder.embedded) == embedded + 1


def test_a_touched_file_with_the_same_content_is_not_read(bench: Bench) -> None:
    path = bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    os.utime(path, ns=(LONG_AGO_NS + 9, LONG_AGO_NS + 9))

    assert bench.sync() == SyncReport(unchanged=1)
    assert bench.extractor.read == []
    assert bench.entries()["apple.md"].modified_ns == LONG_AGO_NS + 9


def test_a_file_written_just_now_is_looked_into_once_more(bench: Bench) -> None:
    path = bench.write("apple.md", "An orchard of apples.")
    path.touch()
    bench.sync()
    about = path.stat()
    path.write_text("An orchard of cherry.", encoding="utf-8")  # as long as before
    os.utime(path, ns=(about.st_mtime_ns, about.st_mtime_ns))  # ... and within the clock's tick

    assert bench.sync().changed == 1
    assert bench.found("cherry") == {"apple.md"}


def test_a_renamed_file_keeps_its_vectors_and_is_not_read(bench: Bench) -> None:
    path = bench.write("apple.md", "An orchard of apples.")
    bench.write("pear.md", "Pears of equal size..")
    bench.sync()
    bench.indexer().fill_vectors()
    (bench.home / "documents/fruit").mkdir()
    path.rename(bench.home / "documents/fruit/renamed.md")

    assert bench.sync() == SyncReport(renamed=1, unchanged=1)
    assert bench.extractor.read == []
    assert bench.found("orchard") == {"fruit/renamed.md"}
    assert bench.index.counts().chunks_without_vectors == 0


def test_a_file_moved_over_another_takes_its_place(bench: Bench) -> None:
    path = bench.write("apple.md", "An orchard of apples.")
    bench.write("pear.md", "A single pear.")
    bench.sync()
    path.rename(bench.home / "documents/pear.md")

    assert bench.sync() == SyncReport(renamed=1)
    assert bench.found("orchard") == {"pear.md"}
    assert bench.found("single") == set()


def test_a_deleted_file_is_gone_with_its_chunks(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.").unlink()
    path = bench.write("pear.md", "A single pear.")
    bench.sync()
    path.unlink()

    assert bench.sync() == SyncReport(removed=1)
    assert bench.found("pear") == set()
    assert bench.index.counts().chunks == 0


def test_a_folder_that_is_away_keeps_its_documents(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    (bench.home / "documents").rename(bench.home / "unplugged")
    away = DocumentOptions(folders=(bench.home / "documents",), index_folder=bench.home / "index")

    assert bench.indexer(away).sync() == SyncReport()
    assert bench.found("orchard") == {"apple.md"}
    assert any(isinstance(event, IndexNoted) for event in bench.events)


def test_a_second_folder_renames_and_reads_nothing_again(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    write(bench.home / "notes/pear.md", "A single pear.")

    folders = [bench.home / "documents", bench.home / "notes"]
    assert bench.sync(folders=folders) == SyncReport(added=1, renamed=1)
    assert bench.extractor.read == ["pear.md"]
    assert set(bench.entries()) == {"documents/apple.md", "notes/pear.md"}


def test_a_file_of_the_same_name_in_another_folder_is_read(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    write(bench.home / "notes/apple.md", "An orchard of plums!!")

    assert bench.sync(folders=[bench.home / "notes"]) == SyncReport(changed=1)
    assert bench.found("plums") == {"apple.md"}


def test_single_files_are_looked_at_without_looking_at_the_others(bench: Bench) -> None:
    paths = [bench.write(f"{name}.md", f"An {name}.") for name in ("apple", "elder", "olive")]
    bench.sync()
    bench.write("apple.md", "An apricot.", LONG_AGO_NS + 1)
    paths[1].rename(paths[1].with_name("moved.md"))
    paths[2].unlink()
    unheard = bench.write("unheard.md", "An unheard change.")
    heard = {str(path) for path in (*paths, paths[1].with_name("moved.md"))}

    report = bench.indexer().sync_paths(heard)

    assert report == SyncReport(changed=1, renamed=1, removed=1)
    assert set(bench.entries()) == {"apple.md", "moved.md"}
    assert bench.found("apricot") == {"apple.md"}
    assert bench.indexer().sync_paths({str(unheard)}) == SyncReport(added=1)


@pytest.mark.parametrize("place", ["sub", "gone", "link/apple.md"])
def test_what_a_look_at_one_place_cannot_tell_is_told_by_a_look_at_all(
    bench: Bench, place: str
) -> None:
    bench.write("sub/apple.md", "An orchard of apples.")
    (bench.home / "documents/link").symlink_to(bench.home / "documents/sub")

    assert bench.indexer().sync_paths({str(bench.home / "documents" / place)}).added == 1
    assert set(bench.entries()) == {"sub/apple.md"}


def test_a_damaged_file_is_noted_once_and_tried_again_when_it_changes(bench: Bench) -> None:
    bench.write("apple.md", "broken")
    bench.write("pear.md", "A single pear.")

    assert bench.sync() == SyncReport(added=1, failed=1)
    assert FileNoted("apple.md", "failed", "the file is damaged") in bench.events
    assert bench.entries()["apple.md"].note == "the file is damaged"
    assert bench.sync() == SyncReport(unchanged=2)

    bench.write("apple.md", "An orchard of apples.", LONG_AGO_NS + 1)
    assert bench.sync() == SyncReport(changed=1, unchanged=1)
    assert bench.found("orchard") == {"apple.md"}


def test_a_file_without_text_is_listed_as_empty(bench: Bench) -> None:
    bench.write("apple.md", "  \n")

    assert bench.sync().added == 1
    assert bench.entries()["apple.md"].status == "empty"
    assert bench.entries()["apple.md"].note == "it holds no text"


def test_what_is_not_read_is_listed_with_its_reason_and_taken_up_later(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")

    assert bench.sync(file_bytes=5) == SyncReport(skipped=1)
    assert bench.entries()["apple.md"].status == "skipped"
    assert bench.sync(file_bytes=5) == SyncReport(unchanged=1)
    assert bench.sync() == SyncReport(changed=1)


def test_what_is_ignored_later_leaves_the_index(bench: Bench) -> None:
    bench.write("drafts/apple.md", "An orchard of apples.")
    bench.sync()

    assert bench.sync(ignore=["drafts/"]) == SyncReport(removed=1)


def test_a_file_that_changes_once_while_it_is_read_is_read_again(bench: Bench) -> None:
    def write_on(path: Path) -> None:
        if len(bench.extractor.read) == 1:
            path.write_text("A single pear.", encoding="utf-8")

    bench.extractor = PlainExtractor(write_on)
    bench.write("apple.md", "An orchard of apples.")

    assert bench.sync() == SyncReport(added=1)
    assert bench.found("orchard") == set()
    assert bench.found("pear") == {"apple.md"}


def test_a_file_that_never_holds_still_is_taken_as_it_is_and_said_so(bench: Bench) -> None:
    def write_on(path: Path) -> None:
        path.write_text(path.read_text(encoding="utf-8") + " more", encoding="utf-8")

    bench.extractor = PlainExtractor(write_on)
    bench.write("log.md", "Begun.")

    assert bench.sync() == SyncReport(added=1, unsettled=1)
    assert bench.extractor.read == ["log.md"] * 3
    assert "being written" in bench.entries()["log.md"].note
    bench.extractor = PlainExtractor()
    assert bench.sync() == SyncReport(changed=1)
    assert bench.entries()["log.md"].note == ""


def test_a_file_that_disappears_while_it_is_read_is_not_listed(bench: Bench) -> None:
    def remove(path: Path) -> None:
        path.unlink()

    bench.extractor = PlainExtractor(remove)
    bench.write("apple.md", "broken")

    assert bench.sync() == SyncReport()
    assert bench.entries() == {}


def test_what_is_read_anew_keeps_its_vectors(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.sync()
    bench.indexer().fill_vectors()

    assert bench.sync(anew=True) == SyncReport(changed=1)
    assert bench.extractor.read == ["apple.md"]
    assert bench.index.counts().chunks_without_vectors == 0


def test_a_run_that_is_cancelled_keeps_what_it_wrote_and_the_next_does_the_rest(
    bench: Bench,
) -> None:
    for number in range(20):
        bench.write(f"{number}.md", f"Text number {number}.")
    indexer = bench.indexer()

    def cancel(_: Path) -> None:
        if len(bench.extractor.read) == 8:
            indexer.cancel()

    bench.extractor = PlainExtractor(cancel)
    indexer = bench.indexer()

    report = indexer.sync()
    assert not report.complete
    assert report.added < 8
    rest = bench.sync()
    assert (rest.added, rest.unchanged, rest.complete) == (20 - report.added, report.added, True)


def test_an_embedder_that_is_down_leaves_words_and_is_made_up_for(bench: Bench) -> None:
    bench.write("apple.md", "An orchard of apples.")
    bench.embedder.down = True
    bench.sync()

    with pytest.raises(EmbedderUnavailable):
        bench.indexer().fill_vectors()
    assert bench.found("orchard") == {"apple.md"}
    bench.embedder.down = False
    assert bench.indexer().fill_vectors() == 1


def test_progress_counts_files_and_chunks_to_their_ends(bench: Bench) -> None:
    for number in range(3):
        bench.write(f"{number}.md", f"Text number {number}.")
    indexer = bench.indexer()

    indexer.sync()
    indexer.fill_vectors()

    told = [event for event in bench.events if isinstance(event, IndexProgress)]
    assert [event.files_done for event in told] == sorted(event.files_done for event in told)
    assert indexer.progress == IndexProgress(3, 3, 3, 3, told[-1].file)


def long_text(word: str) -> str:
    """Sections that each make a chunk of their own."""
    sections = (f"# Part {number}\n\n" + f"{word} {number} " * 80 for number in range(3))
    return "\n\n".join(sections)


class SlowExtractor(PlainExtractor):
    """Takes long over what begins with `slow`, until `gate` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.is_at_it = threading.Event(), threading.Event()

    def extract(self, path: Path, within_seconds: float | None = None) -> Extracted:
        if path.name.startswith("slow"):
            if within_seconds is not None:
                raise TakesLong("it takes long")
            self.is_at_it.set()
            assert self.gate.wait(SOON_SECONDS)
        return super().extract(path)


def test_no_file_waits_for_one_that_takes_long(bench: Bench) -> None:
    bench.extractor = slow = SlowExtractor()
    indexer = bench.indexer()
    bench.write("slow.md", "A slow pear.")
    bench.write("apple.md", "An orchard of apples, larger than the slow one.")
    indexer.sync()
    assert bench.found("orchard") == {"apple.md"}
    assert "takes long" in bench.entries()["slow.md"].note
    reading = threading.Thread(target=indexer.read_slow)
    reading.start()
    try:
        assert slow.is_at_it.wait(SOON_SECONDS)
        uploaded = bench.write("plum.md", "A plum.")
        indexer.sync_paths({str(uploaded)})
        indexer.sync()
        assert bench.found("plum") == {"plum.md"}
        assert not bench.found("pear")
    finally:
        slow.gate.set()
        reading.join(SOON_SECONDS)
    assert bench.found("pear") == {"slow.md"}
    assert not bench.entries()["slow.md"].note
    assert not indexer.read_slow()


def test_what_was_read_of_a_file_stays_until_it_is_read_again_slowly(bench: Bench) -> None:
    bench.write("slow.md", "An old pear.")
    bench.sync()
    bench.extractor = slow = SlowExtractor()
    slow.gate.set()
    indexer = bench.indexer()
    bench.write("slow.md", "A new plum.", LONG_AGO_NS + 1_000)
    indexer.sync()
    assert bench.found("pear") == {"slow.md"}
    assert indexer.read_slow()
    assert (bench.found("pear"), bench.found("plum")) == (set(), {"slow.md"})
