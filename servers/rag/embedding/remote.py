"""What embedders behind HTTP share: texts cut and prefixed, in batches, vectors checked."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from core.base.frozen import frozen
from servers.rag.errors import OptionsError
from servers.rag.ports import Vectors
from servers.shared.json_service import JsonService

Task: TypeAlias = Literal["passage", "query"]

AskVectors: TypeAlias = Callable[[list[str], Task], list[list[float]]]
"""One request: the numbers of each text, as they came."""

TEXT_CHARACTERS_MAX = 8_000
"""About 2,000 tokens: what all of these models read."""

EMPTY_STAND_IN = "(empty)"
"""Sent for a blank text, which services refuse or pass over."""

_MODEL_NAME = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)


@frozen
class TaskPrompts:
    """What goes before passages and queries: models are trained with it, and rank worse without.

    As the authors say on the models' cards (nomic-embed-text, mxbai-embed-large, bge, e5, qwen3,
    embeddinggemma, snowflake-arctic-embed), and Google of gemini-embedding-2, which no longer knows
    task types ("Embeddings", ai.google.dev). Ollama adds nothing by itself.
    """

    passage: str = ""
    query: str = ""


_SEARCHING = TaskPrompts(query="Represent this sentence for searching relevant passages: ")
_GOOGLE = TaskPrompts("title: none | text: ", "task: search result | query: ")
_QWEN = TaskPrompts(
    query="Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
    "Query:"
)

_FAMILIES: Final = (
    (re.compile(r"nomic-embed"), TaskPrompts("search_document: ", "search_query: ")),
    (re.compile(r"snowflake-arctic-embed-?2"), TaskPrompts(query="query: ")),
    (re.compile(r"mxbai-embed|snowflake-arctic-embed|bge-(?:small|base|large)-en"), _SEARCHING),
    (
        re.compile(r"(?<![a-z])(?:multilingual-)?e5-(?!.*instruct)"),
        TaskPrompts("passage: ", "query: "),
    ),
    (re.compile(r"embeddinggemma|gemini-embedding-[2-9]"), _GOOGLE),
    (re.compile(r"qwen3-embedding"), _QWEN),
)
"""By the model's name; the first that fits counts."""


def prompts_for(model: str) -> TaskPrompts:
    """What a model wants; nothing where we don't know it."""
    name = model.lower()
    return next((prompts for family, prompts in _FAMILIES if family.search(name)), TaskPrompts())


class RemoteEmbedder:
    """Embeds by asking a service; several threads may ask at once."""

    def __init__(
        self,
        name: str,
        weights: str,
        dimension: int,
        prompts: TaskPrompts,
        service: JsonService,
        ask: AskVectors,
        batch: int,
    ) -> None:
        """`weights` tells versions of the model apart; `ask` gets `batch` texts at a time."""
        self.name = name
        self.dimension = dimension
        before = hashlib.sha256(repr(prompts).encode()).hexdigest()[:8]
        self.fingerprint = f"{name}:{weights}:{dimension}:{before}:{TEXT_CHARACTERS_MAX}"
        self._prompts = prompts
        self._service = service
        self._ask = ask
        self._batch = batch

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, shape (texts, dimension), a request for each batch of them.

        Raises:
            EmbedderUnavailable: the service can't be asked, or sent no such vectors.
        """
        return self._vectors(texts, "passage")

    def embed_query(self, text: str) -> Vectors:
        """The vector of a query, shape (1, dimension); raises the same."""
        return self._vectors([text], "query")

    def start(self) -> None:
        """Nothing: what a service has to load is its own affair."""

    def close(self) -> None:
        """End requests and their waiting; safe to call twice."""
        self._service.close()

    def _vectors(self, texts: Sequence[str], task: Task) -> Vectors:
        found = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self._batch):
            batch = [self._sent(text, task) for text in texts[start : start + self._batch]]
            rows = self._ask(batch, task)
            found[start : start + len(batch)] = self._checked(rows, len(batch))
        return found

    def _sent(self, text: str, task: Task) -> str:
        before = self._prompts.passage if task == "passage" else self._prompts.query
        cut = text[:TEXT_CHARACTERS_MAX].encode("utf-8", "replace").decode()  # no half surrogates
        return before + (cut.strip() or EMPTY_STAND_IN)

    def _checked(self, rows: list[list[float]], count: int) -> Vectors:
        """Rows of length 1; refused if they aren't what was asked for."""
        if len(rows) != count:
            raise self._service.unavailable(f"sent {len(rows)} vectors for {count} texts")
        for row in rows:
            if len(row) != self.dimension:
                raise self._service.unavailable(
                    f"sent a vector of {len(row)} numbers, not {self.dimension}; if its model was "
                    "changed, start the documents server again"
                )
        vectors = np.asarray(rows, dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise self._service.unavailable("sent a vector without direction")
        return (vectors / lengths).astype(np.float32)


def checked_model(provider: str, model: str) -> str:
    """The model's name.

    Raises:
        OptionsError: no model is called so; names stand in addresses and in messages.
    """
    if _MODEL_NAME.fullmatch(model) is None:
        raise OptionsError(f"embedder: {provider}: {model[:60]!r} is no name of a model")
    return model
