"""Search: the passages of the documents that answer a question, best first.

Words find names, numbers and rare terms; vectors find the same thing said otherwise. Either alone
misses what the other finds, so by default both are asked and their scores are added.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from core.base.text import listed
from servers.rag.errors import EmbedderUnavailable, VectorsRefused, VectorsUnavailable
from servers.rag.index.index import Index
from servers.rag.passages import NOTHING_FITS, SearchMode, SearchResult
from servers.rag.ports import Embedder, Vectors
from servers.rag.search.fusion import (
    CANDIDATES,
    Candidate,
    Candidates,
    by_vectors,
    by_words,
    fuse,
    fuse_with_feedback,
    only_words,
    with_vectors,
)
from servers.rag.search.merging import Hit, select
from servers.rag.search.question import (
    NOISE_COSINE,
    QUERY_CHARACTERS_MAX,
    Legibility,
    Question,
    cleaned,
    is_noise,
)
from servers.rag.vectors.store import VectorStore

TOP_K = 5
TOP_K_MAX = 50
"""More is reading the documents, which `get_document` is for."""

WORD_WEIGHT = 0.45
"""The words' share of the score where the embedder reads every word of the question (more of it
where not, see `Legibility`); tuned on SciFact's training claims, Cranfield's odd questions,
XQuAD-es and paraphrases, see tests/evals/retrieval."""

_ROWS_AT_ONCE = 16
_FILES_NAMED = 5

NOTHING_TO_ASK = "The query is empty: say what to look for."
WORDS_ALONE = "Searched by words alone"

QUESTIONS_KEPT = 256


def no_vectors() -> VectorStore:
    """Where there are none.

    Raises:
        VectorsUnavailable: always.
    """
    raise VectorsUnavailable("there are no vectors")


class Searcher:
    """Asks the index by words and by vectors; may be asked from several threads.

    Without an embedder, or when it or the vectors fail, words alone are asked and the note says
    so. The vectors of the latest questions are kept: what is asked again is not computed again.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder | None = None,
        find_vectors: Callable[[], VectorStore] = no_vectors,
        word_weight: float = WORD_WEIGHT,
        noise_cosine: float = NOISE_COSINE,
    ) -> None:
        """Ask nothing yet.

        `find_vectors` gives the vectors, or raises VectorsUnavailable with what is told about it.
        """
        self._index = index
        self._embed = lru_cache(QUESTIONS_KEPT)(embedder.embed_query) if embedder else None
        self._find_vectors = find_vectors
        self._word_weight = word_weight
        self._noise_cosine = noise_cosine
        self._legibility = Legibility(embedder.name if embedder else "")

    def search(
        self, query: str, top_k: int = TOP_K, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        """The passages that answer `query`, at most `top_k` (1 to 50); only from `file` if given.

        None at all if nothing has to do with the question: then the note says that.

        Raises:
            IndexUnusable: the index can't be read.
        """
        ranked, found, notes = self._rank(query, file, mode, feedback=True)
        if found is None:
            return SearchResult((), " ".join(notes))
        selection = select(self._hits(ranked), max(1, min(top_k, TOP_K_MAX)), found.cosine_between)
        notes += [*_about_common_words(found), *_about_repeats(selection.repeated_in)]
        return SearchResult(selection.passages, " ".join(notes))

    def hits(self, query: str, count: int, mode: SearchMode = "hybrid") -> tuple[list[Hit], str]:
        """The best `count` chunks, best first, each by itself, and what should be said about them.

        Without feedback: of short texts that resemble each other, such as questions asked again and
        again, those found first lead away from what was meant (tests/evals/memory).

        Raises:
            IndexUnusable: the index can't be read.
        """
        ranked, _, notes = self._rank(query, None, mode, feedback=False)
        return [*self._hits(ranked[:count])], " ".join(notes)

    def _rank(
        self, query: str, file: str | None, mode: SearchMode, *, feedback: bool
    ) -> tuple[list[Candidate], Candidates | None, list[str]]:
        """All that may answer, best first; where nothing does, no candidates, and why."""
        asked = cleaned(query)
        if not asked:
            return [], None, [NOTHING_TO_ASK]
        among = None if file is None else self._index.chunk_ids(file)
        if among is not None and not among:
            return [], None, [f"The index has no text of a document named {file!r}."]
        found, without = self._find(asked, file, among, mode)
        notes = [*_about_length(query), *without]
        question = Question(
            asked,
            # Who asks for vectors alone gets what they say.
            0.0 if mode == "vectors" else self._legibility.foreign_share(asked),
            lambda words: self._index.search_words(words, CANDIDATES, file),
        )
        if is_noise(question, found, self._noise_cosine):
            return [], None, [NOTHING_FITS, *notes]
        return self._ranked(asked, found, mode, feedback=feedback), found, notes

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
    ) -> tuple[Vectors, list[tuple[int, float]]]:
        """The question's vector, and the chunks that lie nearest to it.

        Raises:
            EmbedderUnavailable: there is no vector, or it can't be made now.
            VectorsUnavailable: the nearest can't be looked up now.
        """
        if self._embed is None:
            raise EmbedderUnavailable("there is no embedder")
        vectors = self._find_vectors()
        if len(vectors) == 0:
            raise VectorsUnavailable("no passage has a vector yet")
        question = self._embed(asked)
        return question, vectors.search(question, CANDIDATES, among)

    def _ranked(
        self, asked: str, found: Candidates, mode: SearchMode, *, feedback: bool
    ) -> list[Candidate]:
        if found.top_cosine is None:
            return by_words(found.all)
        if mode == "vectors":
            return by_vectors(found.all)
        weight = self._legibility.word_weight(asked, self._word_weight)
        if feedback:
            return fuse_with_feedback(found, weight)
        return fuse(found.all, weight, full_match=found.full_match)

    def _hits(self, ranked: Sequence[Candidate]) -> Iterator[Hit]:
        """The chunks themselves, in the same order, fetched some at a time."""
        for start in range(0, len(ranked), _ROWS_AT_ONCE):
            part = ranked[start : start + _ROWS_AT_ONCE]
            stored = self._index.chunks([each.chunk_id for each in part])
            by_id = {chunk.chunk_id: chunk for chunk in stored}
            for each in part:
                if (chunk := by_id.get(each.chunk_id)) is not None:
                    yield Hit(chunk, each.score, each.cosine)


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
    return [f"The same text stands in {listed(files[:_FILES_NAMED], len(files))} too."]
