"""The file of a session: what it holds, what damage it survives, and who may write it."""

import fcntl
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import StorageError
from core.turn import MemoryItem
from core.values import Json
from modules.session.file import MemoryFile, Sync
from modules.session.memory import MemoryManager
from modules.session.records import MemoryRecord, storable
from tests.modules.session.json_values import JSON_VALUES, strict_json
from tests.modules.session.opened import opened
from tests.modules.session.truncation import cut_at_every_byte


def note(text: str) -> MemoryItem:
    return MemoryItem(timestamp=1.0, type="run_metadata", text=text)


def texts_in(path: Path) -> list[str]:
    document = strict_json(path.read_bytes())
    assert isinstance(document, list)
    return [str(element["text"]) for element in document if isinstance(element, dict)]


def reopened(path: Path) -> MemoryFile:
    file = MemoryFile(path)
    file.load()
    return file


ITEMS = st.builds(
    MemoryItem,
    timestamp=st.floats(0, 4e9),
    type=st.sampled_from(["run_metadata", "tool_call", "tool_output", "final_answer"]),
    text=st.text(st.characters()),
    tool_name=st.none() | st.text(),
    tool_args=st.none() | st.dictionaries(st.text(), JSON_VALUES, max_size=3),
    tool_result=st.none() | st.dictionaries(st.text(), JSON_VALUES, max_size=3),
    tags=st.lists(st.text(), max_size=3),
    success=st.none() | st.booleans(),
    metadata=st.dictionaries(st.text(), JSON_VALUES, max_size=2),
)


@settings(deadline=None, max_examples=15)
@given(st.lists(ITEMS, max_size=5))
def test_any_item_is_strict_json_on_disk_and_comes_back_as_it_can_be_stored(
    items: list[MemoryItem],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.json"
        file = MemoryFile(path)
        file.records = [MemoryRecord.of(item) for item in items]
        file.save()
        strict_json(path.read_bytes())
        loaded = reopened(path)
        assert loaded.warnings == []
        assert [r.item for r in loaded.records] == [
            MemoryItem.model_validate(storable(item.model_dump())) for item in items
        ]
        before = path.read_bytes()
        loaded.save()
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[{",
        b"{}",
        b"null",
        b"\xff\xfe[]",
        b"\x00" * 4096,
        b"[" * 100_000,
        b"[" + b"9" * 5_000 + b"]",
        b"[1, 2]",
        b'[{"text": "no type"}]',
    ],
    ids=lambda damage: repr(damage[:12]),
)
def test_a_damaged_file_is_set_aside_whole_and_a_new_one_begins(
    damage: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(damage)
    memory = MemoryManager("notes", tmp_path, clock=lambda: 99.0)
    memory.load()
    aside = tmp_path / "notes.json.damaged-99"
    assert aside.read_bytes() == damage
    assert memory.get_session_items() == []
    (warning,) = memory.take_warnings()
    assert aside.name in warning
    assert memory.take_warnings() == []
    memory.add(note("new"))
    assert texts_in(path) == ["new"]
    assert {p.name for p in tmp_path.iterdir()} == {path.name, aside.name}


def test_nothing_that_was_set_aside_is_ever_overwritten(tmp_path: Path) -> None:
    for content in (b"first", b"second", b"third"):
        (tmp_path / "notes.json").write_bytes(content)
        MemoryManager("notes", tmp_path, clock=lambda: 99.0).load()
    kept = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert kept == {
        "notes.json.damaged-99": b"first",
        "notes.json.damaged-99-2": b"second",
        "notes.json.damaged-99-3": b"third",
    }


def test_good_items_of_a_damaged_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    good = {"timestamp": 1, "type": "run_metadata", "text": "good"}
    damage = json.dumps([good, 5, {**good, "type": "dream"}, {**good, "text": "also"}]).encode()
    path.write_bytes(damage)
    file = reopened(path)
    assert texts_in(path) == [r.item.text for r in file.records] == ["good", "also"]
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == damage
    assert "2 of its items" in file.warnings[0]


def good_item(text: str) -> dict[str, Json]:
    return {"timestamp": 1, "type": "run_metadata", "text": text}


@pytest.mark.parametrize(
    ("damaged", "texts"),
    [
        ('[\n  {a},\n  {b},\n  {"timestamp": 1, "ty', ["a", "b"]),
        ("[{a}, {b}, {c", ["a", "b"]),
        ("[\n  {a},\n  {oops},\n  {b}\n]", ["a", "b"]),
        ("[{a},\n  \udcff{b},\n  {c}\n]\n", ["a", "c"]),
        ("[\n  {a},\n  {b}\n", ["a", "b"]),
    ],
)
def test_an_array_that_is_cut_off_or_scribbled_on_costs_only_the_items_there(
    damaged: str, texts: list[str], tmp_path: Path
) -> None:
    for name in "abc":
        damaged = damaged.replace("{" + name + "}", json.dumps(good_item(name)))
    data = damaged.encode("utf-8", "surrogateescape")
    path = tmp_path / "notes.json"
    path.write_bytes(data)
    file = reopened(path)
    assert texts_in(path) == [r.item.text for r in file.records] == texts
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == data
    assert f"and {len(texts)} items go on in its place" in file.warnings[0]


def test_an_integer_that_python_refuses_to_read_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    digits = "9" * 5_000
    item = json.dumps({**good_item("a"), "tool_result": {"result": 0}}).replace("0}", f"{digits}}}")
    path.write_text(f"[{item}]", encoding="utf-8")
    file = reopened(path)
    assert file.warnings == []
    assert file.records[0].item.tool_result == {"result": digits}


def test_half_a_character_in_a_file_is_no_text_of_an_item(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(
        json.dumps([{**good_item("a\ud800"), "user_query": "\udfff"}]), encoding="utf-8"
    )
    (record,) = reopened(path).records
    assert (record.item.text, record.item.user_query) == ("a\ufffd", "\ufffd")


def test_a_file_that_is_too_large_is_set_aside_unread(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(b"[" + b" " * 2_000 + b"]")
    file = MemoryFile(path, max_bytes=1_000)
    file.load()
    assert file.records == []
    assert "over 1,000 bytes" in file.warnings[0]
    assert not path.exists()


def test_damage_that_happens_during_a_session_costs_none_of_its_items(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.add(note("one"))
    memory.path.write_bytes(b"scribble")
    memory.add(note("two"))
    assert texts_in(memory.path) == ["one", "two"]
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == b"scribble"
    assert len(memory.take_warnings()) == 1


@pytest.mark.parametrize("with_folder", [False, True])
def test_a_file_that_vanishes_is_written_again_and_that_is_said(
    tmp_path: Path, with_folder: bool
) -> None:
    memory = MemoryManager("notes", tmp_path / "memory")
    memory.load()
    memory.add(note("one"))
    assert memory.take_warnings() == []
    memory.path.unlink()
    if with_folder:
        memory.path.parent.rmdir()
    memory.load()
    assert not memory.path.exists()  # who deleted it is believed until there is more to keep
    memory.add(note("two"))
    assert texts_in(memory.path) == ["one", "two"]
    (warning,) = memory.take_warnings()
    assert "was deleted by another program; this session goes on and writes it again" in warning


def test_what_is_cut_off_from_a_session_that_goes_on_is_written_again(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    for text in ("one", "two", "three"):
        memory.add(note(text))
    data = memory.path.read_bytes()
    for size in (data.index(b"three"), data.index(b"two")):
        memory.path.write_bytes(data[:size])
        memory.load()
        memory.add(note(str(size)))
        assert "cut off" in memory.take_warnings()[0]
        assert texts_in(memory.path)[:3] == ["one", "two", "three"]


def test_a_file_that_another_program_replaces_counts_and_that_is_said(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.add(note("one"))
    memory.add(note("two"))
    changed = json.loads(memory.path.read_bytes())
    memory.path.write_text(json.dumps(changed), encoding="utf-8")
    memory.load()
    assert memory.take_warnings() == []  # laid out otherwise, and nothing else
    memory.path.write_text(json.dumps([good_item("other")]), encoding="utf-8")
    memory.load()
    assert [item.text for item in memory.get_session_items()] == ["other"]
    (warning,) = memory.take_warnings()
    assert "was changed by another program" in warning
    assert "1 item is there" in warning


def test_what_the_user_edits_between_two_items_is_kept(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.add(note("one"))
    later = {"timestamp": 2, "type": "run_metadata", "text": "edited", "of_a_later_version": [1]}
    memory.path.write_text("\ufeff" + json.dumps([later]), encoding="utf-8")
    memory.add(note("two"))
    assert texts_in(memory.path) == ["edited", "two"]
    assert "of_a_later_version" in memory.path.read_text(encoding="utf-8")


def test_a_path_that_is_no_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "notes.json").mkdir()
    with pytest.raises(StorageError, match="not a regular file"):
        opened("notes", tmp_path)
    (tmp_path / "pipe.json").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(StorageError, match="not a regular file"):
        opened("pipe", tmp_path)


def test_a_folder_that_another_process_holds_too_long_is_a_storage_error(tmp_path: Path) -> None:
    holder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        file = MemoryFile(tmp_path / "s.json", lock_timeout_seconds=0.02)
        with pytest.raises(StorageError, match="another process"):
            file.save()
    finally:
        os.close(holder)
    file.save()
    assert texts_in(file.path) == []


def test_two_managers_of_one_session_see_and_keep_each_others_items(tmp_path: Path) -> None:
    one, two = (opened("notes", tmp_path) for _ in range(2))
    one.add(note("a"))
    two.add(note("b"))
    one.add(note("c"))
    two.load()
    for memory in (one, two):
        assert [item.text for item in memory.get_session_items()] == ["a", "b", "c"]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.data())
def test_any_truncation_keeps_all_whole_items_and_goes_on(
    texts: list[str], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.json"
        file = MemoryFile(path)
        ends: list[int] = []
        for number, text in enumerate(texts):
            item = MemoryItem(timestamp=number, type="run_metadata", text=text)
            file.records.append(MemoryRecord.of(item))
            file.save()
            ends.append(path.stat().st_size - len("\n]\n"))
        whole = path.read_bytes()
        size = data.draw(st.integers(ends[0], len(whole)))
        path.write_bytes(whole[:size])
        again = MemoryFile(path)
        again.load()
        kept = sum(end <= size for end in ends)
        assert [r.text for r in again.records] == [r.text for r in file.records[:kept]]
        assert len(again.warnings) == (size < len(whole) - 1)  # a line end is no part of it
        assert not list(Path(folder).glob("*.damaged-*"))
        again.records.append(file.records[0])
        again.save()
        assert len(json.loads(path.read_bytes())) == kept + 1


def test_a_file_that_is_cut_off_at_any_byte_of_its_last_items_keeps_all_whole_ones(
    tmp_path: Path,
) -> None:
    assert cut_at_every_byte(tmp_path, items=5) > 400


def test_an_item_is_appended_and_what_stands_before_it_is_not_written_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "notes.json"
    file = MemoryFile(path)
    sizes: list[int] = []
    for number in range(4):
        item = MemoryItem(timestamp=number, type="run_metadata", text="x" * 10_000)
        file.records.append(MemoryRecord.of(item))
        file.save()
        sizes.append(path.stat().st_ino)
    assert len(set(sizes)) == 1
    assert [item["timestamp"] for item in json.loads(path.read_bytes())] == [0, 1, 2, 3]


def test_an_item_that_somebody_spoilt_is_set_aside_and_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    file = MemoryFile(path)
    for number in range(2):
        item = MemoryItem(timestamp=number, type="run_metadata", text="x")
        file.records.append(MemoryRecord.of(item))
    file.save()
    spoilt = path.read_bytes().replace(b'"timestamp": 1.0', b'"timestamp": oops')
    path.write_bytes(spoilt)
    again = MemoryFile(path)
    again.load()
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == spoilt
    assert [record.item.timestamp for record in again.records] == [0]


@pytest.mark.parametrize("levels", [65, 300, 600])
def test_an_item_that_is_nested_deeply_costs_nothing(tmp_path: Path, levels: int) -> None:
    nested = "[" * levels + "]" * levels
    path = tmp_path / "notes.json"
    path.write_text(
        f'[{{"timestamp": 1, "type": "run_metadata", "text": "a", "metadata": {{"a": {nested}}}}}]',
        encoding="utf-8",
    )
    file = reopened(path)
    assert [record.item.text for record in file.records] == ["a"]
    file.records.append(file.records[0])
    file.save()
    assert len(json.loads(path.read_bytes())) == 2
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_new_file_says_its_format_and_one_without_goes_on(tmp_path: Path) -> None:
    memory = MemoryManager("notes", tmp_path)
    memory.add(note("one"))
    memory.add(note("two"))
    formats = [item.get("format") for item in json.loads(memory.path.read_bytes())]
    assert formats == [2, None]
    old = [{"timestamp": 1, "type": "run_metadata", "text": text} for text in ("a", "b")]
    memory.path.write_text(json.dumps(old), encoding="utf-8")
    again = opened("notes", tmp_path)
    again.add(note("c"))
    assert texts_in(memory.path) == ["a", "b", "c"]


def test_the_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    later = b'[\n  {"format": 3, "type": "of then", "when": "2031"}\n]\n'
    path.write_bytes(later)
    with pytest.raises(StorageError, match="later version \\(format 3\\); update this program"):
        opened("notes", tmp_path)
    memory = MemoryManager("notes", tmp_path)
    with pytest.raises(StorageError, match="format 3"):
        memory.add(note("one"))
    assert path.read_bytes() == later
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("sync", "waits"), [("item", False), ("run", True), ("never", False)])
def test_the_end_of_a_run_waits_for_what_was_not_waited_for(
    tmp_path: Path, sync: Sync, waits: bool
) -> None:
    file = MemoryFile(tmp_path / "notes.json", sync=sync)
    for text in ("one", "two"):
        file.records.append(MemoryRecord.of(note(text)))
        file.save()
    assert texts_in(file.path) == ["one", "two"]
    file.path.unlink()  # only who still has to wait for it looks for it
    if waits:
        with pytest.raises(StorageError):
            file.flush()
    else:
        file.flush()


def test_what_others_append_is_taken_in_and_what_they_change_is_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    one, two = MemoryManager("notes", tmp_path), MemoryManager("notes", tmp_path)
    for number in range(6):
        (two if number % 3 else one).add(note(str(number)))
    one.load()
    assert [item.text for item in one.get_session_items()] == list("012345")
    with path.open("r+b") as file:  # as an editor that writes into the file that is there
        changed = path.read_bytes().replace(b'"text": "0"', b'"text": "nought"')
        file.write(changed)
    one.add(note("6"))
    assert "was changed by another program" in one.take_warnings()[0]
    assert texts_in(path) == ["nought", *"123456"]
    assert [item.text for item in one.get_session_items()] == ["nought", *"123456"]
