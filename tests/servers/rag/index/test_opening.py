"""Opening: what can't be ours is left alone, what is damaged is set aside, and each time said."""

import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from servers.rag.errors import IndexUnusable
from servers.rag.index.connections import IndexBusy, IndexDamaged, IndexFull, suspicion, unusable
from servers.rag.index.index import Index
from servers.rag.index.schema import FORMAT
from tests.servers.rag.index.made import FINGERPRINT, found, put


def made(folder: Path) -> Path:
    """The file of an index that holds something, closed."""
    index = Index.open(folder, FINGERPRINT)
    put(index, "a.md", *(f"apples and more {number}" for number in range(300)))
    index.close()
    return index.path


def scribble(path: Path) -> None:
    """Overwrite all but the first page."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\x5a" * (len(content) - 4096))


def test_an_index_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = path.read_bytes()
    with pytest.raises(IndexUnusable, match="newer version") as raised:
        Index.open(tmp_path, FINGERPRINT)
    assert "delete the file" in str(raised.value)
    assert path.read_bytes() == before


def test_an_index_of_an_older_version_is_set_aside_by_the_writer(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
    with pytest.raises(IndexUnusable, match="older version"):
        Index.open(tmp_path, FINGERPRINT, writer=False)
    index = Index.open(tmp_path, FINGERPRINT)
    assert "index.sqlite3.outdated" in index.notice
    assert (tmp_path / "index.sqlite3.outdated").exists()
    assert index.documents() == []
    index.close()


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(IndexUnusable, match="another program"):
        Index.open(tmp_path, FINGERPRINT)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]


def test_a_file_that_is_no_database_is_set_aside_by_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    path.write_text("not a database at all" * 500)
    with pytest.raises(IndexDamaged):
        Index.open(tmp_path, FINGERPRINT, writer=False)
    index = Index.open(tmp_path, FINGERPRINT)
    assert "index.sqlite3.damaged" in index.notice
    assert (tmp_path / "index.sqlite3.damaged").read_text().startswith("not a database")
    put(index, "a.md", "apples")
    assert found(index, "apples") == ["apples"]
    index.close()


def test_damage_met_in_use_is_a_fault_and_mended_at_the_next_opening(tmp_path: Path) -> None:
    path = made(tmp_path)
    scribble(path)
    with pytest.raises(IndexDamaged, match="built anew"):
        Index.open(tmp_path, FINGERPRINT)
    assert suspicion(path).exists()
    index = Index.open(tmp_path, FINGERPRINT)
    assert "damaged" in index.notice
    assert not suspicion(path).exists()
    assert index.check()
    index.close()


def test_a_suspicion_that_proves_wrong_costs_nothing(tmp_path: Path) -> None:
    path = made(tmp_path)
    suspicion(path).touch()
    index = Index.open(tmp_path, FINGERPRINT)
    assert index.notice == ""
    assert len(index.documents()) == 1
    assert not suspicion(path).exists()
    index.close()


def test_a_reader_goes_over_to_the_file_that_replaced_its_own(tmp_path: Path) -> None:
    made(tmp_path)
    reader = Index.open(tmp_path, FINGERPRINT, writer=False)
    counter, identity = reader.counter, reader.identity
    for name in ("index.sqlite3", "index.sqlite3-wal", "index.sqlite3-shm"):
        (tmp_path / name).rename(tmp_path / f"old-{name}")
    writer = Index.open(tmp_path, FINGERPRINT)
    put(writer, "b.md", "bananas")
    assert not reader.changes_since(counter).complete
    assert found(reader, "bananas apples") == ["bananas"]
    assert reader.identity != identity
    writer.close()
    reader.close()


def test_a_full_disk_is_said_and_the_old_state_stands(tmp_path: Path) -> None:
    index = Index.open(tmp_path, FINGERPRINT, pages_max=100)
    put(index, "a.md", "apples are red")
    many = [f"text {number} with words{number} of its own{number}" for number in range(5_000)]
    with pytest.raises(IndexFull, match="free some space"):
        put(index, "a.md", *many)
    assert found(index, "apples") == ["apples are red"]
    assert found(index, "words17") == []
    put(index, "b.md", "bananas")
    assert found(index, "bananas") == ["bananas"]
    assert index.check()
    index.close()


def test_an_index_is_for_this_user_alone_one_that_was_open_to_others_too(tmp_path: Path) -> None:
    path = made(tmp_path / "new")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    made(path.parent)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnusable, match="can't be made"):
        Index.open(tmp_path / "file" / "index", FINGERPRINT)


def test_a_path_that_is_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite3").mkdir()
    with pytest.raises(IndexUnusable, match="who may read and write"):
        Index.open(tmp_path, FINGERPRINT)


def test_faults_are_told_by_their_codes() -> None:
    def error(code: int) -> sqlite3.Error:
        made = sqlite3.OperationalError("what SQLite says")
        made.sqlite_errorcode = code
        return made

    path = Path("index.sqlite3")
    assert isinstance(unusable(error(sqlite3.SQLITE_BUSY_SNAPSHOT), path), IndexBusy)
    assert isinstance(unusable(error(sqlite3.SQLITE_CORRUPT_VTAB), path), IndexDamaged)
    assert "disk fails" in str(unusable(error(sqlite3.SQLITE_IOERR_READ), path))
    assert "what SQLite says" in str(unusable(sqlite3.OperationalError("what SQLite says"), path))


def test_threads_read_while_another_writes(tmp_path: Path) -> None:
    index = Index.open(tmp_path, FINGERPRINT)
    put(index, "a.md", "apples one", "apples two")
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(len(index.search_words("apples", 50)))
            index.chunks_without_vectors(5)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for number in range(10):
            put(index, "a.md", f"apples one {number}", f"apples two {number}")
        done.set()
        for reader in readers:
            reader.result(10)
    assert {*seen} == {2}
    index.tidy()
    assert found(index, "apples 9") == ["apples one 9", "apples two 9"]
    index.close()


def test_several_may_make_the_index_at_the_same_moment(tmp_path: Path) -> None:
    start = threading.Barrier(4)

    def identity(number: int) -> str:
        start.wait(10)
        index = Index.open(tmp_path, FINGERPRINT, writer=number == 0)
        known = index.identity
        index.close()
        return known

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(identity, range(4))}) == 1
