"""Asking a library that opens and indexes in the background."""

from pathlib import Path

import pytest

from servers.rag.errors import IndexUnusable, OutsideFolders
from servers.rag.indexing.progress import IndexProgress
from servers.rag.library.async_library import AsyncLibrary
from servers.rag.passages import SearchMode, SearchResult
from servers.reading.source import ExtractionError
from tests.servers.rag.library.fake_library import DONE, FakeLibrary, entry, passage


async def silence(progress: IndexProgress) -> None:
    """Nobody listens."""


async def test_a_search_waits_for_files_that_are_being_read_and_tells_how_far_it_is() -> None:
    steps = [IndexProgress(n, 2, 0, 4) for n in (0, 0, 1, 1, 2)]
    library = FakeLibrary(steps=[*steps, None])
    told: list[int] = []

    async def tell(progress: IndexProgress) -> None:
        told.append(progress.files_done)

    opened = AsyncLibrary(lambda: library, [], vectors_wait_seconds=0)
    found, notes = await opened.search("x", 3, "a.md", "words", tell)
    assert library.asked == [("x", 3, "a.md", "words")]
    assert library.started
    assert told == sorted(set(told))
    assert told[0] == 0
    assert (found, notes) == (library.found, [])
    await opened.aclose()
    assert library.closed


async def test_it_does_not_wait_for_ever_and_says_what_is_missing() -> None:
    library = FakeLibrary(
        found=SearchResult((passage("x"),), "Searched by words alone."),
        steps=[IndexProgress(1, 9, 0, 0)],
        trouble=("the disk is full",),
    )
    opened = AsyncLibrary(lambda: library, [], files_wait_seconds=0, vectors_wait_seconds=0)
    _, notes = await opened.search("x", 5, None, "hybrid", silence)
    assert notes[0] == "Searched by words alone."
    assert "1 of 9 files" in notes[1]
    assert notes[2] == "the disk is full"
    library.has_compared = False
    await opened.documents(silence)
    await opened.aclose()


async def test_a_search_without_any_document_says_so() -> None:
    library = FakeLibrary(found=SearchResult((), "Nothing fits."))
    opened = AsyncLibrary(lambda: library, [])
    _, notes = await opened.search("x", 5, None, "hybrid", silence)
    assert notes == ["There are no documents yet."]
    await opened.aclose()


@pytest.mark.parametrize("mode", ["words", "hybrid"])
async def test_only_a_search_by_meaning_waits_for_vectors(mode: SearchMode) -> None:
    library = FakeLibrary(steps=[*[IndexProgress(2, 2, n, 4) for n in range(4)], None])
    opened = AsyncLibrary(lambda: library, [])
    await opened.search("x", 5, None, mode, silence)
    assert (library.progress is None) == (mode == "hybrid")
    await opened.aclose()


async def test_lists_and_texts_wait_for_no_vectors() -> None:
    library = FakeLibrary(steps=[IndexProgress(2, 2, 0, 4)], texts={"a.md": "A"})
    opened = AsyncLibrary(lambda: library, [])
    _, notes = await opened.documents(silence)
    assert "0 of 4 passages by their meaning" in notes[0]
    assert await opened.text("a.md", silence) == ("a.md", "A")
    await opened.aclose()


async def test_a_library_that_cannot_be_opened_is_told_at_every_question() -> None:
    def fail() -> FakeLibrary:
        raise IndexUnusable("the disk is full")

    opened = AsyncLibrary(fail, [])
    for _ in range(2):
        with pytest.raises(IndexUnusable, match="disk is full"):
            await opened.search("x", 5, None, "hybrid", silence)
    await opened.aclose()


async def test_nothing_is_opened_by_closing() -> None:
    opened: list[int] = []

    def open_it() -> FakeLibrary:
        opened.append(1)
        return FakeLibrary()

    await AsyncLibrary(open_it, []).aclose()
    assert opened == []


async def test_a_document_is_found_by_its_name_by_its_path_or_read_on_the_spot(
    tmp_path: Path,
) -> None:
    for name in ("a.md", "new.md", "broken.bad"):
        (tmp_path / name).write_text(name)
    (tmp_path.parent / f"{tmp_path.name}-secret").mkdir()
    library = FakeLibrary(
        texts={"notes/a.md": "A"},
        entries=[entry("notes/a.md", str((tmp_path / "a.md").resolve()))],
        steps=[DONE],
    )
    opened = AsyncLibrary(lambda: library, [tmp_path], vectors_wait_seconds=0)
    assert await opened.text("notes/a.md", silence) == ("notes/a.md", "A")
    assert await opened.text("a.md", silence) == ("notes/a.md", "A")
    assert await opened.text(str(tmp_path / "a.md"), silence) == ("notes/a.md", "A")
    assert await opened.text("new.md", silence) == ("new.md", "new.md")
    for bad in ("../a.md", f"{tmp_path}-secret/a.md", "/etc/passwd", "gone.md"):
        with pytest.raises(OutsideFolders):
            await opened.text(bad, silence)
        with pytest.raises(OutsideFolders):
            await opened.extract(bad)
    with pytest.raises(ExtractionError, match="damaged"):
        await opened.extract("broken.bad")
    await opened.aclose()
