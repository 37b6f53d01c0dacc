"""The documents' commands over a library in memory: what they say, and their exit codes."""

import io
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.base.clock import Clock
from modules.cli.command_line import parse_command
from modules.cli.docs import task_of
from servers.rag.command import read_task, run
from servers.rag.errors import EXIT_DONE, EXIT_NOTHING_FOUND, EXIT_USAGE, Refused
from servers.rag.indexing.progress import FileNoted, IndexNoted, IndexProgress, OnEvent, SyncReport
from servers.rag.library.management import manage
from servers.rag.library.options import DocumentOptions
from servers.rag.library.reporter import Reporter
from servers.rag.passages import SearchResult
from tests.servers.rag.indexing.doubles import eventually
from tests.servers.rag.library.fake_library import FakeLibrary, entry, passage


@dataclass
class Place:
    """A document folder, a library, and what was said."""

    folder: Path
    library: FakeLibrary = field(default_factory=FakeLibrary)
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)

    def manage(self, *words: str) -> int:
        options = DocumentOptions(folders=(self.folder,), index_folder=self.folder.parent / "index")

        def open_library(_: DocumentOptions, __: OnEvent) -> FakeLibrary:
            return self.library

        found = read_task(task_of(parse_command(["docs", *words])))
        code = manage(found, options, Reporter(self.out, self.err), open_library)
        assert self.library.closed
        return code


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "docs").mkdir()
    return Place(tmp_path / "docs")


def test_a_search_brings_the_index_up_to_date_and_prints_passages(place: Place) -> None:
    assert place.manage("search", "how", "often", "--top-k", "2") == EXIT_DONE
    assert place.library.syncs == ["sync"]
    assert place.library.asked == [("how often", 2, None, "hybrid")]
    assert place.out.getvalue().startswith("1. garden.md, line 3")
    assert place.out.getvalue().endswith("[Source: garden.md, ID: 12]\n")


def test_only_what_needs_vectors_waits_for_them(place: Place) -> None:
    for words in (["search", "x", "--mode", "words"], ["search", "x"], ["list"]):
        assert place.manage(*words) == EXIT_DONE
    assert place.library.syncs == ["sync without vectors", "sync", "sync without vectors"]


def test_a_search_as_json_holds_all_that_is_known_of_a_passage(place: Place) -> None:
    assert place.manage("search", "x", "--json") == EXIT_DONE
    found = json.loads(place.out.getvalue())
    assert found["passages"][0] == {
        "file": "garden.md", "id": 12, "score": 0.831, "cosine": 0.5, "page": None, "line": 3,
        "headings": ["Garden", "Watering"], "text": "Water it.",
    }  # fmt: skip


def test_nothing_found_is_said_and_has_an_exit_code_of_its_own(place: Place) -> None:
    place.library.found = SearchResult((), "Nothing fits.")
    assert place.manage("search", "x") == EXIT_NOTHING_FOUND
    assert (place.out.getvalue(), place.err.getvalue()) == ("", "[docs] Nothing fits.\n")


def test_another_process_that_writes_is_left_to_it(place: Place) -> None:
    place.library.writer_process = 1
    assert place.manage("search", "x") == EXIT_DONE
    assert place.library.syncs == []
    assert "process 1 keeps the index up to date" in place.err.getvalue()


def test_files_are_added_and_one_whose_name_is_taken_is_refused(
    place: Place, tmp_path: Path
) -> None:
    for name, text in (("a.md", "new"), ("b.md", "other"), ("docs/b.md", "mine")):
        (tmp_path / name).write_text(text)
    assert place.manage("add", str(tmp_path / "a.md")) == EXIT_DONE
    assert (place.folder / "a.md").read_text() == "new"
    assert place.library.syncs == ["sync"]
    assert place.manage("add", str(tmp_path / "b.md")) == EXIT_USAGE
    assert (place.folder / "b.md").read_text() == "mine"
    assert place.out.getvalue().splitlines()[0] == "added    a.md"
    assert "refused  b.md (another file has this name" in place.out.getvalue()
    with pytest.raises(Refused, match="is not there"):
        place.manage("add", str(tmp_path / "gone.md"))


def test_what_is_added_is_waited_for_where_another_process_reads_it(
    place: Place, tmp_path: Path
) -> None:
    place.library.writer_process = 1
    new = entry("a.md", str(place.folder / "a.md"))
    place.library.later_entries = [[], [], [new]]
    (tmp_path / "a.md").write_text("new")
    assert place.manage("add", str(tmp_path / "a.md")) == EXIT_DONE
    assert (place.library.syncs, place.library.later_entries) == ([], [])
    assert "as soon as" not in place.err.getvalue()


def test_a_document_is_deleted_only_if_that_is_certain_and_it_is_one(
    place: Place, tmp_path: Path
) -> None:
    (place.folder / "a.md").write_text("x")
    (tmp_path / "outside.md").write_text("x")
    (place.folder / "out.md").symlink_to(tmp_path / "outside.md")
    place.library.entries = [entry("docs/a.md", str(place.folder / "a.md"))]
    with pytest.raises(Refused, match="--yes"):  # no terminal here, where it would ask
        place.manage("remove", "docs/a.md")
    for outside in ("../outside.md", str(tmp_path / "outside.md"), "out.md", "gone.md"):
        with pytest.raises(Refused):
            place.manage("remove", "--yes", outside)
    assert (tmp_path / "outside.md").exists()
    assert (place.folder / "a.md").exists()
    assert place.manage("remove", "--yes", "docs/a.md") == EXIT_DONE
    assert not (place.folder / "a.md").exists()
    assert place.library.syncs == ["sync without vectors"]


def test_documents_are_listed_and_the_status_says_what_went_wrong(place: Place) -> None:
    broken = entry("b.pdf", status="failed", note="it is encrypted", chunks=0)
    place.library.entries = [entry("a.md"), broken]
    assert place.manage("list") == EXIT_DONE
    assert place.manage("list", "--json") == EXIT_DONE
    assert place.manage("status") == EXIT_DONE
    text = place.out.getvalue()
    assert "a.md: 2.0 kB, 3 passages\nb.pdf: 2.0 kB, failed (it is encrypted)\n[{" in text
    for line in (
        f"folder     {place.folder}",
        "documents  2, in 7 passages",
        "embedder   minilm",
        "waiting    1 passages for their vectors",
        "note       slow disk",
        "noted      b.pdf: 2.0 kB, failed (it is encrypted)",
    ):
        assert line in text.splitlines()


def test_status_and_reindex_speak_json(place: Place) -> None:
    assert place.manage("status", "--json") == EXIT_DONE
    assert place.manage("reindex", "--json") == EXIT_DONE
    status, reindexed = map(json.loads, place.out.getvalue().splitlines())
    assert (status["documents"], status["embedder"], status["noted"]) == (2, "minilm", [])
    assert reindexed == {"documents": 2, "chunks": 7}
    assert place.library.syncs == ["reindex"]


def test_an_empty_folder_is_told_with_what_to_do(place: Place) -> None:
    assert place.manage("list") == EXIT_DONE
    assert place.out.getvalue() == ""
    assert "docs add PATH" in place.err.getvalue()


def test_options_that_cannot_be_used_are_bad_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORTEX_DOCUMENTS", '{"folders": []}')
    assert run(read_task('{"action": "status"}')) == EXIT_USAGE
    assert "CORTEX_DOCUMENTS" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def reporter(stream: io.StringIO, clock: Clock, *, is_quiet: bool = False) -> Reporter:
    return Reporter(io.StringIO(), stream, is_quiet=is_quiet, clock=clock)


def test_a_terminal_gets_one_line_that_is_written_over_and_left_empty() -> None:
    stream, ticks = Terminal(), iter((0.0, 0.01, 1.0))
    told = reporter(stream, lambda: next(ticks))
    for done in range(3):
        told.hear(IndexProgress(done, 4, 0, 0, "a\x1b[2J.md"))
    told.end()
    lines = stream.getvalue().split("\r\x1b[2K")
    assert [line[21:30] for line in lines[1:-1]] == ["0/4 files", "2/4 files"]
    assert lines[-1] == ""
    assert "\x1b[2J" not in stream.getvalue()


def test_a_log_gets_few_lines_and_who_wants_quiet_none() -> None:
    stream, ticks = io.StringIO(), iter(range(100))
    told = reporter(stream, lambda: float(next(ticks)))
    for done in range(8):
        told.hear(IndexProgress(done, 9, 0, 0))
    told.hear(IndexProgress(9, 9, 0, 0))
    told.hear(FileNoted("b.pdf", "failed", "encrypted\nfile"))
    told.hear(IndexNoted("the disk is full"))
    told.hear(SyncReport(added=2, failed=1, complete=False))
    told.hear(SyncReport(unchanged=3))
    lines = stream.getvalue().splitlines()
    assert [line.partition(" files")[0][-3:] for line in lines[:2]] == ["0/9", "5/9"]
    assert lines[2:] == [
        "[docs] b.pdf: failed: encrypted file",
        "[docs] the disk is full",
        "[docs] 2 added, 1 not readable, the rest is left for the next run",
    ]
    silent = io.StringIO()
    told = reporter(silent, lambda: 0.0, is_quiet=True)
    told.hear(IndexProgress(0, 9, 0, 0))
    told.hear(IndexNoted("x"))
    assert silent.getvalue() == ""


def test_what_takes_long_is_named_and_its_line_is_left_empty() -> None:
    stream = Terminal()
    told = Reporter(io.StringIO(), stream, wait_shown_seconds=0.001)
    with told.waiting_for("the index"):
        assert eventually(lambda: "waiting for the index · 0.0 s" in stream.getvalue())
    assert stream.getvalue().endswith("\r\x1b[2K")


@pytest.mark.parametrize(("is_quiet", "stream"), [(True, Terminal()), (False, io.StringIO())])
def test_waits_are_no_business_of_a_log_nor_of_who_wants_quiet(
    is_quiet: bool, stream: io.StringIO
) -> None:
    before = threading.active_count()
    told = Reporter(io.StringIO(), stream, is_quiet=is_quiet, wait_shown_seconds=0.001)
    with told.waiting_for("the index"):
        assert threading.active_count() == before
    assert stream.getvalue() == ""


def test_what_a_document_holds_cannot_move_the_cursor(place: Place) -> None:
    place.library.found = SearchResult((passage("a\x1b[2Jb\nc"),))
    assert place.manage("search", "x") == EXIT_DONE
    assert "a [2Jb\nc" in place.out.getvalue()
