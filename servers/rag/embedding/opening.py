"""Which embedder a setting means; what people search for again is not computed again."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from core.base.text import shorten
from servers.rag.embedding import minilm
from servers.rag.embedding.gemini import open_gemini
from servers.rag.embedding.ollama import open_ollama
from servers.rag.library.options import OptionsError
from servers.rag.ports import Embedder

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

REMEMBERED_QUERIES = 256
REMEMBERED_CHARACTERS_MAX = 2_000
"""A longer query is computed each time: nobody types it twice."""


class _Closable(Embedder, Protocol):
    def start(self) -> None: ...

    def close(self) -> None: ...


class RememberedQueries:
    """An embedder that keeps the vectors of the last queries; they are not to be written to."""

    def __init__(self, embedder: _Closable) -> None:
        """Passages go straight to `embedder`."""
        self._embedder = embedder
        self._lock = Lock()
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    def __repr__(self) -> str:
        """What is behind it."""
        return f"RememberedQueries({self._embedder!r})"

    @property
    def name(self) -> str:
        """As the embedder's."""
        return self._embedder.name

    @property
    def fingerprint(self) -> str:
        """As the embedder's."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """As the embedder's."""
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> "Vectors":
        """As the embedder's; raises the same."""
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> "Vectors":
        """The remembered vector, else the embedder's; shape (1, dimension), raises the same."""
        with self._lock:
            if (known := self._known.get(text)) is not None:
                self._known.move_to_end(text)
                return known
        found = self._embedder.embed_query(text)
        found.setflags(write=False)
        if len(text) <= REMEMBERED_CHARACTERS_MAX:
            with self._lock:
                self._known[text] = found
                if len(self._known) > REMEMBERED_QUERIES:
                    self._known.popitem(last=False)
        return found

    def start(self) -> None:
        """Start the embedder; raises the same."""
        self._embedder.start()

    def close(self) -> None:
        """Close the embedder."""
        self._embedder.close()


CHOICES = "auto, none, minilm, ollama:MODEL or gemini:MODEL"
SHOWN_CHARACTERS = 60


class ClosableEmbedder(Embedder, Protocol):
    """An embedder that can be started ahead, and given up."""

    def start(self) -> None:
        """Load what the first text would have to wait for; asks no service for anything.

        Raises:
            EmbedderUnavailable: it can't be had.
        """
        ...

    def close(self) -> None:
        """Stop: work that runs ends after its text, as does waiting; safe to call twice."""
        ...


def open_embedder(name: str, environ: Mapping[str, str]) -> ClosableEmbedder | None:
    """The embedder that `name` means (see `DocumentOptions`); None for `none`.

    `auto` is `minilm` where its packages are installed, else none: neither text nor query leaves
    the machine unless a person says so. Only `ollama:MODEL` is asked here (which weights it has,
    by two requests, 10 s at most each); `minilm` loads its weights at the first text.

    Raises:
        OptionsError: there is no such embedder.
        EmbedderUnavailable: it can't be used now: no package, no key, or nobody answers.
    """
    if (found := _chosen(name.strip(), environ)) is None:
        return None
    return RememberedQueries(found)


def _chosen(name: str, environ: Mapping[str, str]) -> ClosableEmbedder | None:
    provider, colon, model = name.partition(":")
    match provider, colon, model:
        case "none", "", _:
            return None
        case "auto", "", _:
            return None if minilm.missing_packages() else minilm.MiniLm()
        case "minilm", "", _:
            return minilm.open_minilm()
        case "ollama", ":", str() if model:
            return open_ollama(model, environ)
        case "gemini", ":", str() if model:
            return open_gemini(model, environ)
        case _:
            shown = shorten(name, SHOWN_CHARACTERS)
            raise OptionsError(f"embedder: there is no {shown!r}; allowed: {CHOICES}")
