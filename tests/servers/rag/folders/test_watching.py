"""Changes in the folders are heard of, those that matter."""

import queue
import threading
from pathlib import Path
from typing import TypeAlias

import pytest

from servers.rag.folders.scan import IgnoreRules
from servers.rag.folders.watching import Watcher

Heard: TypeAlias = queue.Queue[frozenset[str] | None]

SOON_SECONDS = 50.0


def watcher(folder: Path, heard: Heard, own: Path | None = None) -> Watcher:
    return Watcher([folder], IgnoreRules(("*.log",)), heard.put, [own] if own else [])


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("a.md", True),
        ("deep/er/a.md", True),
        ("", True),
        ("a.log", False),
        (".git/index", False),
        ("x/node_modules/y/a.md", False),
        ("faiss_index/index.sqlite3-wal", False),
        ("../docs-secret/a.md", False),
    ],
)
def test_only_what_can_be_a_document_concerns_it(tmp_path: Path, path: str, concerns: bool) -> None:
    folder = tmp_path / "docs"
    watching = watcher(folder, Heard(), own=folder / "faiss_index")

    assert watching.concerns(str((folder / path).resolve())) is concerns


def test_a_new_file_in_a_new_folder_is_heard_of_and_closing_ends_the_thread(
    tmp_path: Path,
) -> None:
    heard = Heard()
    watching = watcher(tmp_path, heard)
    watching.start()
    assert heard.get(timeout=SOON_SECONDS) is None  # what was there before

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.md").write_text("text", encoding="utf-8")

    paths = heard.get(timeout=SOON_SECONDS)
    assert paths is not None
    assert str(tmp_path / "sub") in paths
    watching.close(SOON_SECONDS)
    assert "watching" not in {thread.name for thread in threading.enumerate()}
