"""A full disk and one that can't be written: the run goes on and says so, and nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

import pytest

from tests.command_line import ROOT
from tests.namespaces import NAMESPACES, may_mount

TIMEOUT_SECONDS = 50
NOT_KEPT = "This session goes on without being kept."
FULL = (
    "No space left on device; set CORTEX_HOME to a folder that you can write to and that has room"
)


class Seen(TypedDict):
    """What the cases of `small_disk` give, each some of it."""

    answers: list[str]
    codes: list[int]
    told: str
    told_each: list[str]
    told_again: str
    shown: str
    requests: list[str]
    is_left_alone: bool
    aside: list[bool]


def seen(tmp_path: Path, case: str) -> Seen:
    if not may_mount():
        pytest.skip("this system gives no namespace in which a disk may be mounted")
    done = subprocess.run(
        [*NAMESPACES, sys.executable, "-m", "tests.processes.small_disk", str(tmp_path), case],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: Seen = json.loads(done.stdout)
    return found


def test_a_disk_that_fills_up_is_told_once_and_all_is_kept_when_there_is_room(
    tmp_path: Path,
) -> None:
    found = seen(tmp_path, "filled_meanwhile")
    assert found["answers"] == ["ONE", "TWO", "THREE", "FOUR"]
    assert found["requests"] == ["one", "two", "three", "four"]
    assert found["told"].count(f"{FULL}. {NOT_KEPT}") == 1
    assert found["told"].count("is kept again, as a whole") == 1


def test_a_run_on_a_full_disk_answers(tmp_path: Path) -> None:
    found = seen(tmp_path, "full_from_the_start")
    assert (found["codes"], found["answers"]) == ([0], ["ONE\n"])
    assert f"{FULL}. {NOT_KEPT}" in found["told"]


def test_a_damaged_session_is_read_where_there_is_no_room_to_repair_it(tmp_path: Path) -> None:
    found = seen(tmp_path, "full_and_damaged")
    assert found["answers"] == ["uppercase one\n"] * 2
    assert "can't be repaired: No space left on device" in found["told"]
    assert found["is_left_alone"]
    assert "is set aside as notes.json.damaged-" in found["told_again"]
    assert found["aside"] == [True]  # and nothing of the first try beside it


def test_a_torn_session_is_repaired_on_a_full_disk(tmp_path: Path) -> None:
    found = seen(tmp_path, "full_and_torn")
    assert "> uppercase one" in found["shown"]
    assert "were cut off" in found["told"]
    assert found["requests"] == ["uppercase one"]


def test_a_disk_that_can_only_be_read_is_read_and_each_change_refused(tmp_path: Path) -> None:
    found = seen(tmp_path, "read_only")
    assert found["answers"] == ["uppercase one\n"] * 2
    assert found["codes"] == [0, 0, 0, 1, 1]
    asked, resumed, shown, renamed, deleted = found["told_each"]
    assert NOT_KEPT in asked
    assert "can't be repaired: Read-only file system" in resumed
    assert NOT_KEPT in resumed
    assert "can't be repaired: Read-only file system" in shown
    assert "> uppercase one" in found["shown"]
    assert "notes.json can't be written: Read-only file system" in renamed
    assert "notes.json can't be deleted: Read-only file system" in deleted
    assert found["requests"] == ["uppercase one"]


def test_a_fact_that_is_to_be_remembered_and_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    found = seen(tmp_path, "remembering")
    assert found["codes"][:2] == [1, 1]
    full, read_only, _ = found["told_each"]
    assert "not remembered: " in full
    assert FULL in full
    assert "Read-only file system" in read_only
    assert found["answers"][0] == ""
    result = json.loads(found["answers"][1])
    assert (result["status"], result["answer"], result["exit_code"]) == ("failed", None, 1)
    assert "not remembered: " in result["message"]
