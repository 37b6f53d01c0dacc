"""What a call would do to a file: told where that is certain, and of reachable files alone."""

from pathlib import Path

import pytest

from core.base.redaction import Redactor
from core.provenance.known import ProvenancePolicy
from core.values import Json, JsonObject
from modules.terminal.asking.file_changes import (
    LINES_MAX,
    TEXT_BYTES_MAX,
    FileChange,
    file_change,
)
from modules.terminal.asking.quoting import change_text

TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in the folder that the server may reach."""
    (tmp_path / "work").mkdir()
    made = tmp_path / "work" / "a.txt"
    made.write_text(TEXT, encoding="utf-8")
    (tmp_path / "other.txt").write_text(TEXT, encoding="utf-8")
    return made


def after(file: Path, name: str, path: str = "", **arguments: Json) -> str | None:
    policy = ProvenancePolicy(texts={"files": ("-y", str(file.parent))}, home=str(file.parent))
    given: JsonObject = {"path": path or str(file), **arguments}
    change = file_change(f"files.{name}", given, policy)
    return None if change is None else change.after


def test_a_text_that_is_written_takes_the_place_of_the_files(file: Path) -> None:
    assert after(file, "write_file", content="new\n") == "new\n"
    assert after(file, "create_file", text="new\n") == "new\n"
    assert after(file, "write_file", "a.txt", content="new\n") == "new\n"
    assert after(file, "write_file", "~/a.txt", content="new\n") == "new\n"


def test_the_file_is_named_by_its_whole_path_wherever_links_lead(file: Path) -> None:
    (file.parent / "link.txt").symlink_to(file)
    policy = ProvenancePolicy(texts={"files": (str(file.parent),)}, home=str(file.parent))
    for path in (str(file), "a.txt", "./a.txt", "~/a.txt", "link.txt"):
        change = file_change("files.write_file", {"path": path, "content": "new\n"}, policy)
        assert change == FileChange(str(file.resolve()), TEXT, "new\n")


UNENDED = "\\ No newline at end of file"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\n", "a\nc\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        ("a\nb", "a\nc", ["@@ -1,2 +1,2 @@", " a", "-b", UNENDED, "+c", UNENDED]),
        ("a\n", "a", ["@@ -1 +1 @@", "-a", "+a", UNENDED]),
        ("a\n", "a\n\n", ["@@ -1 +1,2 @@", " a", "+"]),
        ("", "a\n", ["@@ -0,0 +1 @@", "+a"]),
        ("-- a", "b\n", ["@@ -1 +1 @@", "--- a", UNENDED, "+b"]),
    ],
)
def test_the_difference_is_the_true_one_up_to_the_last_line(
    before: str, after: str, shown: list[str]
) -> None:
    told = change_text(FileChange("/x/a", before, after), 40).splitlines()
    assert told[2:] == [f"│ {line}" for line in shown]


def test_edits_are_made_one_after_the_other(file: Path) -> None:
    edits: list[Json] = [
        {"oldText": "two", "newText": "2"},
        {"oldText": "2\nthree", "newText": "2\n3"},
    ]
    assert after(file, "edit_file", edits=edits) == "one\n2\n3\n"
    assert after(file, "str_replace", old_str="one\n", new_str="") == "two\nthree\n"


def test_what_is_not_certain_is_not_told(file: Path) -> None:
    file.write_text("one one\n", encoding="utf-8")
    twice: list[Json] = [{"oldText": "one", "newText": "2"}]
    absent: list[Json] = [{"oldText": "nine", "newText": "2"}]
    more: list[Json] = [{"oldText": "one one", "newText": "2", "is_regex": True}]
    for edits in (twice, absent, more, [], "x"):
        assert after(file, "edit_file", edits=edits) is None or edits == []
    assert after(file, "edit_file", edits=more[:1], dry_run=True) is None
    assert after(file, "append_file", content="x") is None
    assert after(file, "write_file", content="x", mode="append") is None
    assert after(file, "write_file", content=7) is None
    assert after(file, "write_file") is None


def test_only_files_that_the_server_may_reach_are_read(file: Path, tmp_path: Path) -> None:
    (file.parent / "link.txt").symlink_to(tmp_path / "other.txt")
    (file.parent / "folder").mkdir()
    for path in (
        str(tmp_path / "other.txt"),
        "../other.txt",
        "link.txt",
        "folder",
        "absent.txt",
        "/dev/zero",
        "a\0b",
        "\ud800",
        "x" * 10_000,
    ):
        assert after(file, "write_file", path, content="x") is None, path
    policy = ProvenancePolicy(texts={"files": (str(file.parent),)})
    given: JsonObject = {"path": str(file), "content": "x"}
    assert file_change("files.write_file", given, policy) is not None
    assert file_change("other.write_file", given, policy) is None


def test_what_is_large_or_no_text_is_not_compared(file: Path) -> None:
    assert after(file, "write_file", content="x" * (TEXT_BYTES_MAX + 1)) is None
    assert after(file, "write_file", content="x\n" * (LINES_MAX + 1)) is None
    file.write_bytes(b"\xff\xfe")
    assert after(file, "write_file", content="x") is None
    file.write_text("x" * (TEXT_BYTES_MAX + 1), encoding="utf-8")
    assert after(file, "write_file", content="x") is None


def test_it_is_shown_without_secrets() -> None:
    change = FileChange("a", "key = s3cr3t-of-mine", "key = none")
    redactor = Redactor({"API_KEY": "s3cr3t-of-mine"})
    assert change.redacted(redactor) == FileChange("a", "key = [redacted API_KEY]", "key = none")
