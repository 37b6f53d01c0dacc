"""Which embedder a setting means."""

from collections.abc import Mapping

from core.base.text import shorten
from servers.rag.embedding import minilm
from servers.rag.errors import OptionsError
from servers.rag.ports import Embedder

CHOICES = "auto, none, minilm, ollama:MODEL or gemini:MODEL"
SHOWN_CHARACTERS = 60


def open_embedder(name: str, environ: Mapping[str, str]) -> Embedder | None:
    """The embedder that `name` means (see `DocumentOptions`); None for `none`.

    `auto` is `minilm` where its packages are installed, else none: neither text nor query leaves
    the machine unless a person says so. Only `ollama:MODEL` is asked here (which weights it has,
    by two requests, 10 s at most each); `minilm` loads its weights at the first text.

    Raises:
        OptionsError: there is no such embedder.
        EmbedderUnavailable: it can't be used now: no package, no key, or nobody answers.
    """
    provider, colon, model = name.strip().partition(":")
    match provider, colon, model:
        case "none", "", _:
            return None
        case "auto", "", _:
            return None if minilm.missing_packages() else minilm.MiniLm()
        case "minilm", "", _:
            return minilm.open_minilm()
        case "ollama", ":", str() if model:
            from servers.rag.embedding.ollama import open_ollama  # HTTP takes a tenth of a second

            return open_ollama(model, environ)
        case "gemini", ":", str() if model:
            from servers.rag.embedding.gemini import open_gemini

            return open_gemini(model, environ)
        case _:
            shown = shorten(name, SHOWN_CHARACTERS)
            raise OptionsError(f"embedder: there is no {shown!r}; allowed: {CHOICES}")
