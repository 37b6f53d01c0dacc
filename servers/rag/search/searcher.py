"""Search: the passages of the documents that answer a question, best first.

Words find names, numbers and rare terms; vectors find the same thing said otherwise. Either alone
misses what the other finds, so by default both are asked and their scores are added.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from servers.rag.errors import EmbedderUnavailable
from servers.rag.passages import Passage, SearchMode
from servers.rag.ports import Embedder, VectorIndex
from servers.rag.search.fusion import (
    CANDIDATES,
    Candidates,
    Ranked,
    SearchableIndex,
    by_vectors,
    by_words,
    fuse_with_feedback,
    only_words,
    with_vectors,
)
from servers.rag.search.merging import Hit, select
from servers.rag.search.noise import (
    NOISE_COSINE,
    QUERY_CHARACTERS_MAX,
    Asked,
    Legibility,
    cleaned,
    is_noise,
)
from servers.rag.vectors.errors import VectorsRefused, VectorsUnavailable

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

TOP_K = 5
TOP_K_MAX = 50
"""More is reading the documents, which `get_document` is for."""

WORD_WEIGHT = 0.45
"""The words' share of the score where the embedder reads every word of the question (more of it
where not, see `ranking.legibility`); tuned on SciFact's training claims, Cranfield's odd questions,
XQuAD-es and paraphrases, see tests/evals/retrieval."""

_ROWS_AT_ONCE = 16
_FILES_NAMED = 5

NOTHING_TO_ASK = "The query is empty: say what to look for."
NOTHING_FITS = "Nothing in the documents fits the query."
WORDS_ALONE = "Searched by words alone"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages, best first, and what should be said about them, in whole sentences."""

    passages: tuple[Passage, ...]
    note: str = ""


class Searcher:
    """Asks the index by words and by vectors; keeps nothing, may be asked from several threads.

    Without `embedder` or `vectors`, or when they fail, words alone are asked and the note says so.
    `lacking` says why the one or the other isn't there.
    """

    def __init__(
        self,
        index: SearchableIndex,
        vectors: VectorIndex | None,
        embedder: Embedder | None,
        word_weight: float = WORD_WEIGHT,
        noise_cosine: float = NOISE_COSINE,
        legibility: Legibility | None = None,
        lacking: str = "there is no embedder",
    ) -> None:
        """`legibility` is the embedder's; whoever makes many searchers makes it once."""
        self._index = index
        self._vectors = vectors
        self._embedder = embedder
        self._word_weight = word_weight
        self._noise_cosine = noise_cosine
        self._lacking = lacking
        self._legibility = legibility or Legibility(embedder.name if embedder else "")

    def search(
        self, query: str, top_k: int = TOP_K, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        """The passages that answer `query`, at most `top_k` (1 to 50); only from `file` if given.

        None at all if nothing has to do with the question: then the note says that.

        Raises:
            IndexUnusable: the index can't be read.
        """
        asked = cleaned(query)
        if not asked:
            return SearchResult((), NOTHING_TO_ASK)
        among = None if file is None else self._index.chunk_ids(file)
        if among is not None and not among:
            return SearchResult((), f"The index has no text of a document named {file!r}.")
        found, without = self._find(asked, file, among, mode)
        notes = [*_about_length(query), *without]
        question = Asked(
            asked,
            # Who asks for vectors alone gets what they say.
            0.0 if mode == "vectors" else self._legibility.foreign_share(asked),
            lambda words: self._index.search_words(words, CANDIDATES, file),
        )
        if is_noise(question, found, self._noise_cosine):
            return SearchResult((), " ".join([NOTHING_FITS, *notes]))
        ranked = self._ranked(asked, found, mode)
        selection = select(self._hits(ranked), max(1, min(top_k, TOP_K_MAX)), found.cosine_between)
        notes += [*_about_common_words(found), *_about_repeats(selection.repeated_in)]
        return SearchResult(selection.passages, " ".join(notes))

    def _find(
        self, asked: str, file: str | None, among: Sequence[int] | None, mode: SearchMode
    ) -> tuple[Candidates, list[str]]:
        """What may be an answer, and why vectors were not asked where they should have been."""
        if mode == "words":
            return only_words(self._index.search_words(asked, CANDIDATES, file)), []
        try:
            question, near = self._near(asked, among)
        except (EmbedderUnavailable, VectorsUnavailable, VectorsRefused) as error:
            by_word = self._index.search_words(asked, CANDIDATES, file)
            return only_words(by_word), [f"{WORDS_ALONE}: {str(error).rstrip('.')}."]
        if mode == "vectors":
            return with_vectors((), question, near, self._index), []
        by_word = self._index.search_words(asked, CANDIDATES, file)
        full_match = self._index.full_match(asked)
        return with_vectors(by_word, question, near, self._index, full_match), []

    def _near(
        self, asked: str, among: Sequence[int] | None
    ) -> "tuple[Vectors, list[tuple[int, float]]]":
        """The question's vector, and the chunks that lie nearest to it.

        Raises:
            EmbedderUnavailable: there is no vector, or it can't be made now.
            VectorsUnavailable: the nearest can't be looked up now.
        """
        if self._embedder is None or self._vectors is None:
            raise EmbedderUnavailable(self._lacking)
        if len(self._vectors) == 0:
            raise VectorsUnavailable("no passage has a vector yet")
        question = self._embedder.embed_query(asked)
        return question, self._vectors.search(question, CANDIDATES, among)

    def _ranked(self, asked: str, found: Candidates, mode: SearchMode) -> list[Ranked]:
        if found.top_cosine is None:
            return by_words(found.all)
        match mode:
            case "words":
                return by_words(found.all)
            case "vectors":
                return by_vectors(found.all)
            case "hybrid":
                weight = self._legibility.word_weight(asked, self._word_weight)
                return fuse_with_feedback(found, weight)
            case _:
                assert_never(mode)

    def _hits(self, ranked: Sequence[Ranked]) -> Iterator[Hit]:
        """The chunks themselves, in the same order, fetched some at a time."""
        for start in range(0, len(ranked), _ROWS_AT_ONCE):
            part = ranked[start : start + _ROWS_AT_ONCE]
            stored = self._index.chunks([each.candidate.chunk_id for each in part])
            by_id = {chunk.chunk_id: chunk for chunk in stored}
            for each in part:
                if (chunk := by_id.get(each.candidate.chunk_id)) is not None:
                    yield Hit(chunk, each.score, each.candidate.cosine)


def _about_length(query: str) -> list[str]:
    if len(query) <= QUERY_CHARACTERS_MAX:
        return []
    return [f"Only the query's first {QUERY_CHARACTERS_MAX:,} characters were searched for."]


def _about_common_words(found: Candidates) -> list[str]:
    if found.top_cosine is not None or found.rare:
        return []
    return ["Only words that are common in these documents were found."]


def _about_repeats(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    more = f" and {len(files) - _FILES_NAMED} more" if len(files) > _FILES_NAMED else ""
    return [f"The same text stands in {', '.join(files[:_FILES_NAMED])}{more} too."]
