"""Ids of sessions, and the one that `--session` names: continued, begun, or refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import UsageError
from modules.session.ids import (
    Structure,
    check_session_id,
    find_session,
    kept_sessions,
    new_session_id,
    resumed_session,
    session_path,
)

KEPT = "2026/11/21/session-1795000000-a1b2c3"


def test_a_new_id_has_the_documented_form() -> None:
    now = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
    assert new_session_id(now, "a1b2c3d4e5") == "2026/01/05/session-1767614400-a1b2c3"


def test_a_new_id_needs_six_letters_or_digits() -> None:
    with pytest.raises(UsageError):
        new_session_id(datetime(2026, 1, 5, tzinfo=UTC), "../x")


@pytest.mark.parametrize("good", [KEPT, "notes", "my-session_2", "x" * 100, "-"])
def test_the_documented_form_and_plain_names_are_session_ids(good: str) -> None:
    assert check_session_id(good) == good


@pytest.mark.parametrize(
    "bad",
    [
        "",
        ".",
        "..",
        "../notes",
        "/etc/passwd",
        "a/b",
        "2026/11/21/../x",
        "2026/13/21/session-1-a1b2c3",
        "2026/11/21/session-1-a1b2c3.json",
        "2026/11/21/session-1-a1b2c3\n",
        "notes\x00",
        "notes.json",
        "x" * 101,
        "café",
        "٢٠٢٦",
        "C:\\x",
    ],
)
def test_anything_else_is_refused_with_the_form(bad: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="YYYY/MM/DD/session-"):
        session_path(bad, tmp_path)


def test_a_session_lies_under_its_date_or_flat(tmp_path: Path) -> None:
    assert session_path(KEPT, tmp_path) == tmp_path / f"{KEPT}.json"
    assert session_path(KEPT, tmp_path, "flat") == tmp_path / "session-1795000000-a1b2c3.json"
    assert session_path("notes", tmp_path) == tmp_path / "notes.json"


def keep(folder: Path, *ids: str, structure: Structure = "date") -> None:
    for one in ids:
        path = session_path(one, folder, structure)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]", encoding="utf-8")


def told(session_id: str, folder: Path, structure: Structure = "date") -> str:
    return resumed_session(session_id, folder, structure, enabled=True)


def test_a_dated_session_that_is_there_is_continued_without_a_word(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)
    assert told(KEPT, tmp_path) == ""


def test_a_plain_name_says_whether_it_continues_or_begins_a_session(tmp_path: Path) -> None:
    assert told("notes", tmp_path) == (
        f"begins the session 'notes': none of that name is kept in {tmp_path}"
    )
    keep(tmp_path, "notes")
    assert told("notes", tmp_path) == "continues the session 'notes'"


@pytest.mark.parametrize(
    "mistyped",
    [
        "2026/11/21/session-1795000000-a1b2c4",
        "2026/11/21/session-1795000001-a1b2c3",
        "2026/11/22/session-1795000000-a1b2c3",
        "2025/01/01/session-1-a1b2c3",
    ],
)
def test_a_dated_session_that_is_not_there_is_refused_with_the_nearest(
    mistyped: str, tmp_path: Path
) -> None:
    others = [f"2026/10/{day:02}/session-17{day:02}111111-zzzzz{day % 10}" for day in range(1, 29)]
    keep(tmp_path, KEPT, *others)
    with pytest.raises(UsageError, match=f"no session {mistyped} in .*; the nearest: {KEPT}"):
        told(mistyped, tmp_path)


def test_where_none_is_near_the_newest_is_named(tmp_path: Path) -> None:
    keep(tmp_path, "2025/01/31/session-1-aaaaaa", "2025/02/01/session-2-bbbbbb", "notes")
    with pytest.raises(UsageError, match="the newest: 2025/02/01/session-2-bbbbbb"):
        told(KEPT, tmp_path)


@pytest.mark.parametrize("folder", ["", "absent", "file/below"])
def test_where_nothing_is_kept_that_is_said(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="no session is kept there yet"):
        told(KEPT, tmp_path / folder)


def test_without_date_folders_the_same_holds(tmp_path: Path) -> None:
    keep(tmp_path, KEPT, structure="flat")
    assert told(KEPT, tmp_path, "flat") == ""
    with pytest.raises(UsageError, match="the nearest: session-1795000000-a1b2c3"):
        told("2026/11/21/session-1795000000-a1b2c4", tmp_path, "flat")


def test_with_memory_off_the_session_is_told_to_be_neither_read_nor_kept(tmp_path: Path) -> None:
    text = resumed_session("notes", tmp_path, "date", enabled=False)
    assert text.startswith("memory is off (memory_service, or --no-memory): the session notes is")


def test_what_is_no_id_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a session id"):
        told("../notes", tmp_path)


def test_files_that_are_no_sessions_are_passed_over(tmp_path: Path) -> None:
    keep(tmp_path, KEPT, "notes")
    for odd in ("session-copy", "session-1-a b", "session-1-a1b2c3 (copy)", "session-1-a.b", "x"):
        (tmp_path / KEPT).with_name(f"{odd}.json").touch()
    (tmp_path / "2026" / "13" / "45").mkdir(parents=True)
    (tmp_path / "2026" / "13" / "45" / "session-1-a1b2c3.json").touch()
    (tmp_path / "a b.json").touch()
    assert sorted(kept_sessions(tmp_path, "date")) == [KEPT, "notes"]
    with pytest.raises(UsageError, match=f"the nearest: {KEPT}"):
        told(KEPT.replace("a1b2c3", "a1b2c4"), tmp_path)


def test_a_flat_session_is_found_by_the_id_that_a_run_reports(tmp_path: Path) -> None:
    keep(tmp_path, KEPT, structure="flat")
    assert find_session(KEPT, tmp_path, "flat") == KEPT.rpartition("/")[2]
    keep(tmp_path / "dated", KEPT)
    with pytest.raises(UsageError, match="no session"):
        find_session(f"2020/01/01/{KEPT.rpartition('/')[2]}", tmp_path / "dated", "date")
