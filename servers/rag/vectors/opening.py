"""The index of vectors that a setting names."""

import os
from collections.abc import Mapping

from servers.rag.errors import VectorsSettingError
from servers.rag.vectors.store import VectorStore

FAISS = "faiss"
MILVUS_PREFIX = "milvus:"


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
