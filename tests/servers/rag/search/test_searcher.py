"""The search: both sides asked, noise told apart from answers, and any query survived."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from servers.rag.errors import EmbedderUnavailable, VectorsUnavailable
from servers.rag.passages import NOTHING_FITS, SearchMode
from servers.rag.ports import Vectors
from servers.rag.search.question import Legibility
from servers.rag.search.searcher import QUESTIONS_KEPT, Searcher
from tests.servers.rag.search.shelf import Shelf, WordCountEmbedder
from tests.servers.rag.vectors.exact_index import ExactIndex

TEXTS = {
    "cats.md": "a cat sleeps on the warm mat",
    "dogs.md": "a dog barks at the postman on monday",
    "tax.md": "the deadline for the tax return is in july",
    "tides.md": "the moon pulls the sea and makes the tides",
    "bread.md": "knead the dough and let the loaf rest",
}


GUIDE = """\
# Coffee machine

## Descaling

Descale the machine every 90 days with citric acid, and rinse it twice afterwards.

## Warranty

The warranty ends after 24 months; keep the receipt of the shop.
"""
TEA = "# Tea\n\nLet green tea draw for two minutes at 75 degrees.\n"

Shelve: TypeAlias = Callable[[dict[str, str]], Shelf]


@pytest.fixture(name="shelve")
def _shelve(tmp_path: Path) -> Iterator[Shelve]:
    made: list[Shelf] = []

    def shelve(texts: dict[str, str]) -> Shelf:
        made.append(Shelf(tmp_path / str(len(made)), texts))
        return made[-1]

    yield shelve
    for shelf in made:
        shelf.index.close()


@pytest.fixture(name="shelf")
def _shelf(shelve: Shelve) -> Shelf:
    return shelve(TEXTS)


def test_words_and_vectors_are_both_asked(shelf: Shelf):
    assert shelf.files("feline mat")[0] == "cats.md"
    assert shelf.files("feline", mode="vectors")[0] == "cats.md"
    assert shelf.files("feline", mode="words") == []


def test_a_passage_says_where_it_stands_and_how_near_it_is(shelf: Shelf):
    best = shelf.searcher.search("tax return deadline").passages[0]
    assert (best.file, best.chunk_id, best.text, best.line) == ("tax.md", 3, TEXTS["tax.md"], 1)
    assert best.score == 1.0
    assert best.cosine == pytest.approx(0.52, abs=0.01)


def test_a_chunk_that_only_words_found_gets_its_exact_cosine(shelf: Shelf):
    shelf.vectors.remove([1])  # an approximate index may miss it
    best = shelf.searcher.search("cat mat").passages[0]
    assert (best.file, best.cosine) == ("cats.md", pytest.approx(0.53, abs=0.01))


def test_a_chunk_without_a_vector_yet_is_found_by_its_words(shelf: Shelf):
    shelf.put("new.md", "quarterly figures of the bakery", has_vectors=False)
    best = shelf.searcher.search("quarterly figures bakery").passages[0]
    assert (best.file, best.cosine) == ("new.md", None)


def test_a_question_about_nothing_in_the_documents_gets_no_passage(shelf: Shelf):
    result = shelf.searcher.search("quantum chromodynamics of gluons and lattice gauge theories")
    assert result.passages == ()
    assert result.note == NOTHING_FITS


FAR = "please kindly elaborate whether somebody wrote anything regarding {}"


@pytest.mark.parametrize("name", ["ERR_4711", "Okonkwo", "okonkwo", "x-99", "Harbour"])
def test_a_rare_name_or_code_is_an_answer_however_far_the_vectors_are(shelf: Shelf, name: str):
    shelf.put("rare.md", f"the log of the moon has {name.lower()} in the end")
    (best, *_) = shelf.searcher.search(FAR.format(name)).passages
    assert name.lower() in best.text
    assert best.cosine is not None
    assert best.cosine < 0.2


def test_an_ordinary_word_that_is_rare_here_is_none(shelf: Shelf):
    assert shelf.searcher.search(FAR.format("tides")).note == NOTHING_FITS


def test_keywords_find_what_holds_them(shelf: Shelf):
    assert shelf.searcher.search("plumber").note == NOTHING_FITS
    shelf.put("far.md", " ".join(f"w{number}" for number in range(50)) + " plumber")
    assert shelf.files("plumber")[:1] == ["far.md"]


def test_a_near_vector_is_an_answer_without_any_word(shelf: Shelf):
    assert shelf.files("feline")[:1] == ["cats.md"]


def test_an_incidental_word_pushes_no_paraphrase_aside(shelve: Shelve):
    notes = {f"note{number}.md": f"man sits {number} days" for number in range(20)}
    shelf = shelve({"trip.md": "car cat went far away on tour", **notes})
    assert shelf.files("automobile feline man")[0] == "trip.md"
    assert shelf.files("man sits", mode="words")[0] != "trip.md"


def test_a_file_can_be_named(shelf: Shelf):
    named = shelf.searcher.search("moon deadline", file="tax.md", mode="words")
    assert [hit.file for hit in named.passages] == ["tax.md"]
    hybrid = shelf.searcher.search("the deadline", file="tax.md")
    assert [hit.file for hit in hybrid.passages] == ["tax.md"]


def test_a_file_that_is_not_there_is_said(shelf: Shelf):
    result = shelf.searcher.search("moon", file="nowhere.md")
    assert result.passages == ()
    assert "'nowhere.md'" in result.note


def test_without_an_embedder_words_alone_are_asked_and_the_note_says_so(shelf: Shelf):
    for mode in ("hybrid", "vectors"):
        result = Searcher(shelf.index).search("the moon", mode=mode)
        assert result.passages[0].file == "tides.md"
        assert result.passages[0].cosine is None
        assert result.note.startswith("Searched by words alone: there is no embedder.")


def test_who_asks_for_words_gets_no_note_about_vectors(shelf: Shelf):
    result = Searcher(shelf.index).search("moon", mode="words")
    assert result.note == ""
    assert shelf.embedder.asked == []


def test_while_there_are_no_vectors_words_answer(shelf: Shelf):
    shelf.vectors.close()
    result = shelf.searcher.search("moon")
    assert result.passages[0].file == "tides.md"
    assert result.note == "Searched by words alone: no passage has a vector yet."


class _BrokenEmbedder(WordCountEmbedder):
    def embed_query(self, text: str) -> Vectors:
        raise EmbedderUnavailable("Ollama does not answer; start it with `ollama serve`.")


class _BrokenVectors(ExactIndex):
    def search(
        self, query: Vectors, count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        raise VectorsUnavailable("Milvus does not answer")


def test_an_embedder_that_fails_leaves_the_words(shelf: Shelf):
    result = shelf.asking(_BrokenEmbedder()).search("moon")
    assert result.passages[0].file == "tides.md"
    assert result.note.endswith("alone: Ollama does not answer; start it with `ollama serve`.")


def test_a_vector_store_that_fails_leaves_the_words(shelf: Shelf):
    shelf.vectors = _BrokenVectors(shelf.embedder.dimension)
    shelf.vectors.add([1], shelf.embedder.embed_passages(["moon"]))
    result = shelf.searcher.search("moon")
    assert result.passages[0].file == "tides.md"
    assert "Milvus does not answer." in result.note


def test_a_chunk_that_was_removed_meanwhile_is_left_out(shelf: Shelf):
    shelf.index.remove_document("cats.md")  # its vectors are still in the cache
    assert "cats.md" not in shelf.files("cat mat moon")


@pytest.mark.parametrize("empty", ["", " \n\t ", "\x00\x1b", "\ud800"])
def test_an_empty_query_is_said(shelf: Shelf, empty: str):
    result = shelf.searcher.search(empty)
    assert (result.passages, "empty" in result.note) == ((), True)


def test_a_huge_query_is_cut_and_that_is_said(shelf: Shelf):
    result = shelf.searcher.search("moon " + "x" * 1_000_000)
    assert result.passages[0].file == "tides.md"
    assert "first 2,000 characters" in result.note
    assert len(shelf.embedder.asked[0]) <= 2_000


@pytest.mark.parametrize(
    "odd", ['"', "moon AND", "NEAR(", "c1:moon*", "😀", "月の海", "a\x00\ud800b", "%s {x}"]
)
def test_odd_queries_are_only_words(shelf: Shelf, odd: str):
    for mode in ("words", "vectors", "hybrid"):
        shelf.searcher.search(odd, mode=mode)
    assert "\x00" not in shelf.embedder.asked[-1]


@pytest.mark.parametrize(("top_k", "count"), [(-3, 1), (0, 1), (2, 2), (10**9, 5)])
def test_the_number_of_passages_is_bounded(shelf: Shelf, top_k: int, count: int):
    assert len(shelf.files("the a", top_k=top_k, mode="words")) == count


def test_the_same_text_in_two_files_is_shown_once_and_both_are_named(shelve: Shelve):
    shelf = shelve({"a.md": TEXTS["tax.md"], "b.md": TEXTS["tax.md"], **TEXTS})
    result = shelf.searcher.search("tax deadline", 2)
    assert result.passages[0].file == "a.md"
    assert result.note == "The same text stands in b.md, tax.md too."


def test_words_alone_say_when_only_common_words_were_found(shelf: Shelf):
    result = shelf.searcher.search("on the a", mode="words")
    assert result.note == "Only words that are common in these documents were found."


class _LatinEmbedder(WordCountEmbedder):
    name = "minilm"


def test_words_lead_where_the_embedder_cannot_read_the_question(shelve: Shelve):
    long = " ".join(f"w{number}" for number in range(20))
    texts = {"all.md": f"海の 山の 川の {long}", "near.md": "海の 山の", "one.md": "海の x y"}
    shelf = shelve(texts)
    assert shelf.files("海の 山の 川の")[0] == "near.md"
    searcher = shelf.asking(_LatinEmbedder())
    assert searcher.search("海の 山の 川の").passages[0].file == "all.md"


def test_what_the_embedder_cannot_read_is_answered_by_words_or_not_at_all(
    shelve: Shelve,
):
    shelf = shelve({"cats.md": "cat 猫の 月の", "sea.md": "海の moon 月の hill"})
    searcher = shelf.asking(_LatinEmbedder())
    assert searcher.search("月の").passages
    assert searcher.search("火星").note == NOTHING_FITS
    assert searcher.search("月の", mode="vectors").passages


@pytest.mark.parametrize(
    ("query", "embedder", "foreign", "broken"),
    [
        ("¿Qué es?", "minilm", 0.0, 1 / 2),
        ("What keeps bread fresh?", "minilm", 0.0, 0.0),
        ("What is SLC6A4?", "minilm", 0.0, 1 / 3),
        ("月の海", "minilm", 1.0, 1.0),
        ("Лев lev", "minilm", 0.5, 0.5),
        ("123 → ?", "minilm", 0.0, 0.0),
        ("月の海", "ollama:bge-m3", 0.0, 0.0),
        ("What is SLC6A4?", "", 0.0, 0.0),
    ],
)
def test_how_much_of_a_question_an_embedder_cannot_read_or_reads_in_pieces(
    query: str, embedder: str, foreign: float, broken: float
):
    legibility = Legibility(embedder)
    assert legibility.foreign_share(query) == pytest.approx(foreign)
    assert legibility.broken_share(query) == pytest.approx(broken)


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


@pytest.fixture(name="manuals")
def _manuals(tmp_path: Path) -> Iterator[Shelf]:
    manuals = Shelf(tmp_path, {"guide.md": GUIDE, "tea.md": TEA}, noise_cosine=0.1)
    yield manuals
    manuals.index.close()


@pytest.mark.parametrize("mode", ["hybrid", "words", "vectors"])
def test_the_right_passage_comes_first_with_its_place(manuals: Shelf, mode: SearchMode):
    best = manuals.searcher.search("rinse it twice", mode=mode).passages[0]
    assert best.file == "guide.md"
    assert "citric acid" in best.text
    assert best.headings == ("Coffee machine",)
    assert best.line == 1


def test_vectors_find_what_is_said_otherwise(manuals: Shelf):
    assert manuals.searcher.search("decalcify", mode="words").passages == ()
    assert "Descale" in manuals.searcher.search("decalcify").passages[0].text


def test_only_the_named_file_is_searched(manuals: Shelf):
    found = manuals.searcher.search("warranty months tea", file="tea.md").passages
    assert {passage.file for passage in found} == {"tea.md"}
    assert manuals.searcher.search("warranty", file="other.md").passages == ()


def test_a_changed_document_is_found_by_its_new_text_only(manuals: Shelf):
    manuals.put("tea.md", "# Tea\n\nBlack tea needs boiling water.\n")
    assert "boiling" in manuals.searcher.search("black boiling").passages[0].text
    assert all("green" not in p.text for p in manuals.searcher.search("green degrees").passages)


def test_a_question_that_is_asked_again_is_not_computed_again(shelf: Shelf):
    for _ in range(2):
        shelf.searcher.search("moon")
    assert shelf.embedder.asked == ["moon"]
    for number in range(QUESTIONS_KEPT):
        shelf.searcher.search(f"moon {number}")
    shelf.searcher.search("moon")
    assert shelf.embedder.asked.count("moon") == 2
