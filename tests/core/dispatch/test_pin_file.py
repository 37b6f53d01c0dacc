"""The record of tool definitions: damage, other processes, and disks that can't be written."""

import asyncio
import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.files import folder_locked
from core.dispatch import pin_file, tool_pins
from core.dispatch.hooks import refuse
from core.dispatch.pin_file import Pin, PinStore
from core.dispatch.tool_pins import Admitted, ToolPins
from core.values import Json
from tests.command_line import ROOT
from tests.core.dispatch.pinned_tools import (
    POISONED,
    READ,
    SPEC,
    WRITE,
    User,
    admit,
    lies_in,
    mode_of,
)

PIN = Pin("0" * 64, "text")


def pins_in(store: PinStore, key: str = "a") -> Mapping[str, Pin]:
    return store.known(key, lambda _: {})


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)


class TestFile:
    @pytest.mark.parametrize(
        "damage",
        [
            b"",
            b"{",
            b"\xff\xfe",
            b"[]",
            b"[" * 100_000,
            b'{"format": 2, "servers": {}}',
            b'{"format": 1, "servers": []}',
            b'{"format": 1, "servers": {"a": []}}',
            b'{"format": 1, "servers": {"a": {"b": {"sha256": 1, "definition": ""}}}}',
        ],
    )
    async def test_a_damaged_file_is_set_aside_and_said_never_overwritten(
        self, file: Path, damage: bytes
    ) -> None:
        put(file, damage)
        admitted = await admit(file, READ)
        assert admitted.tools == [READ]
        (note,) = admitted.notes
        (aside,) = lies_in(file.parent).keys() - {file.name}
        assert lies_in(file.parent)[aside] == damage
        assert str(file) in note
        assert aside in note
        assert await admit(file, READ) == Admitted([READ])

    def test_two_damaged_files_in_one_second_are_both_kept(self, file: Path) -> None:
        file.parent.mkdir()
        store = PinStore(file, clock=lambda: 7.0)
        for damage in (b"one", b"two"):
            file.write_bytes(damage)
            assert pins_in(store) == {}
        kept = sorted(path.name for path in file.parent.iterdir())
        assert kept == [f"{file.name}.damaged-7", f"{file.name}.damaged-7-2"]
        assert len(store.warnings()) == 2

    async def test_a_home_that_cannot_be_written_still_notices_changes_with_one_note(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        pins = ToolPins(tmp_path / "file" / "tool_pins.json")
        first = await pins.admit(SPEC, [READ], refuse)
        assert first.tools == [READ]
        (note,) = first.notes
        assert "CORTEX_HOME" in note
        assert (await pins.admit(SPEC, [READ], refuse)) == Admitted([READ])
        assert (await pins.admit(SPEC, [READ, WRITE], refuse)).tools == [READ, WRITE]
        assert (await pins.admit(SPEC, [POISONED], refuse)).refused == ("read",)
        user = User(True)
        assert (await pins.admit(SPEC, [POISONED], User().approve)).refused == ("read",)
        changed = replace(READ, description="another")
        assert (await pins.admit(SPEC, [changed], user.approve)).tools == [changed]
        assert await pins.admit(SPEC, [changed], User().approve) == Admitted([changed])

    async def test_what_could_not_be_written_is_written_when_that_works_again(
        self, file: Path
    ) -> None:
        file.parent.touch()
        pins = ToolPins(file)
        await pins.admit(SPEC, [READ], refuse)
        file.parent.unlink()
        await pins.admit(SPEC, [READ, WRITE], refuse)
        assert (await admit(file, POISONED, WRITE)).refused == ("read",)

    async def test_a_failed_write_never_accepts_a_change_in_passing(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A new tool is pinned while the disk is full and another tool has changed."""
        await admit(file, READ)
        pins = ToolPins(file)

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as full:
            full.setattr(Path, "replace", fail)
            admitted = await pins.admit(SPEC, [POISONED, WRITE], refuse)
        assert (admitted.tools, admitted.refused) == ([WRITE], ("read",))
        assert "No space left" in admitted.notes[-1]
        assert (await pins.admit(SPEC, [POISONED, WRITE], refuse)).refused == ("read",)
        assert list(lies_in(file.parent)) == [file.name]
        assert (await admit(file, POISONED, WRITE)).refused == ("read",)

    async def test_a_file_that_is_removed_during_the_run_is_no_way_round(self, file: Path) -> None:
        pins = ToolPins(file)
        await pins.admit(SPEC, [READ], refuse)
        os.remove(file)  # noqa: PTH107 - as anything but this program would
        assert (await pins.admit(SPEC, [POISONED], refuse)).refused == ("read",)

    @pytest.mark.parametrize("kind", ["pipe", "folder"])
    async def test_something_else_in_its_place_is_neither_read_nor_replaced(
        self, file: Path, kind: str
    ) -> None:
        self.make(file, kind)
        async with asyncio.timeout(5):
            admitted = await admit(file, READ)
        assert admitted.tools == [READ]
        assert "CORTEX_HOME" in admitted.notes[0]
        assert mode_of(file) == 0o700

    @staticmethod
    def make(path: Path, kind: str) -> None:
        path.parent.mkdir()
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
        path.chmod(0o700)

    async def test_a_server_that_names_ever_new_tools_forgets_no_old_one(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tool_pins, "SERVER_PINS_MAX", 3)
        tools = [replace(READ, name=f"tool_{n}") for n in range(5)]
        admitted = await admit(file, *tools)
        assert admitted.tools == tools[:3]
        assert "'tool_3', 'tool_4'" in admitted.notes[0]
        assert (await admit(file, replace(tools[0], description="x"))).refused == ("tool_0",)

    async def test_past_the_room_for_texts_the_hash_still_holds(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tool_pins, "SERVER_TEXT_CHARACTERS_MAX", 0)
        await admit(file, READ)
        user = User(False)
        assert (await admit(file, POISONED, user=user)).refused == ("read",)
        assert "not kept" in user.shown[0][0].before

    async def test_a_definition_too_deep_to_check_is_left_out(self, file: Path) -> None:
        schema: Json = {}
        for _ in range(200):
            schema = {"items": schema}
        admitted = await admit(file, replace(READ, input_schema={"items": schema}), WRITE)
        assert admitted.tools == [WRITE]
        assert "'read'" in admitted.notes[0]


class TestSize:
    async def test_a_file_without_end_is_set_aside_unread(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await admit(file, READ)
        monkeypatch.setattr(pin_file, "FILE_BYTES_MAX", 100)
        assert pins_in(PinStore(file)) == {}
        assert file.name not in lies_in(file.parent)

    async def test_what_would_make_it_so_is_not_written(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pin_file, "FILE_BYTES_MAX", 100)
        admitted = await admit(file, READ)
        assert admitted.tools == [READ]
        assert "over 100 bytes" in admitted.notes[0]
        assert lies_in(file.parent) == {}


WRITER = """
import sys
from pathlib import Path
from core.dispatch.pin_file import Pin, PinStore

for number in range(20):
    PinStore(Path(sys.argv[1])).put("s", lambda _: {f"{sys.argv[2]} {number}": Pin("a", "b")})
"""


class TestProcesses:
    def test_no_process_loses_what_another_writes(self, file: Path) -> None:
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(file), name], cwd=ROOT)
            for name in ("one", "two")
        ]
        assert [writer.wait(timeout=30) for writer in writers] == [0, 0]
        assert len(pins_in(PinStore(file), "s")) == 40

    async def test_a_tool_that_another_process_pins_first_is_compared_with_that(
        self, file: Path
    ) -> None:
        pins = ToolPins(file)
        await pins.admit(SPEC, [WRITE], refuse)
        await admit(file, READ)
        assert (await pins.admit(SPEC, [WRITE, POISONED], refuse)).refused == ("read",)

    def test_a_process_that_holds_the_folder_is_waited_for_not_for_ever(self, file: Path) -> None:
        store = PinStore(file, lock_timeout_seconds=0.02)
        with folder_locked(file):
            store.put("a", lambda _: {"x": PIN})
        assert "another process holds its folder" in store.warnings()[0]
        assert not file.exists()

    def test_a_file_system_without_locks_can_be_written(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse_locks(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse_locks)
        PinStore(file).put("a", lambda _: {"x": PIN})
        assert pins_in(PinStore(file)) == {"x": PIN}

    def test_what_is_written_is_read_back(self, file: Path) -> None:
        odd = Pin("0" * 64, "text\nmore \ud800")
        PinStore(file).put("a", lambda _: {"x y": odd})
        assert pins_in(PinStore(file)) == {"x y": odd}
        assert json.loads(file.read_bytes())["format"] == 1
