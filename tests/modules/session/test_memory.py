"""The items of a session: added, kept on the disk, and found again."""

import json
import os
from pathlib import Path

import pytest

from core.errors import StorageError
from core.turn import SANDBOX_STEP, MemoryItem
from modules.session.memory import MemoryManager
from tests.modules.session.opened import opened

SESSION = "2026/11/21/session-1795000000-a1b2c3"


def note(text: str, **fields: object) -> MemoryItem:
    return MemoryItem.model_validate(
        {"timestamp": 1.5, "type": "run_metadata", "text": text, **fields}
    )


def texts(memory: MemoryManager) -> list[str]:
    return [item.text for item in memory.get_session_items()]


def test_making_and_loading_a_manager_writes_nothing(tmp_path: Path) -> None:
    memory = opened(SESSION, tmp_path / "memory")
    assert memory.get_session_items() == []
    assert list(tmp_path.iterdir()) == []


def test_every_item_is_on_disk_when_add_returns_and_no_other_file_is(tmp_path: Path) -> None:
    memory = MemoryManager(SESSION, tmp_path)
    for count, text in enumerate(["one", "zwei ✓", "three"], 1):
        memory.add(note(text))
        document = json.loads(memory.path.read_text(encoding="utf-8"))
        assert [element["text"] for element in document] == ["one", "zwei ✓", "three"][:count]
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [memory.path]
    assert memory.path.read_text(encoding="utf-8").startswith(
        '[\n  {\n    "format": 2,\n    "timestamp": 1.5,\n'
    )


def test_an_empty_session_can_be_saved(tmp_path: Path) -> None:
    memory = MemoryManager(SESSION, tmp_path)
    memory.save()
    assert json.loads(memory.path.read_bytes()) == []
    assert opened(SESSION, tmp_path).take_warnings() == []


def test_a_session_is_continued_where_it_was_left(tmp_path: Path) -> None:
    MemoryManager(SESSION, tmp_path).add(note("first"))
    again = opened(SESSION, tmp_path)
    again.add(note("second"))
    assert texts(opened(SESSION, tmp_path)) == ["first", "second"]


def test_a_flat_session_is_found_again_under_its_full_id(tmp_path: Path) -> None:
    opened(SESSION, tmp_path, structure="flat").add(note("kept"))
    assert texts(opened(SESSION, tmp_path, structure="flat")) == ["kept"]


def test_a_session_counts_as_kept_while_its_items_reach_the_disk(tmp_path: Path) -> None:
    memory = MemoryManager(SESSION, tmp_path)
    assert not memory.is_kept
    memory.add(note("first"))
    assert memory.is_kept
    memory.stop_writing(StorageError("no room"))
    assert not memory.is_kept
    memory.load()
    assert memory.is_kept


def test_disabled_memory_lives_in_the_process_only(tmp_path: Path) -> None:
    memory = opened(SESSION, tmp_path / "memory", enabled=False)
    memory.add(note("here"))
    memory.save()
    memory.load()
    assert texts(memory) == ["here"]
    assert list(tmp_path.iterdir()) == []


def test_tool_calls_and_outputs_become_items_of_the_documented_form(tmp_path: Path) -> None:
    memory = MemoryManager(SESSION, tmp_path, clock=lambda: 12.5)
    memory.add_tool_call("add", {"input": {"a": 1}}, tags=["x"])
    memory.add_tool_output("add", {"input": {"a": 1}}, {"result": 3}, success=True)
    call, output = memory.get_session_items()
    assert (call.type, call.tool_name, call.timestamp, call.tags) == (
        "tool_call",
        "add",
        12.5,
        ["x"],
    )
    assert call.tool_args == {"input": {"a": 1}}
    assert (output.type, output.tool_result, output.success) == (
        "tool_output",
        {"result": 3},
        True,
    )
    assert "3" in output.text
    assert output.session_id == SESSION


def test_recent_successes_are_newest_first_each_once_and_tools_only(tmp_path: Path) -> None:
    memory = MemoryManager(SESSION, tmp_path, enabled=False)
    for name, success in [
        ("add", True),
        ("divide", False),
        ("sin", True),
        ("add", True),
        (SANDBOX_STEP, True),
        ("cos", True),
    ]:
        memory.add_tool_output(name, {}, {}, success)
    memory.add_tool_call("tan", {})
    assert memory.find_recent_successes() == ["cos", "add", "sin"]
    assert memory.find_recent_successes(limit=2) == ["cos", "add"]
    assert memory.find_recent_successes(limit=0) == []


def test_what_cannot_be_written_stays_in_memory_and_is_written_later(tmp_path: Path) -> None:
    blocker = tmp_path / "memory"
    blocker.write_text("a file where the folder should be")
    memory = opened("notes", blocker)
    with pytest.raises(StorageError, match="CORTEX_HOME"):
        memory.add(note("one"))
    assert texts(memory) == ["one"]
    blocker.unlink()
    memory.add(note("two"))
    assert texts(opened("notes", blocker)) == ["one", "two"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_a_storage_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="Permission denied"):
            MemoryManager("notes", tmp_path).add(note("one"))
    finally:
        tmp_path.chmod(0o700)


def test_a_manager_that_stopped_writing_still_remembers(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.add(note("one"))
    memory.stop_writing(StorageError("no room"))
    memory.add(note("two"))
    assert texts(memory) == ["one", "two"]
    assert texts(opened("notes", tmp_path)) == ["one"]


def test_a_session_that_has_begun_goes_on_without_its_file_and_is_kept_again_with_all_items(
    tmp_path: Path,
) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.load()
    memory.add(note("one"))
    memory.path.unlink()
    memory.path.mkdir()
    for _ in range(3):  # requests, each of which begins so
        memory.load()
        memory.add(note("more"))
        memory.flush()
    (warning,) = memory.take_warnings()
    assert "not a regular file: move it away" in warning
    assert warning.endswith("This session goes on without being kept.")
    assert texts(memory) == ["one", *["more"] * 3]
    memory.path.rmdir()
    memory.load()
    memory.add(note("last"))
    assert texts(opened("notes", tmp_path)) == ["one", *["more"] * 3, "last"]
    assert memory.take_warnings()[-1].endswith("notes.json is kept again, as a whole")


def test_a_new_session_goes_on_where_its_folder_cannot_be_read_and_a_named_one_does_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.json").mkdir()
    with pytest.raises(StorageError, match="not a regular file"):
        MemoryManager("notes", tmp_path).load()
    new = MemoryManager("notes", tmp_path, is_new=True)
    new.load()
    new.add(note("one"))
    assert texts(new) == ["one"]
    assert "goes on without being kept" in new.take_warnings()[0]


def test_a_full_session_refuses_more_but_keeps_its_file(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path, max_file_bytes=2_000)
    memory.add(note("one"))
    before = memory.path.read_bytes()
    with pytest.raises(StorageError, match="start another session"):
        memory.add(note("x" * 3_000))
    assert memory.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [memory.path]
