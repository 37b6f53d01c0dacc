"""The library as a whole, over real files, index and vectors, with a small embedder."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from servers.rag.chunking.chunker import cut_by_structure
from servers.rag.errors import EmbedderUnavailable, IndexUnusable
from servers.rag.indexing.progress import IndexEvent
from servers.rag.library.library import DocumentLibrary, tell_nobody
from servers.rag.library.parts import Parts
from tests.servers.rag.indexing.doubles import (
    SOON_SECONDS,
    LetterEmbedder,
    PlainExtractor,
    eventually,
    options,
    write,
)

Opener = Callable[..., DocumentLibrary]


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """Opens libraries on the folder `documents`, and closes them in the end."""
    with ExitStack() as opened:

        def open_library(
            embedder: LetterEmbedder | None = None,
            *,
            extractor: PlainExtractor | None = None,
            lacking: list[str] | None = None,
            on_event: Callable[[IndexEvent], None] | None = None,
            **others: object,
        ) -> DocumentLibrary:
            def open_embedder() -> LetterEmbedder | None:
                if missing := lacking.pop(0) if lacking else "":
                    raise EmbedderUnavailable(missing)
                return embedder

            library = DocumentLibrary.open(
                options(tmp_path, **others),
                {},
                on_event or tell_nobody,
                parts=Parts(
                    extractor or PlainExtractor(), open_embedder, cut_by_structure, "plain"
                ),
                reopen_seconds=0.01,
            )
            opened.callback(library.close)
            return library

        yield open_library


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    write(folder / "apple.md", "# Apple\n\nAn orchard of apples.")
    write(folder / "zebra.md", "# Zebra\n\nZigzag zebras snooze.")
    return folder


def best_file(library: DocumentLibrary, query: str) -> str:
    passages = library.search(query).passages
    return passages[0].file if passages else ""


def test_what_is_synced_is_found_by_words_and_by_meaning(opener: Opener, fruit: Path) -> None:
    library = opener(LetterEmbedder())

    assert library.sync().added == 2

    best = library.search("zigzag zebras").passages[0]
    assert best.file == "zebra.md"
    assert best.cosine is not None
    assert best.cosine > 0.8
    assert library.text("apple.md") == (fruit / "apple.md").read_text(encoding="utf-8")
    assert library.text("pear.md") is None
    assert library.progress is None
    status = library.status()
    assert (status.embedder, status.counts.chunks_without_vectors) == ("letters", 0)
    assert status.notes == ()


@pytest.mark.usefixtures("fruit")
def test_without_vectors_it_is_found_by_words_and_the_next_sync_makes_them(opener: Opener) -> None:
    embedder = LetterEmbedder()
    library = opener(embedder)

    assert library.sync(embed=False).added == 2

    assert library.search("orchard", mode="words").passages[0].file == "apple.md"
    assert (embedder.embedded, library.status().counts.chunks_without_vectors) == ([], 2)
    library.sync()
    assert library.status().counts.chunks_without_vectors == 0


@pytest.mark.usefixtures("fruit")
def test_where_no_embedder_is_wanted_nothing_waits_for_vectors(opener: Opener) -> None:
    library = opener(None)
    library.sync()
    assert library.status().counts.chunks_without_vectors == 0
    library.close()
    lacking = opener(LetterEmbedder(), lacking=["ollama is not running"] * 9)
    assert lacking.status().counts.chunks_without_vectors == 2


@pytest.mark.usefixtures("fruit")
def test_what_was_indexed_is_there_when_it_is_opened_again(opener: Opener) -> None:
    first = opener(LetterEmbedder())
    first.sync()
    first.close()

    embedder = LetterEmbedder()
    library = opener(embedder)

    assert best_file(library, "orchard") == "apple.md"
    assert library.sync().unchanged == 2
    assert embedder.embedded == ["orchard"]


def test_what_is_synced_later_is_found_by_meaning_as_well(opener: Opener, fruit: Path) -> None:
    library = opener(LetterEmbedder())
    library.sync()
    library.search("orchard")
    write(fruit / "quince.md", "# Quince\n\nA quince tree.")

    library.sync()

    assert library.search("quince tree", mode="vectors").passages[0].file == "quince.md"


def test_without_an_embedder_words_are_searched_and_it_is_said(opener: Opener, fruit: Path) -> None:
    assert fruit.is_dir()
    library = opener(None)
    library.sync()

    result = library.search("orchard")

    assert [passage.file for passage in result.passages] == ["apple.md"]
    assert "words alone" in result.note
    assert library.progress is None


@pytest.mark.usefixtures("fruit")
def test_another_embedder_means_that_all_is_embedded_again_and_says_so(opener: Opener) -> None:
    first = opener(LetterEmbedder("letters-1"))
    first.sync()
    first.close()

    events: list[IndexEvent] = []
    embedder = LetterEmbedder("letters-2")
    library = opener(embedder, on_event=events.append)

    assert "2 chunks are embedded again" in library.status().notes[0]
    assert "embedded again" in str(events[0])
    library.sync()
    assert len(embedder.embedded) == 2


def test_in_the_background_words_come_before_vectors(opener: Opener, fruit: Path) -> None:
    embedder = LetterEmbedder()
    embedder.gate.clear()
    library = opener(embedder)
    library.start()

    assert eventually(lambda: len(library.documents()) == 2)
    assert eventually(lambda: library.progress is not None)
    by_word = library.search("orchard", mode="words")
    assert [passage.file for passage in by_word.passages] == ["apple.md"]
    assert fruit.is_dir()

    embedder.gate.set()
    assert eventually(lambda: library.progress is None)
    assert eventually(lambda: library.search("orchard").passages[0].cosine is not None)


def test_a_watched_folder_is_followed(opener: Opener, fruit: Path) -> None:
    library = opener(LetterEmbedder(), watch=True)
    library.start()
    assert eventually(lambda: len(library.documents()) == 2 and library.has_compared)

    write(fruit / "new/quince.md", "# Quince\n\nA quince tree.")
    (fruit / "apple.md").unlink()

    assert eventually(
        lambda: [e.file for e in library.documents()] == ["new/quince.md", "zebra.md"]
    )


def test_of_two_on_one_index_one_writes_and_the_other_follows_and_takes_over(
    opener: Opener, fruit: Path
) -> None:
    writer = opener(LetterEmbedder())
    writer.sync()
    reader = opener(LetterEmbedder())
    reader.start()

    assert eventually(lambda: best_file(reader, "orchard") == "apple.md")
    with pytest.raises(IndexUnusable, match="another process"):
        reader.sync()
    write(fruit / "quince.md", "# Quince\n\nA quince tree.")
    writer.sync()
    assert eventually(lambda: best_file(reader, "quince") == "quince.md")
    assert eventually(lambda: (reader.search("quince").passages[0].cosine or 0) > 0.5)

    writer.close()
    (fruit / "quince.md").unlink()
    assert eventually(lambda: "quince.md" not in {entry.file for entry in reader.documents()})


def test_an_embedder_that_is_not_there_yet_is_asked_for_again(opener: Opener, fruit: Path) -> None:
    library = opener(LetterEmbedder(), lacking=["ollama is not running"])
    assert library.failures() == ["ollama is not running"]
    library.start()

    assert eventually(lambda: library.status().embedder == "letters")
    assert eventually(lambda: library.progress is None and library.has_compared)
    assert eventually(lambda: library.search("zebras").passages[0].cosine is not None)
    assert library.failures() == []
    assert fruit.is_dir()


@pytest.mark.usefixtures("fruit")
def test_an_embedder_that_comes_late_and_is_another_one_embeds_all_again(opener: Opener) -> None:
    first = opener(LetterEmbedder("letters-1"))
    first.sync()
    first.close()

    events: list[IndexEvent] = []
    library = opener(LetterEmbedder("letters-2"), lacking=["not yet"], on_event=events.append)
    library.start()

    assert eventually(lambda: "2 chunks are embedded again" in str(events))
    assert eventually(lambda: library.status().counts.chunks_without_vectors == 0)
    assert eventually(lambda: library.search("zebras").passages[0].cosine is not None)


def test_reindexing_reads_all(opener: Opener, fruit: Path) -> None:
    extractor = PlainExtractor()
    library = opener(LetterEmbedder(), extractor=extractor)
    library.sync()
    extractor.read.clear()

    assert library.reindex().changed == 2
    assert sorted(extractor.read) == ["apple.md", "zebra.md"]
    assert library.extract(fruit / "zebra.md").markdown.startswith("# Zebra")


def test_closing_in_the_midst_of_everything_leaves_no_thread(opener: Opener, fruit: Path) -> None:
    before = set(threading.enumerate())
    for number in range(50):
        write(fruit / f"{number}.md", f"# Number {number}\n\nText of number {number}.")
    extractor = PlainExtractor()
    library = opener(LetterEmbedder(), extractor=extractor, watch=True)
    library.start()
    assert eventually(lambda: len(extractor.read) > 5)

    library.close()
    library.close()

    for thread in set(threading.enumerate()) - before:
        thread.join(SOON_SECONDS)
    assert set(threading.enumerate()) <= before
    assert extractor.closed
    with pytest.raises(IndexUnusable, match="closed"):
        library.documents()


def test_an_embedder_that_fails_is_told_and_keeps_nobody_waiting(
    opener: Opener, fruit: Path
) -> None:
    embedder = LetterEmbedder()
    embedder.down = True
    library = opener(embedder)
    library.start()

    assert eventually(lambda: "the embedder is down" in library.failures())
    assert eventually(lambda: library.progress is None)
    assert library.search("orchard").passages[0].file == "apple.md"
    assert fruit.is_dir()
