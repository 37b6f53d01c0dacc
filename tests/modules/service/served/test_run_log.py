"""Files of runs: what is read back, whatever happened to the disk and to the process."""

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.redaction import Redactor
from core.values import Json, JsonObject
from modules.service.served.events import ServiceEvent
from modules.service.served.run_log import (
    RUNS_BYTES_KEPT,
    RUNS_FOLDER,
    RUNS_KEPT,
    RunFacts,
    RunLog,
    log_file,
    read_log,
)

ID = "ab" * 16

FACTS = RunFacts("notes", "default", "cd" * 16)

REDACTOR = Redactor({})


def event(number: int, text: str = "x", name: str = "notice") -> ServiceEvent:
    fields: JsonObject = {"type": name, "run": ID, "at": 7.5, "source": "s", "text": text}
    return ServiceEvent(number, name, fields)


def written(home: Path, events: list[ServiceEvent], id_: str = ID) -> Path:
    """The file of a run that has ended."""
    log = RunLog(home, id_, FACTS, REDACTOR)
    for each in events:
        log.write(each)
    log.close()
    return log_file(home, id_)


def read(home: Path) -> list[ServiceEvent]:
    kept = read_log(home, ID)
    assert kept is not None
    return kept.events


@contextmanager
def no_file_over(size_bytes: int) -> Generator[None]:
    """Let the kernel refuse what would make a file larger, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(texts=st.lists(st.text(), max_size=5), value=JSON)
def test_whatever_is_in_an_event_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], value: Json
) -> None:
    home = tmp_path_factory.getbasetemp()  # one for all examples: a new folder waits for the disk
    log_file(home, ID).unlink(missing_ok=True)
    events = [event(number, text) for number, text in enumerate(texts, 1)]
    events.append(ServiceEvent(len(events) + 1, "tool.complete", {"result": value}))
    written(home, events)
    kept = read_log(home, ID)
    assert kept is not None
    assert (kept.facts, kept.events, kept.is_going_on) == (FACTS, events, False)


def test_line_ends_of_other_alphabets_and_half_characters_are_no_ends(tmp_path: Path) -> None:
    events = [event(1, "a\u2028b\x85c\x0bd\r\ne"), event(2, "half \ud83d of a face")]
    written(tmp_path, events)
    assert read(tmp_path) == events


@pytest.mark.parametrize("left", range(2, 40, 3))
def test_a_line_that_was_not_written_to_its_end_is_no_event(tmp_path: Path, left: int) -> None:
    file = written(tmp_path, [event(1), event(2)])
    os.truncate(file, file.stat().st_size - left)
    assert read(tmp_path) == [event(1)]


@pytest.mark.parametrize(
    "head", [b"", b"\n", b"{", b"[1]\n", b"null\n", b"\xff\xfe\n", b"[" * 99999]
)
def test_a_file_that_is_not_ours_holds_no_events(tmp_path: Path, head: bytes) -> None:
    file = written(tmp_path, [])
    file.write_bytes(head)
    kept = read_log(tmp_path, ID)
    assert kept is not None
    assert (kept.facts, kept.events) == (RunFacts(), [])


def test_who_writes_holds_it_until_the_last_event(tmp_path: Path) -> None:
    log = RunLog(tmp_path, ID, FACTS, REDACTOR)
    log.write(event(1))
    for _ in range(2):  # a look at it takes nothing away
        kept = read_log(tmp_path, ID)
        assert kept is not None
        assert (kept.events, kept.is_going_on) == ([event(1)], True)
    log.write(event(2, name="response.done"), is_last=True)
    log.write(event(3))
    kept = read_log(tmp_path, ID)
    assert kept is not None
    assert (len(kept.events), kept.is_going_on) == (2, False)


def test_what_a_full_disk_refused_is_told_in_its_place(tmp_path: Path) -> None:
    log = RunLog(tmp_path, ID, FACTS, REDACTOR)
    log.write(event(1))
    with no_file_over(log_file(tmp_path, ID).stat().st_size + 40):
        assert log.write(event(2, "y" * 100)) > 100
    log.write(event(3))
    log.write(event(4, name="response.done"), is_last=True)
    first, lost, last = read(tmp_path)
    assert (first, last.id, last.name) == (event(1), 3, "response.done")
    assert lost.data["text"] == "2 events could not be kept: the disk was full, or failed"


def test_a_folder_that_cant_be_made_costs_the_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / RUNS_FOLDER).write_text("in the way")
    log = RunLog(tmp_path, ID, FACTS, REDACTOR)
    assert log.write(event(1)) > 10
    log.write(event(2), is_last=True)
    assert read_log(tmp_path, ID) is None


def test_no_run_and_no_regular_file(tmp_path: Path) -> None:
    assert read_log(tmp_path, ID) is None
    (tmp_path / RUNS_FOLDER).mkdir()
    os.mkfifo(log_file(tmp_path, ID))
    assert read_log(tmp_path, ID) is None


def test_the_oldest_of_too_many_files_go(tmp_path: Path) -> None:
    for number in range(RUNS_KEPT + 3):
        file = written(tmp_path, [], f"{number:032x}")
        os.utime(file, (number, number))
    written(tmp_path, [])
    left = {path.stem for path in (tmp_path / RUNS_FOLDER).iterdir()}
    assert len(left) == RUNS_KEPT
    assert left >= {ID, f"{RUNS_KEPT + 2:032x}"}
    assert f"{3:032x}" not in left


def test_the_oldest_of_too_large_files_go(tmp_path: Path) -> None:
    for number in range(3):
        file = written(tmp_path, [], f"{number:032x}")
        os.truncate(file, RUNS_BYTES_KEPT // 2)  # a hole takes no room
        os.utime(file, (number, number))
    written(tmp_path, [])
    left = {path.stem for path in (tmp_path / RUNS_FOLDER).iterdir()}
    assert left == {ID, f"{1:032x}", f"{2:032x}"}
