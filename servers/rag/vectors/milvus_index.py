"""Nearest vectors with Milvus: Milvus Lite in this process, or a server or cluster.

What one machine's memory no longer holds goes there. `pymilvus` is an extra, imported on request.
"""

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.base.files import make_private_folder
from core.base.frozen import frozen
from servers.rag.errors import VectorsSettingError, VectorsUnavailable
from servers.rag.ports import Vectors
from servers.rag.vectors.store import checked_query, checked_rows, ids_array

if TYPE_CHECKING:
    from pymilvus import Hit, MilvusClient

SCHEMES = ("http", "https")
FILE_SUFFIX = ".db"
OWNER_DIGITS = 16
"""Hexadecimal digits of an owner's hash in a collection's name."""

TOKEN_VARIABLE = "MILVUS_TOKEN"  # noqa: S105 — a variable's name, no password
CONNECT_TIMEOUT_SECONDS = 10.0
SEARCH_TIMEOUT_SECONDS = 10.0
CHANGE_TIMEOUT_SECONDS = 60.0

ROWS_A_CALL = 1000
"""At 3,072 numbers a vector these are 12 MB; a server takes 64 MB in a message."""

IDS_A_CALL = 10_000
"""How many ids one filter names."""

LIMIT_MAX = 16_384
"""What Milvus gives at most for one search, and in one part of a listing."""

FLUSHED_ROWS = 1000
"""Milvus Lite searches what was not flushed slowly (5,000 rows: 0.8 s); a server sees to itself."""

NEAREST = {"metric_type": "IP"}
OWN_WRITES = "Session"
"""A search sees what this process wrote; all others' writes it sees a little later."""

ALL_WRITES = "Strong"
REASON_CHARACTERS = 200

Errors: TypeAlias = tuple[type[Exception], ...]
Connect: TypeAlias = "Callable[[str, str, float], MilvusClient]"
"""Given a URI, a token and a time limit in seconds."""


def load_milvus(is_file: bool) -> tuple[Connect, Errors]:
    """How to connect, and what calls raise; importing it takes about a second and a half.

    While it is imported, pymilvus takes variables from a `.env` file above its package.

    Raises:
        ModuleNotFoundError: it is not installed, or Milvus Lite is not, if it `is_file`.
    """
    from grpc import RpcError  # when a deadline passes
    from pymilvus import MilvusClient, MilvusException

    if is_file:
        import_module("milvus_lite")  # is it there?
    return (
        lambda uri, token, seconds: MilvusClient(uri, token=token, timeout=seconds),
        (MilvusException, RpcError),
    )


def open_milvus(
    address: str,
    dimension: int,
    environ: Mapping[str, str],
    owner: str,
    load: Callable[[bool], tuple[Connect, Errors]] = load_milvus,
) -> "MilvusIndex":
    """The index in the owner's collection, which is made if need be.

    `address` is what follows `milvus:` in the setting; a relative path counts from the working
    folder.

    Raises:
        VectorsSettingError: it is no address.
        VectorsUnavailable: a package is missing, nobody answers, or another process has the file.
    """
    place = parsed_address(address)
    try:
        connect, errors = load(place.is_file)
    except ModuleNotFoundError as error:
        raise VectorsUnavailable(
            f"vectors: milvus:{place.told} needs the package {error.name}: "
            "pip install 'cortex-r[milvus]'"
        ) from None
    for name in ("pymilvus", "milvus_lite"):  # else each failed call prints a traceback
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        if place.is_file:
            make_private_folder(Path(place.uri).parent)
        client = connect(place.uri, environ.get(TOKEN_VARIABLE, ""), CONNECT_TIMEOUT_SECONDS)
    except OSError as error:
        raise VectorsUnavailable(f"vectors: milvus:{place.told}: {error}") from error
    except errors as error:
        advice = (
            "is it open in another process? Several at a time need a Milvus server"
            if place.is_file
            else "is it running? Without it, say vectors: faiss"
        )
        raise VectorsUnavailable(
            f"vectors: milvus:{place.told} can't be opened ({_reason(error)}): {advice}"
        ) from error
    try:
        return MilvusIndex(client, errors, place, _collection_name(owner, dimension), dimension)
    except VectorsUnavailable:
        client.close()
        raise


@frozen
class Address:
    """What pymilvus gets as `uri`, and how people are told of it, without a password."""

    uri: str
    told: str
    is_file: bool


def parsed_address(text: str) -> Address:
    """What comes after `milvus:` in the setting.

    Raises:
        VectorsSettingError: it is neither.
    """
    if "://" not in text:
        return _file(text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(text.rpartition("@")[2], str(error)) from None
    if parts.scheme not in SCHEMES or host is None:
        raise _wrong(text.rpartition("@")[2], "a server's address starts with http:// or https://")
    return Address(text, host if port is None else f"{host}:{port}", is_file=False)


def _collection_name(owner: str, dimension: int) -> str:
    """The collection of this owner's vectors: letters, digits and underscores, as Milvus asks."""
    digest = sha256(owner.encode()).hexdigest()[:OWNER_DIGITS]
    return f"cortex_r_{digest}_{dimension}"


def _file(text: str) -> Address:
    if not text.endswith(FILE_SUFFIX) or "\0" in text:
        raise _wrong(text, f"the name of a Milvus Lite file ends in {FILE_SUFFIX}")
    path = Path(text).expanduser().absolute()
    return Address(str(path), path.name, is_file=True)


def _wrong(text: str, why: str) -> VectorsSettingError:
    return VectorsSettingError(f"vectors: milvus:{text}: {why}")


class MilvusIndex:
    """A `VectorStore` in one collection. Its methods may be called from several threads.

    Every call is bounded in time and raises `VectorsUnavailable` when Milvus fails.
    """

    def __init__(
        self,
        client: "MilvusClient",
        errors: Errors,
        address: Address,
        collection: str,
        dimension: int,
    ) -> None:
        """Make the collection if need be; `errors` are what the client's calls raise."""
        self._client = client
        self._errors = errors
        self._address = address
        self._collection = collection
        self._dimension = dimension
        self._unflushed = 0
        with self._told_plainly():
            self._have_collection()

    @property
    def description(self) -> str:
        """`milvus at HOST:PORT`, or a file's name."""
        return f"milvus at {self._address.told}"

    def __len__(self) -> int:
        """How many vectors it holds."""
        with self._told_plainly():
            rows = self._client.query(
                self._collection,
                filter="",
                output_fields=["count(*)"],
                consistency_level=ALL_WRITES,
                timeout=SEARCH_TIMEOUT_SECONDS,
            )
        return int(rows[0]["count(*)"])

    def add(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        """Take up vectors; an id that is known gets its new one.

        Raises:
            VectorsRefused: they don't fit; nothing was taken up.
        """
        rows = checked_rows(chunk_ids, vectors, self._dimension)
        for start in range(0, len(rows), ROWS_A_CALL):
            part = rows.part(start, ROWS_A_CALL)
            pairs = zip(part.ids.tolist(), part.vectors, strict=True)
            with self._told_plainly():
                self._client.upsert(
                    self._collection,
                    [{"id": chunk_id, "vector": vector} for chunk_id, vector in pairs],
                    timeout=CHANGE_TIMEOUT_SECONDS,
                )
            self._written(len(part))

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        for part in _parts(ids_array(chunk_ids).tolist(), IDS_A_CALL):
            with self._told_plainly():
                self._client.delete(self._collection, ids=part, timeout=CHANGE_TIMEOUT_SECONDS)

    def search(
        self, query: Vectors, count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The nearest chunk ids with their cosine, best first; at most 16,384.

        Raises:
            VectorsRefused: the query doesn't fit.
        """
        row = checked_query(query, self._dimension)
        limit = min(count, LIMIT_MAX)
        if limit < 1:
            return []
        filters = [""] if among is None else _filters(ids_array(among).tolist())
        hits = [hit for wanted in filters for hit in self._hits(row, limit, wanted)]
        found = [(int(hit["id"]), float(hit["distance"])) for hit in hits]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def settle(self) -> None:
        """Milvus builds by itself."""

    def chunk_ids(self) -> NDArray[np.int64]:
        """The ids of all that it holds, shape (n,)."""
        with self._told_plainly():
            listing = self._client.query_iterator(
                self._collection,
                batch_size=LIMIT_MAX,
                output_fields=["id"],
                consistency_level=ALL_WRITES,
                timeout=CHANGE_TIMEOUT_SECONDS,
            )
            ids: list[int] = []
            while rows := listing.next():
                ids += [row["id"] for row in rows]
            listing.close()
        return ids_array(ids)

    def close(self) -> None:
        """End the connection; what was written stays."""
        self._client.close()

    def _have_collection(self) -> None:
        name, timeout = self._collection, CHANGE_TIMEOUT_SECONDS
        if self._client.has_collection(name, timeout=timeout):
            self._client.load_collection(name, timeout=timeout)
            return
        self._client.create_collection(
            name,
            dimension=self._dimension,
            primary_field_name="id",
            id_type="int",
            vector_field_name="vector",
            metric_type=NEAREST["metric_type"],
            auto_id=False,
            enable_dynamic_field=False,
            consistency_level=OWN_WRITES,
            timeout=timeout,
        )

    def _hits(self, row: Vectors, limit: int, wanted: str) -> "Sequence[Hit]":
        with self._told_plainly():
            return self._client.search(
                self._collection,
                data=[row[0]],
                filter=wanted,
                limit=limit,
                output_fields=["id"],
                search_params=NEAREST,
                consistency_level=OWN_WRITES,
                timeout=SEARCH_TIMEOUT_SECONDS,
            )[0]

    def _written(self, rows: int) -> None:
        """Have Milvus Lite index what was written, every now and then."""
        self._unflushed += rows
        if self._address.is_file and self._unflushed >= FLUSHED_ROWS:
            self._unflushed = 0
            with self._told_plainly():
                self._client.flush(self._collection, timeout=CHANGE_TIMEOUT_SECONDS)

    @contextmanager
    def _told_plainly(self) -> Generator[None]:
        """Turn what a call of Milvus raises into one line.

        Raises:
            VectorsUnavailable: the call failed.
        """
        try:
            yield
        except self._errors as error:
            raise VectorsUnavailable(
                f"Milvus at {self._address.told} can't be used now ({_reason(error)}); "
                "search goes on by words. Is it up and reachable?"
            ) from error


def _filters(ids: list[int]) -> Iterator[str]:
    """What bounds a search to these ids; whole numbers only, so nothing else gets in."""
    for part in _parts(ids, IDS_A_CALL):
        yield f"id in [{','.join(map(str, part))}]"


def _parts(ids: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _reason(error: Exception) -> str:
    """The first line of what an exception of theirs says."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(message).strip().partition("\n")[0][:REASON_CHARACTERS]
