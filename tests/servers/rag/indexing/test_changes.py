"""What is to be done, told from names, sizes and times alone."""

from servers.rag.folders.scan import FoundFile, Scan
from servers.rag.indexing.changes import compare
from servers.rag.passages import DocumentEntry, DocumentStatus


def found(*files: FoundFile, unread: tuple[str, ...] = ()) -> Scan:
    return Scan({file.file: file for file in files}, list(unread))


def on_disk(file: str, size: int = 10, modified_ns: int = 1, refusal: str = "") -> FoundFile:
    return FoundFile(file, f"/docs/{file}", size, modified_ns, refusal)


def known(
    file: str, status: DocumentStatus = "indexed", note: str = "", path: str = ""
) -> DocumentEntry:
    return DocumentEntry(file, path or f"/docs/{file}", status, 10, 1, 1, note=note)


def test_what_looks_the_same_is_unchanged() -> None:
    changes = compare(found(on_disk("a.md"), on_disk("b.md")), [known("a.md"), known("b.md")])

    assert changes.unchanged == 2
    assert [*changes.unread, *changes.gone, *changes.renamed, *changes.refused] == []


def test_new_larger_and_later_files_are_to_be_read_and_missing_ones_are_gone() -> None:
    changes = compare(
        found(on_disk("new.md"), on_disk("larger.md", size=11), on_disk("later.md", modified_ns=2)),
        [known("larger.md"), known("later.md"), known("gone.md")],
    )

    assert [file.file for file in changes.unread] == ["new.md", "larger.md", "later.md"]
    assert [entry.file for entry in changes.gone] == ["gone.md"]


def test_a_failed_file_is_not_tried_again_before_it_changes() -> None:
    assert compare(found(on_disk("a.pdf")), [known("a.pdf", "failed")]).unread == []


def test_what_is_forced_is_read_though_it_looks_the_same() -> None:
    changes = compare(found(on_disk("a.md")), [known("a.md")], force={"a.md"})

    assert [file.file for file in changes.unread] == ["a.md"]


def test_a_file_whose_name_got_its_folder_before_it_is_renamed() -> None:
    file = FoundFile("docs/a.md", "/docs/a.md", 10, 1)

    changes = compare(found(file), [known("a.md")])

    assert changes.renamed == [("a.md", file)]
    assert changes.gone == []


def test_a_file_of_the_same_name_in_another_place_is_looked_into() -> None:
    changes = compare(found(on_disk("a.md")), [known("a.md", path="/elsewhere/a.md")])

    assert [file.file for file in changes.unread] == ["a.md"]


def test_documents_below_a_folder_that_was_not_read_stay() -> None:
    changes = compare(found(unread=("shut/",)), [known("shut/a.md"), known("open/b.md")])

    assert [entry.file for entry in changes.gone] == ["open/b.md"]


def test_a_refusal_is_listed_once_and_lifted_when_its_reason_is_gone() -> None:
    refused = on_disk("a.md", refusal="too large")

    assert compare(found(refused), []).refused == [refused]
    assert compare(found(refused), [known("a.md", "skipped", "too large")]).unchanged == 1
    assert compare(found(refused), [known("a.md", "skipped", "other")]).refused == [refused]
    assert compare(found(on_disk("a.md")), [known("a.md", "skipped")]).unread == [on_disk("a.md")]
