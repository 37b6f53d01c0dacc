"""Which embedder a setting means."""

from collections.abc import Mapping
from typing import Protocol

from servers.rag.embedding import minilm
from servers.rag.embedding.gemini import open_gemini
from servers.rag.embedding.ollama import open_ollama
from servers.rag.embedding.queries import RememberedQueries
from servers.rag.options import OptionsError
from servers.rag.ports import Embedder

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
            shown = name[:SHOWN_CHARACTERS] + "…" * (len(name) > SHOWN_CHARACTERS)
            raise OptionsError(f"embedder: there is no {shown!r}; allowed: {CHOICES}")
