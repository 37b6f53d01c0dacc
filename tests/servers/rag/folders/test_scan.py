"""What is found in the document folders, and what is passed over or refused."""

import os
import socket
from pathlib import Path

import pytest

from servers.rag.folders import scan as names
from servers.rag.folders.scan import Bounds, IgnoreRules, Scan, scan

ROOMY = Bounds(file_bytes=1_000_000, files=1_000)


def look(*folders: Path, patterns: tuple[str, ...] = (), bounds: Bounds = ROOMY) -> Scan:
    return scan(folders, IgnoreRules(patterns), bounds)


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_named_by_their_path_below_the_folder_in_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.md", "a/deep/er/y.md", "c.txt"):
        write(tmp_path / name)

    found = look(tmp_path)

    assert list(found.files) == ["b.md", "c.txt", "a/z.md", "a/deep/er/y.md"]
    assert found.files["a/z.md"].path == str(tmp_path / "a/z.md")
    assert found.files["a/z.md"].size_bytes == 4
    assert found.notes == []


def test_several_folders_stand_before_the_names_of_their_files(tmp_path: Path) -> None:
    folders = [tmp_path / "one/docs", tmp_path / "two/docs", tmp_path / "notes"]
    for folder in folders:
        write(folder / "a.md")

    assert list(look(*folders).files) == ["docs/a.md", "docs-2/a.md", "notes/a.md"]


def test_a_folder_within_another_is_looked_through_once(tmp_path: Path) -> None:
    write(tmp_path / "docs/sub/a.md")

    found = look(tmp_path / "docs/sub", tmp_path / "docs", tmp_path / "docs")

    assert list(found.files) == ["sub/a.md"]


def test_a_sibling_with_a_longer_name_is_not_within(tmp_path: Path) -> None:
    write(tmp_path / "docs/a.md")
    write(tmp_path / "docs-secret/b.md")

    assert list(look(tmp_path / "docs", tmp_path / "docs-secret").files) == [
        "docs/a.md",
        "docs-secret/b.md",
    ]


def test_hidden_files_and_the_usual_junk_are_passed_over(tmp_path: Path) -> None:
    junk = (".env", ".git/a.md", "~$a.docx", "a.md~", "node_modules/b.md", "x/Thumbs.db", "y.part")
    for name in (*junk, "a.md", "x/b.md"):
        write(tmp_path / name)

    assert list(look(tmp_path).files) == ["a.md", "x/b.md"]


def test_patterns_leave_out_and_take_in_as_in_gitignore(tmp_path: Path) -> None:
    for name in ("a.log", "keep.log", "drafts/a.md", "x/drafts/b.md", "x/a.md", ".notes/n.md"):
        write(tmp_path / name)

    found = look(tmp_path, patterns=("*.log", "!keep.log", "/drafts/", "!.notes"))

    assert set(found.files) == {"keep.log", "x/drafts/b.md", "x/a.md", ".notes/n.md"}


def test_a_link_out_is_refused_and_one_inside_is_found_once(tmp_path: Path) -> None:
    write(tmp_path / "docs/a.md")
    write(tmp_path / "secret/b.md")
    (tmp_path / "docs/out").symlink_to(tmp_path / "secret")
    (tmp_path / "docs/out.md").symlink_to(tmp_path / "secret/b.md")
    (tmp_path / "docs/nowhere.md").symlink_to(tmp_path / "nothing")
    (tmp_path / "docs/same.md").symlink_to(tmp_path / "docs/a.md")
    (tmp_path / "docs/loop").symlink_to(tmp_path / "docs")

    found = look(tmp_path / "docs")

    assert set(found.files) == {"a.md", "out", "out.md", "nowhere.md"}
    assert all("link" in found.files[name].refusal for name in ("out", "out.md", "nowhere.md"))


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real/a.md")
    (tmp_path / "docs").symlink_to(tmp_path / "real")

    assert look(tmp_path / "docs").files["a.md"].path == str(tmp_path / "real/a.md")


def test_pipes_and_sockets_are_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        found = look(tmp_path)

    assert {file.refusal for file in found.files.values()} == {
        "not a file but a pipe, socket or device"
    }


def test_a_file_that_is_too_large_is_refused_with_both_sizes(tmp_path: Path) -> None:
    write(tmp_path / "big.md", "x" * 3_000_000)

    found = look(tmp_path, bounds=Bounds(file_bytes=2_000_000, files=10))

    assert found.files["big.md"].refusal.startswith("3 MB is more than the 2 MB")


def test_more_files_than_the_bound_are_left_out_and_said(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.md")

    found = look(tmp_path, bounds=Bounds(file_bytes=100, files=3))

    assert list(found.files) == ["0.md", "1.md", "2.md"]
    assert "more than 3 files" in found.notes[0]


def test_a_name_that_is_no_utf_8_is_shown_and_still_leads_to_the_file(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.md"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - a path of bytes
        file.write("text")

    (found,) = look(tmp_path).files.values()

    assert found.file == "caf\\xe9.md"
    assert os.fsencode(found.path) == path


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.md", "plain.md"),
        ("naïve 文档.md", "naïve 文档.md"),
        ("a\nSource: b.md", "a\\x0aSource: b.md"),
        ("a\u202egpj.md", "a\\u202egpj.md"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_a_name_stays_on_its_line(name: str, shown: str) -> None:
    assert names.shown(name) == shown


def test_two_files_that_are_shown_alike_are_not_mixed_up(tmp_path: Path) -> None:
    (tmp_path / "a\nb.md").write_text("one", encoding="utf-8")
    (tmp_path / "a\\x0ab.md").write_text("two", encoding="utf-8")

    found = look(tmp_path)

    assert list(found.files) == ["a\\x0ab.md"]
    assert "two files" in found.notes[0]


def test_a_missing_folder_is_noted_and_leaves_its_documents_alone(tmp_path: Path) -> None:
    write(tmp_path / "here/a.md")

    found = look(tmp_path / "here", tmp_path / "away")

    assert list(found.files) == ["here/a.md"]
    assert found.leaves_open("away/b.md")
    assert not found.leaves_open("here/b.md")
    assert f"{tmp_path / 'away'}/ is not there; documents that" in found.notes[0]


def test_a_folder_that_cannot_be_read_leaves_what_is_below_it_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.md")
    deep = deeper_than_paths_reach(tmp_path)

    found = look(tmp_path)

    assert list(found.files) == ["a.md"]
    assert found.leaves_open(f"{deep}/a.md")
    assert not found.leaves_open("b.md")
    assert "can't be read" in found.notes[0]
    assert "are kept" in found.notes[0]


def test_the_index_is_never_indexed(tmp_path: Path) -> None:
    write(tmp_path / "a.md")
    write(tmp_path / "faiss_index/index.md")

    found = scan([tmp_path], IgnoreRules(()), ROOMY, own=[tmp_path / "faiss_index"])

    assert list(found.files) == ["a.md"]


def deeper_than_paths_reach(folder: Path) -> str:
    """Make folders in each other until no path leads to the last one; its path below `folder`."""
    names = ["d" * 250] * 20
    place = os.open(folder, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    return "/".join(names)
