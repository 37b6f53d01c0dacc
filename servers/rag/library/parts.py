"""The parts that the options name: what reads files, cuts texts, makes and keeps vectors."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from core.base.frozen import frozen
from core.base.text import shorten
from servers.rag.chunking.chunker import CHUNKER_VERSION, CutDocument, cut_by_structure
from servers.rag.embedding import minilm
from servers.rag.errors import OptionsError, VectorsSettingError
from servers.rag.library.options import DocumentOptions
from servers.rag.ports import Embedder, Extractor
from servers.rag.vectors.store import VectorStore
from servers.reading.process.worker import ExtractionWorker

EXTRACTION_VERSION = "2"
"""Goes up when files are read so differently that all should be read again."""

READERS = 2
"""Processes that read files: one for those that take long, and one for all others."""

EMBEDDERS = "auto, none, minilm, ollama:MODEL or gemini:MODEL"
SHOWN_CHARACTERS = 60

FAISS = "faiss"
MILVUS_PREFIX = "milvus:"


@frozen
class Parts:
    """What a library is made of besides its index.

    `open_embedder` gives None where none is wanted, and raises `EmbedderUnavailable` where it is
    to be tried again. `recipe` tells how texts and chunks are made; another one lets all documents
    be read again.
    """

    extractor: Extractor
    open_embedder: Callable[[], Embedder | None]
    cut: CutDocument
    recipe: str


def open_parts(options: DocumentOptions, environ: Mapping[str, str]) -> Parts:
    """The parts that the options name; nothing is loaded, started or read yet.

    Raises:
        OptionsError: OLLAMA_HOST is no address.
    """
    cut: CutDocument = cut_by_structure
    recipe = f"text {EXTRACTION_VERSION}, chunks {CHUNKER_VERSION}, captions {options.captions}"
    if options.chunking == "llm":
        from servers.rag.chunking import topics  # it brings HTTP, a tenth of a second

        asked = topics.open_topics(environ, options.topics_model)
        cut = partial(topics.chunk_by_topics, splitter=asked)
        recipe += f", topics {topics.TOPICS_VERSION} of {options.topics_model}"
    extractor = ExtractionWorker(options.captions, environ=environ, processes=READERS)
    return Parts(extractor, partial(open_embedder, options.embedder, environ), cut, recipe)


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
            raise OptionsError(f"embedder: there is no {shown!r}; allowed: {EMBEDDERS}")


def open_vectors(
    setting: str,
    dimension: int,
    environ: Mapping[str, str] = os.environ,
    *,
    owner: str = "",
) -> VectorStore:
    """The index that the setting names: `faiss`, or `milvus:` with a file or a server's address.

    FAISS is empty at first. What Milvus holds outlives the process, and several programs may
    share one server: `owner` is any text that tells whose vectors these are, such as the path of
    the SQLite file and the embedder's fingerprint; another owner means another collection. Both
    are brought up to date by `fill`. `MILVUS_TOKEN` in the environment opens a server that asks
    for one (`user:password`, or a key).

    Raises:
        VectorsSettingError: there is no such setting.
        VectorsUnavailable: Milvus can't be used now; the message says what to do.
    """
    if setting == FAISS:
        from servers.rag.vectors.faiss_index import FaissIndex  # FAISS takes half a second

        return FaissIndex(dimension)
    if setting.startswith(MILVUS_PREFIX):
        from servers.rag.vectors.milvus_index import open_milvus  # an extra

        return open_milvus(setting.removeprefix(MILVUS_PREFIX), dimension, environ, owner)
    raise VectorsSettingError(
        f"vectors: {setting!r} is not known; say faiss, milvus:FILE.db or milvus:http://HOST:19530"
    )
