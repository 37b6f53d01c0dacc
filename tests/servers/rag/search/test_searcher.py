"""The search: both sides asked, noise told apart from answers, and any query survived."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from servers.rag.errors import EmbedderUnavailable
from servers.rag.passages import SearchMode
from servers.rag.search.noise import Legibility
from servers.rag.search.searcher import NOTHING_FITS, TOP_K_MAX, Searcher
from servers.rag.vectors.errors import VectorsUnavailable
from tests.servers.rag.search.memory_index import ExactVectors, MemoryIndex, WordCountEmbedder

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

TEXTS = {
    "cats.md": "a cat sleeps on the warm mat",
    "dogs.md": "a dog barks at the postman on monday",
    "tax.md": "the deadline for the tax return is in july",
    "tides.md": "the moon pulls the sea and makes the tides",
    "bread.md": "knead the dough and let the loaf rest",
}


class Library:
    """Some documents of one chunk each, with their vectors."""

    def __init__(self, texts: dict[str, str] = TEXTS) -> None:
        self.embedder = WordCountEmbedder(synonyms={"automobile": "car", "feline": "cat"})
        self.index, self.vectors = MemoryIndex(), ExactVectors()
        for file, text in texts.items():
            self.index.put(file, [text])
        self.index.embed(self.embedder, self.vectors)
        self.searcher = Searcher(self.index, self.vectors, self.embedder)

    def files(self, query: str, mode: SearchMode = "hybrid", top_k: int = 5) -> list[str]:
        return [hit.file for hit in self.searcher.search(query, top_k, mode=mode).passages]


@pytest.fixture(name="library")
def _library() -> Library:
    return Library()


def test_words_and_vectors_are_both_asked(library: Library):
    assert library.files("feline mat")[0] == "cats.md"
    assert library.files("feline", mode="vectors")[0] == "cats.md"
    assert library.files("feline", mode="words") == []


def test_a_passage_says_where_it_stands_and_how_near_it_is(library: Library):
    best = library.searcher.search("tax return deadline").passages[0]
    assert (best.file, best.chunk_id, best.text, best.line) == ("tax.md", 3, TEXTS["tax.md"], 1)
    assert best.score == 1.0
    assert best.cosine == pytest.approx(0.52, abs=0.01)


def test_a_chunk_that_only_words_found_gets_its_exact_cosine():
    library = Library()
    library.vectors.remove([1])  # an approximate index may miss it
    best = library.searcher.search("cat mat").passages[0]
    assert (best.file, best.cosine) == ("cats.md", pytest.approx(0.53, abs=0.01))


def test_a_chunk_without_a_vector_yet_is_found_by_its_words(library: Library):
    library.index.put("new.md", ["quarterly figures of the bakery"])
    best = library.searcher.search("quarterly figures bakery").passages[0]
    assert (best.file, best.cosine) == ("new.md", None)


def test_a_question_about_nothing_in_the_documents_gets_no_passage(library: Library):
    result = library.searcher.search("quantum chromodynamics of gluons and lattice gauge theories")
    assert result.passages == ()
    assert result.note == NOTHING_FITS


FAR = "please kindly elaborate whether somebody wrote anything regarding {}"


@pytest.mark.parametrize("name", ["ERR_4711", "Okonkwo", "okonkwo", "x-99", "Harbour"])
def test_a_rare_name_or_code_is_an_answer_however_far_the_vectors_are(name: str):
    library = Library({**TEXTS, "rare.md": f"the log of the moon has {name.lower()} in the end"})
    (best, *_) = library.searcher.search(FAR.format(name)).passages
    assert name.lower() in best.text
    assert best.cosine is not None
    assert best.cosine < 0.2


def test_an_ordinary_word_that_is_rare_here_is_none(library: Library):
    assert library.searcher.search(FAR.format("tides")).note == NOTHING_FITS


def test_keywords_find_what_holds_them(library: Library):
    far = {**TEXTS, "far.md": " ".join(f"w{number}" for number in range(50)) + " plumber"}
    assert Library(far).files("plumber")[:1] == ["far.md"]
    assert library.searcher.search("plumber").note == NOTHING_FITS


def test_a_near_vector_is_an_answer_without_any_word(library: Library):
    assert library.files("feline")[:1] == ["cats.md"]


def test_an_incidental_word_pushes_no_paraphrase_aside():
    notes = {f"note{number}.md": f"man sits {number} days" for number in range(20)}
    library = Library({"trip.md": "car cat went far away on tour", **notes})
    assert library.files("automobile feline man")[0] == "trip.md"
    assert library.files("man sits", mode="words")[0] != "trip.md"


def test_a_file_can_be_named(library: Library):
    named = library.searcher.search("the moon", file="tax.md", mode="words")
    assert [hit.file for hit in named.passages] == ["tax.md"]
    hybrid = library.searcher.search("the deadline", file="tax.md")
    assert [hit.file for hit in hybrid.passages] == ["tax.md"]


def test_a_file_that_is_not_there_is_said(library: Library):
    result = library.searcher.search("moon", file="nowhere.md")
    assert result.passages == ()
    assert "'nowhere.md'" in result.note


def test_without_an_embedder_words_alone_are_asked_and_the_note_says_so(library: Library):
    for mode in ("hybrid", "vectors"):
        result = Searcher(library.index, None, None).search("the moon", mode=mode)
        assert result.passages[0].file == "tides.md"
        assert result.passages[0].cosine is None
        assert result.note.startswith("Searched by words alone: there is no embedder.")


def test_who_asks_for_words_gets_no_note_about_vectors(library: Library):
    result = Searcher(library.index, None, None).search("moon", mode="words")
    assert result.note == ""
    assert library.embedder.asked == []


def test_while_there_are_no_vectors_words_answer(library: Library):
    library.vectors.close()
    result = library.searcher.search("moon")
    assert result.passages[0].file == "tides.md"
    assert result.note == "Searched by words alone: no passage has a vector yet."


class _BrokenEmbedder(WordCountEmbedder):
    def embed_query(self, text: str) -> "Vectors":
        raise EmbedderUnavailable("Ollama does not answer; start it with `ollama serve`.")


class _BrokenVectors(ExactVectors):
    def search(
        self, query: "Vectors", count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        raise VectorsUnavailable("Milvus does not answer")


def test_an_embedder_that_fails_leaves_the_words(library: Library):
    result = Searcher(library.index, library.vectors, _BrokenEmbedder()).search("moon")
    assert result.passages[0].file == "tides.md"
    assert result.note.endswith("alone: Ollama does not answer; start it with `ollama serve`.")


def test_a_vector_store_that_fails_leaves_the_words(library: Library):
    broken = _BrokenVectors(library.vectors.known)
    result = Searcher(library.index, broken, library.embedder).search("moon")
    assert result.passages[0].file == "tides.md"
    assert "Milvus does not answer." in result.note


def test_a_chunk_that_was_removed_meanwhile_is_left_out(library: Library):
    library.vectors.add([99], library.embedder.embed_passages(["a cat on the mat"]))
    del library.index.stored[0]
    assert "cats.md" not in library.files("cat mat moon")


@pytest.mark.parametrize("empty", ["", " \n\t ", "\x00\x1b", "\ud800"])
def test_an_empty_query_is_said(library: Library, empty: str):
    result = library.searcher.search(empty)
    assert (result.passages, "empty" in result.note) == ((), True)


def test_a_huge_query_is_cut_and_that_is_said(library: Library):
    result = library.searcher.search("moon " + "x" * 1_000_000)
    assert result.passages[0].file == "tides.md"
    assert "first 2,000 characters" in result.note
    assert len(library.embedder.asked[0]) <= 2_000


@pytest.mark.parametrize(
    "odd", ['"', "moon AND", "NEAR(", "-moon*", "col:moon", "😀", "月の海", "a\x00b", "%s {x}"]
)
def test_odd_queries_are_only_words(library: Library, odd: str):
    library.searcher.search(odd)
    assert "\x00" not in library.embedder.asked[-1]


@pytest.mark.parametrize(("top_k", "count"), [(-3, 1), (0, 1), (2, 2), (10**9, 5)])
def test_the_number_of_passages_is_bounded(library: Library, top_k: int, count: int):
    assert len(library.files("the a", top_k=top_k, mode="words")) == count


def test_no_more_chunks_are_read_than_are_needed():
    library = Library({f"{n}.md": f"the word number {n} of {n * n}" for n in range(150)})
    library.files("the word", top_k=3)
    assert len(library.index.fetched) <= TOP_K_MAX


def test_the_same_text_in_two_files_is_shown_once_and_both_are_named():
    library = Library({"a.md": TEXTS["tax.md"], "b.md": TEXTS["tax.md"], **TEXTS})
    result = library.searcher.search("tax deadline", 2)
    assert result.passages[0].file == "a.md"
    assert result.note == "The same text stands in b.md, tax.md too."


def test_words_alone_say_when_only_common_words_were_found(library: Library):
    result = library.searcher.search("on the a", mode="words")
    assert result.note == "Only words that are common in these documents were found."


class _LatinEmbedder(WordCountEmbedder):
    name = "minilm"


def test_words_lead_where_the_embedder_cannot_read_the_question():
    long = " ".join(f"w{number}" for number in range(20))
    texts = {"all.md": f"海の 山の 川の {long}", "near.md": "海の 山の", "one.md": "海の x y"}
    library = Library(texts)
    assert library.files("海の 山の 川の")[0] == "near.md"
    searcher = Searcher(library.index, library.vectors, _LatinEmbedder())
    assert searcher.search("海の 山の 川の").passages[0].file == "all.md"


def test_a_question_that_the_embedder_cannot_read_is_answered_by_words_or_not_at_all():
    library = Library({"cats.md": "cat 猫の 月の", "sea.md": "海の moon 月の hill"})
    searcher = Searcher(library.index, library.vectors, _LatinEmbedder())
    assert searcher.search("月の").passages
    assert searcher.search("火星").note == NOTHING_FITS
    assert searcher.search("月の", mode="vectors").passages


@pytest.mark.parametrize(
    ("query", "embedder", "share"),
    [
        ("¿Qué es?", "minilm", 0.0),
        ("the cat", "minilm", 0.0),
        ("月の海", "minilm", 1.0),
        ("Лев lev", "minilm", 0.5),
        ("123 → ?", "minilm", 0.0),
        ("月の海", "ollama:bge-m3", 0.0),
    ],
)
def test_how_much_of_a_question_an_embedder_cannot_read(query: str, embedder: str, share: float):
    assert Legibility(embedder).foreign_share(query) == pytest.approx(share)


@pytest.mark.parametrize(
    ("query", "embedder", "share"),
    [
        ("What keeps bread fresh?", "minilm", 0.0),
        ("What is SLC6A4?", "minilm", 1 / 3),
        ("月の海", "minilm", 1.0),
        ("?", "minilm", 0.0),
        ("What is SLC6A4?", "ollama:bge-m3", 0.0),
        ("What is SLC6A4?", "", 0.0),
    ],
)
def test_how_many_words_of_a_question_reach_an_embedder_in_pieces(
    query: str, embedder: str, share: float
):
    assert Legibility(embedder).broken_share(query) == pytest.approx(share)


@pytest.mark.parametrize(
    ("query", "least", "weight"),
    [
        ("What keeps bread fresh?", 0.45, 0.45),
        ("Qwrtz!", 0.45, 0.85),
        ("Qwrtz!", 0.95, 0.95),
        ("月の海", 0.45, 1.0),
    ],
)
def test_the_weight_of_words_rises_with_what_cannot_be_read(
    query: str, least: float, weight: float
):
    assert Legibility("minilm").word_weight(query, least) == pytest.approx(weight)
