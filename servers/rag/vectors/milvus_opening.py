"""Connects to Milvus, or starts Milvus Lite. `pymilvus` is an extra, imported on request only."""

import importlib
import logging
from collections.abc import Mapping
from pathlib import Path

from core.base.private_files import make_private_folder
from servers.rag.vectors.errors import VectorsUnavailable
from servers.rag.vectors.milvus_address import Address, collection_name, parsed_address
from servers.rag.vectors.milvus_failures import Failures, reason
from servers.rag.vectors.milvus_index import MilvusIndex
from servers.rag.vectors.milvus_types import Client, Import, Library, load_milvus

TOKEN_VARIABLE = "MILVUS_TOKEN"  # noqa: S105 — a variable's name, no password
CONNECT_TIMEOUT_SECONDS = 10.0


def open_milvus(
    address: str,
    dimension: int,
    environ: Mapping[str, str],
    owner: str,
    import_module: Import = importlib.import_module,
) -> MilvusIndex:
    """The index in the owner's collection, which is made if need be.

    `address` is what follows `milvus:` in the setting; a relative path counts from the working
    folder. While it is imported, pymilvus takes variables from a `.env` file above its package.

    Raises:
        VectorsSettingError: it is no address.
        VectorsUnavailable: a package is missing, nobody answers, or another process has the file.
    """
    place = parsed_address(address)
    try:
        library, grpc = load_milvus(import_module)
        if place.is_file:
            import_module("milvus_lite")
    except ModuleNotFoundError as error:
        raise VectorsUnavailable(
            f"vectors: milvus:{place.told} needs the package {error.name}: "
            "pip install 'cortex-r[milvus]'"
        ) from None
    for name in ("pymilvus", "milvus_lite"):  # else each failed call prints a traceback
        logging.getLogger(name).setLevel(logging.CRITICAL)
    failures = Failures((library.MilvusException, grpc.RpcError), place.told)
    client = _connected(library, place, environ.get(TOKEN_VARIABLE, ""), failures)
    try:
        return MilvusIndex(client, place, collection_name(owner, dimension), dimension, failures)
    except VectorsUnavailable:
        client.close()
        raise


def _connected(library: Library, place: Address, token: str, failures: Failures) -> Client:
    try:
        if place.is_file:
            make_private_folder(Path(place.uri).parent)
        return library.MilvusClient(place.uri, token=token, timeout=CONNECT_TIMEOUT_SECONDS)
    except OSError as error:
        raise VectorsUnavailable(f"vectors: milvus:{place.told}: {error}") from error
    except failures.types as error:
        advice = (
            "is it open in another process? Several at a time need a Milvus server"
            if place.is_file
            else "is it running? Without it, say vectors: faiss"
        )
        raise VectorsUnavailable(
            f"vectors: milvus:{place.told} can't be opened ({reason(error)}): {advice}"
        ) from error
