"""Files are copied into a document folder, and nothing there is overwritten."""

import os
from pathlib import Path

import pytest

from servers.rag.errors import Refused
from servers.rag.folders.adding import Added, add_files


def added(folder: Path, *sources: Path) -> list[tuple[str, str]]:
    def told(one: Added) -> tuple[str, str]:
        return str(one.target.relative_to(folder)), one.state

    return [told(one) for one in add_files(folder, sources)]


def test_files_and_folders_are_copied_and_a_second_time_are_there(tmp_path: Path) -> None:
    source, docs = tmp_path / "papers", tmp_path / "home" / "docs"
    (source / "deep" / ".git").mkdir(parents=True)
    for name in ("a.md", "deep/b.md", "deep/.hidden", "deep/.git/config"):
        (source / name).write_text(name)
    (source / "link.md").symlink_to(tmp_path / "single.txt")
    single = tmp_path / "single.txt"
    single.write_text("one")
    both = [("papers/a.md", "added"), ("papers/deep/b.md", "added"), ("single.txt", "added")]
    assert added(docs, source, single) == both
    assert added(docs, source, single) == [(name, "there") for name, _ in both]
    assert sorted(p.name for p in docs.rglob("*") if p.is_file()) == ["a.md", "b.md", "single.txt"]
    assert (docs / "papers" / "deep" / "b.md").read_text() == "deep/b.md"
    assert single.read_text() == "one"


def test_another_file_of_the_name_stays_and_is_told(tmp_path: Path) -> None:
    docs, source = tmp_path / "docs", tmp_path / "a.md"
    docs.mkdir()
    (docs / "a.md").write_text("mine")
    source.write_text("yours")
    (one,) = add_files(docs, [source])
    assert (one.state, (docs / "a.md").read_text()) == ("refused", "mine")
    assert "another file" in one.reason
    (docs / "a.md").unlink()
    (docs / "a.md").symlink_to(tmp_path / "nowhere")
    assert added(docs, source) == [("a.md", "refused")]
    assert not (tmp_path / "nowhere").exists()


def test_what_cannot_be_added_stops_all_before_anything_is_copied(tmp_path: Path) -> None:
    good, docs, pipe = tmp_path / "good.md", tmp_path / "all" / "docs", tmp_path / "pipe"
    good.write_text("x")
    docs.mkdir(parents=True)
    os.mkfifo(pipe)
    for bad, reason in (
        (tmp_path / "missing.md", "not there"),
        (pipe, "no ordinary file"),
        (tmp_path / "all", "document folder itself"),
        (docs, "document folder itself"),
    ):
        with pytest.raises(Refused, match=reason):
            list(add_files(docs, [good, bad]))
    assert list(docs.iterdir()) == []


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "docs"
    file.write_text("x")
    with pytest.raises(Refused, match="can't be made"):
        list(add_files(file, [file]))
