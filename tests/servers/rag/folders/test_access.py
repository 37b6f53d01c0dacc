"""Which names the document tools open, and which they refuse, with the reason."""

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from servers.rag.errors import OutsideFolders, RagError
from servers.rag.folders.access import resolve
from servers.rag.indexing.reading import NotReadable, Vanished, read_hash
from servers.reading.files import FileExtractor
from servers.reading.process.messages import Request
from servers.reading.source import ExtractionError
from tests.servers.rag.indexing.doubles import SOON_SECONDS

CAFE = "caf\u00e9.md"
"""In normal form C."""

TRIES = 3_000
SHORT_SECONDS = 0.0002


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, links and traps in it, and a sibling whose name begins alike."""
    tmp_path = tmp_path_factory.mktemp("folders")
    folder = tmp_path / "docs"
    (folder / "deep" / "er").mkdir(parents=True)
    (tmp_path / "docs-secret").mkdir()
    for name in (
        *("docs/a.md", "docs/deep/er/b.md", "docs/Notes.md", "docs/two words.txt", "docs/..hidden"),
        *(f"docs/{CAFE}", "docs/\ufb01sh.md", "docs/100%.md", "docs-secret/key.md", "outside.md"),
    ):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (folder / "out.md").symlink_to(tmp_path / "outside.md")
    (folder / "relative.md").symlink_to("../outside.md")
    (folder / "sibling").symlink_to(tmp_path / "docs-secret")
    (folder / "in.md").symlink_to("deep/er/b.md")
    (folder / "round.md").symlink_to("round.md")
    (folder / "chain.md").symlink_to("out.md")
    (folder / "null").symlink_to(os.devnull)
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("a.md", "a.md"),
        ("./a.md", "a.md"),
        ("deep//er/./b.md", "deep/er/b.md"),
        ("docs/a.md", "a.md"),
        ("docs/deep/er/b.md", "deep/er/b.md"),
        ("two words.txt", "two words.txt"),
        ("..hidden", "..hidden"),
        ("in.md", "deep/er/b.md"),
        (CAFE, CAFE),
        ("\ufb01sh.md", "\ufb01sh.md"),
        ("100%.md", "100%.md"),
        ("{docs}/a.md", "a.md"),
        ("{docs}/deep/er/b.md", "deep/er/b.md"),
    ],
)
def test_a_file_inside_is_found(docs: Path, given: str, file: str) -> None:
    assert resolve([docs], given.format(docs=docs)) == docs.resolve() / file


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a" * 5000, "4096"),
        ("a.md\0.txt", "no file's name"),
        ("\0", "no file's name"),
        ("a.md\n", "no file's name"),
        ("\x1b[2Ja.md", "no file's name"),
        ("\udcff.md", "no file's name"),
        ("../outside.md", "'..'"),
        ("deep/../../outside.md", "'..'"),
        ("deep/../a.md", "'..'"),
        ("..", "'..'"),
        ("a.md/..", "'..'"),
        ("docs/../../outside.md", "'..'"),
        ("{docs}/../outside.md", "'..'"),
        ("..\\outside.md", "plain slashes"),
        ("deep\\..\\..\\outside.md", "plain slashes"),
        ("%2e%2e/outside.md", "plain slashes"),
        ("..%2Foutside.md", "plain slashes"),
        ("a.md%00.txt", "plain slashes"),
        ("\uff0e\uff0e/outside.md", "look like"),
        ("\u2025/outside.md", "look like"),
        ("deep\uff0fer\uff0fb.md", "look like"),
        ("..\uff0foutside.md", "look like"),
        ("deep\uff3ca.md", "look like"),
        ("/etc/passwd", "outside the document folders"),
        ("/", "outside the document folders"),
        ("/dev/stdin", "outside the document folders"),
        ("/proc/self/environ", "outside the document folders"),
        ("{docs}-secret/key.md", "outside the document folders"),
        ("{docs}/../docs-secret/key.md", "'..'"),
        ("file:///etc/passwd", "an address"),
        ("file://{docs}/a.md", "an address"),
        ("FILE:a.md", "an address"),
        ("http://127.0.0.1/a.md", "an address"),
        ("C:\\a.md", "an address"),
        ("//server/share/a.md", "an address"),
        ("\\\\server\\share", "an address"),
        ("~/a.md", "home directories"),
        ("~root/a.md", "home directories"),
        ("out.md", "leads out"),
        ("relative.md", "leads out"),
        ("chain.md", "leads out"),
        ("sibling/key.md", "leads out"),
        ("null", "leads out"),
        ("{docs}/out.md", "leads out"),
        ("round.md", ""),
        ("pipe", "no ordinary file"),
        ("deep", "folder"),
        ("{docs}", "folder"),
        ("a.md/b.md", "no such file"),
        ("missing.md", "no such file"),
        ("notes.md", "'Notes.md', which is written differently"),
        ("A.MD", "'a.md', which is written differently"),
        ("DEEP/er/b.md", "'deep', which is written differently"),
        ("cafe\u0301.md", f"'{CAFE}', which is written differently"),
        ("fish.md", "'\ufb01sh.md', which is written differently"),
        ("\uff41.md", "'a.md', which is written differently"),
    ],
)
def test_what_lies_outside_or_is_another_s_name_is_refused_with_the_reason(
    docs: Path, given: str, reason: str
) -> None:
    with pytest.raises(OutsideFolders) as refused:
        resolve([docs], given.format(docs=docs))
    told = str(refused.value)
    assert reason in told
    assert len(told) < 250
    assert told.isprintable()


def test_of_several_folders_the_first_that_has_the_file_counts(docs: Path) -> None:
    other = docs.parent / "papers"
    (other / "papers").mkdir(parents=True)
    for name in ("a.md", "c.md", "papers/c.md"):
        (other / name).write_text(name)
    assert resolve([docs, other], "a.md") == docs.resolve() / "a.md"
    assert resolve([docs, other], "papers/a.md") == other.resolve() / "a.md"
    assert resolve([docs, other], "papers/c.md") == other.resolve() / "papers" / "c.md"
    assert resolve([docs, other], f"{other}/a.md") == other.resolve() / "a.md"
    with pytest.raises(OutsideFolders, match="leads out"):
        resolve([other, docs], "out.md")


def test_a_folder_that_is_a_link_or_is_missing_is_as_good_as_its_target(docs: Path) -> None:
    link = docs.parent / "link"
    link.symlink_to(docs)
    missing = docs.parent / "missing"
    assert resolve([missing, link], "a.md") == docs.resolve() / "a.md"
    assert resolve([link], f"{link}/a.md") == docs.resolve() / "a.md"
    with pytest.raises(OutsideFolders, match="no such file"):
        resolve([missing], "a.md")


def test_a_name_below_a_folder_cannot_climb_through_a_link_that_comes_back(docs: Path) -> None:
    (docs.parent / "trip").symlink_to(docs)
    (docs / "away").symlink_to("../trip")
    assert resolve([docs], "away/a.md") == docs.resolve() / "a.md"
    (docs / "up").symlink_to("..")
    with pytest.raises(OutsideFolders, match="leads out"):
        resolve([docs], "up/docs/a.md")


@pytest.mark.parametrize("reads", ["a document", "its hash"])
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(
    tmp_path: Path, reads: str
) -> None:
    root, outside = tmp_path / "documents", tmp_path / "outside"
    for folder, text in ((root / "sub", "inside"), (outside, "secret")):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(text)
    ends = threading.Event()
    swaps = threading.Thread(target=swap, args=(root / "sub", outside, ends))
    swaps.start()
    hashes = {hashlib.sha256(b"inside").hexdigest()}
    found = set[str]()
    try:
        for _ in range(TRIES):
            with suppress(RagError, ExtractionError, Vanished, NotReadable):
                path = resolve([root], "sub/a.txt")
                if reads == "a document":
                    found.add(FileExtractor().extract(Request(path)).markdown)
                else:
                    found.add(read_hash(str(path), 1_000).content_hash)
    finally:
        ends.set()
        swaps.join(SOON_SECONDS)
    assert found == ({"inside"} if reads == "a document" else hashes)


def swap(folder: Path, outside: Path, ends: threading.Event) -> None:
    """Put a link in the place of a folder, and the folder back, until told to end."""
    aside = folder.with_name("aside")
    while not ends.wait(SHORT_SECONDS):
        folder.rename(aside)
        folder.symlink_to(outside)
        ends.wait(SHORT_SECONDS)
        folder.unlink()
        aside.rename(folder)


def test_what_stands_behind_a_link_now_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("secret")
    (tmp_path / "sub").symlink_to("outside")
    with pytest.raises(ExtractionError, match="can't be opened"):
        FileExtractor().extract(Request(tmp_path / "sub" / "a.txt"))
    with pytest.raises((Vanished, NotReadable)):
        read_hash(str(tmp_path / "sub" / "a.txt"), 1_000)
