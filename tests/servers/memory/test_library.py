"""Past exchanges, searched as their sessions stand now, over a real index."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.base.memory.exchanges import DatedExchange
from core.base.memory.facts import FactStore
from core.base.redaction import Redactor
from servers.memory.library import MemoryLibrary
from servers.memory.options import MemoryOptions
from servers.memory.ranking import Found
from servers.rag.errors import EmbedderUnavailable
from servers.rag.index.lock import WriterLock
from servers.rag.ports import Embedder
from tests.core.base.memory.session_files import write_session
from tests.servers.rag.indexing.doubles import LetterEmbedder, eventually

Opener = Callable[..., MemoryLibrary]
NOW = 2_000_000_000.0
DAY = 86_400.0
LEASE = DatedExchange(NOW - 9 * DAY, "when does the lease end?", "It ends in May.")
ROOF = DatedExchange(NOW - 5 * DAY, "which colour has the roof?", "The roof is red.", ("look",))


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """Opens the library of `memory`, and closes it in the end."""
    with ExitStack() as opened:

        def open_library(embedder: Embedder | None = None, failure: str = "") -> MemoryLibrary:
            def open_embedder() -> Embedder | None:
                if failure:
                    raise EmbedderUnavailable(failure)
                return embedder

            options = MemoryOptions(folder=tmp_path / "memory")
            library = MemoryLibrary(options, {}, lambda: NOW, open_embedder)
            opened.callback(library.close)
            return library

        yield open_library


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    write_session(folder, "2033/05/09/session-1-aaaaaa", [LEASE], "Flat")
    write_session(folder, "2033/05/13/session-2-bbbbbb", [ROOF])
    return folder


def requests(found: Found) -> list[str]:
    return [each.past.exchange.request for each in found.memories]


@pytest.mark.usefixtures("memory")
def test_an_exchange_is_found_with_its_session(opener: Opener) -> None:
    found = opener(LetterEmbedder()).search("the lease", 5)
    best = found.memories[0]
    assert best.past.session_id == "2033/05/09/session-1-aaaaaa"
    assert best.past.title == "Flat"
    assert best.past.exchange == LEASE
    assert best.score > found.memories[1].score
    assert found.notes == ()


def test_sessions_are_taken_in_when_they_are_searched(opener: Opener, memory: Path) -> None:
    library = opener()
    assert requests(library.search("gutter", 5, "words")) == []
    gutter = DatedExchange(NOW - DAY, "who cleans the gutter?", "Nobody.")
    path = write_session(memory, "notes", [gutter])
    assert requests(library.search("gutter", 5, "words")) == [gutter.request]
    write_session(memory, "notes", [gutter, DatedExchange(NOW, "the gutter?", "You.")])
    assert len(requests(library.search("gutter", 5, "words"))) == 2
    path.unlink()
    assert requests(library.search("gutter", 5, "words")) == []


def test_the_request_that_is_being_answered_is_not_found(opener: Opener, memory: Path) -> None:
    asked = [
        DatedExchange(NOW - 2 * DAY, "what about the lease of the garage?", None),
        DatedExchange(NOW - 5, "what did I ask about the lease?", None),
    ]
    write_session(memory, "now", asked)
    found = requests(opener().search("what did I ask about the lease?", 5, "words"))
    assert sorted(found) == [asked[0].request, LEASE.request]


def test_what_only_repeats_a_memory_is_none(opener: Opener, memory: Path) -> None:
    searched = DatedExchange(NOW - DAY, "what did I ask about gutters?", "Gutters", ("recall",))
    both = DatedExchange(NOW - DAY, "add the gutters that you know", "3", ("recall", "add"))
    write_session(memory, "now", [searched, both])
    assert requests(opener().search("gutters", 5, "words")) == [both.request]


def test_other_profiles_facts_and_damaged_files_are_not_looked_into(
    opener: Opener, memory: Path
) -> None:
    secret = DatedExchange(NOW - DAY, "what is the lease of the other?", "A secret.")
    write_session(memory / "profiles" / "other", "2033/05/09/session-1-cccccc", [secret])
    write_session(memory, "x", [secret]).rename(memory / "x.json.damaged-12")
    FactStore(memory, Redactor({})).keep("remember that the lease is a secret")
    assert requests(opener().search("lease secret", 9, "words")) == [LEASE.request]


def test_nothing_kept_is_nothing_found(opener: Opener) -> None:
    assert opener().search("lease", 5, "words").memories == ()


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(("embedder", "failure"), [(None, ""), (None, "ollama is not running")])
def test_without_an_embedder_words_find_and_it_is_said(
    opener: Opener, embedder: Embedder | None, failure: str
) -> None:
    found = opener(embedder, failure).search("the lease", 5)
    assert requests(found)[0] == LEASE.request
    assert any("words alone" in note for note in found.notes)
    assert not failure or failure in found.notes


@pytest.mark.usefixtures("memory")
def test_an_embedder_that_fails_leaves_the_words(opener: Opener) -> None:
    embedder = LetterEmbedder()
    embedder.down = True
    library = opener(embedder)
    found = library.search("the lease", 5)
    assert requests(found)[0] == LEASE.request
    assert "the embedder is down" in " ".join(found.notes)
    embedder.down = False
    assert library.search("the lease", 5).notes == ()
    assert len(embedder.embedded) > 1


def test_many_new_exchanges_get_their_vectors_while_words_find_them(
    opener: Opener, memory: Path
) -> None:
    many = [DatedExchange(NOW - n, f"what is lease {n}?", f"Number {n}.") for n in range(1, 101)]
    write_session(memory, "many", many)
    embedder = LetterEmbedder()
    embedder.gate.clear()
    library = opener(embedder)
    found = library.search("lease 77", 5, "words")
    assert requests(found)[0] == "what is lease 77?"
    assert found.notes == ("102 exchanges can be found by words alone so far",)
    embedder.gate.set()
    assert eventually(lambda: library.search("lease 77", 5).notes == ())


def test_two_libraries_share_one_index(opener: Opener, memory: Path) -> None:
    one, other = opener(LetterEmbedder()), opener(LetterEmbedder())
    assert requests(one.search("lease", 1)) == [LEASE.request]
    new = DatedExchange(NOW - 3 * DAY, "who owns the attic?", "Ada.")
    write_session(memory, "attic", [new])
    assert requests(other.search("attic", 1)) == [new.request]
    write_session(memory, "attic", [DatedExchange(NOW, "who owns the cellar?", "Bob.")])
    assert requests(one.search("cellar", 1)) == ["who owns the cellar?"]


def test_what_another_process_holds_is_searched_as_it_was(opener: Opener, memory: Path) -> None:
    library = opener()
    library.search("lease", 1, "words")
    lock = WriterLock(memory / "index")
    assert lock.acquire()
    try:
        write_session(memory, "attic", [DatedExchange(NOW - DAY, "the lease of the attic?", "No.")])
        found = library.search("lease", 5, "words")
    finally:
        lock.release()
    assert requests(found) == [LEASE.request]
    assert "what was said last may be missing" in found.notes[0]
    assert len(requests(library.search("lease", 5, "words"))) == 2
