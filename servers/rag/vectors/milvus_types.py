"""As much of pymilvus as is used, as types: the package is an extra."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Entity(TypedDict):
    """One row of a collection."""

    id: int
    vector: "NDArray[np.float32]"


class Hit(TypedDict):
    """What a search finds; `distance` is the inner product."""

    id: int
    distance: float


class Listing(Protocol):
    """`QueryIterator`."""

    def next(self) -> Sequence[Mapping[str, int]]:
        """The next rows; none at the end."""
        ...

    def close(self) -> None:
        """Release it."""
        ...


class Client(Protocol):
    """`MilvusClient`; every call raises `MilvusException` or `grpc.RpcError` when it fails."""

    def has_collection(self, collection_name: str, *, timeout: float) -> bool:
        """Whether there is one of this name."""
        ...

    def create_collection(
        self,
        collection_name: str,
        *,
        dimension: int,
        primary_field_name: str,
        id_type: str,
        vector_field_name: str,
        metric_type: str,
        auto_id: bool,
        enable_dynamic_field: bool,
        consistency_level: str,
        timeout: float,
    ) -> None:
        """Make one with an index that Milvus chooses, and load it."""
        ...

    def load_collection(self, collection_name: str, *, timeout: float) -> None:
        """Have it searchable; nothing happens when it is."""
        ...

    def upsert(self, collection_name: str, data: list[Entity], *, timeout: float) -> object:
        """Insert rows, or replace those of the same id."""
        ...

    def delete(self, collection_name: str, *, ids: list[int], timeout: float) -> object:
        """Delete rows."""
        ...

    def flush(self, collection_name: str, *, timeout: float) -> object:
        """Close what was written lately, so that it gets an index."""
        ...

    def search(
        self,
        collection_name: str,
        *,
        data: "list[NDArray[np.float32]]",
        filter: str,
        limit: int,
        output_fields: list[str],
        search_params: Mapping[str, str],
        consistency_level: str,
        timeout: float,
    ) -> Sequence[Sequence[Hit]]:
        """The best hits of each query."""
        ...

    def query(
        self,
        collection_name: str,
        *,
        filter: str,
        output_fields: list[str],
        consistency_level: str,
        timeout: float,
    ) -> Sequence[Mapping[str, int]]:
        """Rows, or their count."""
        ...

    def query_iterator(
        self,
        collection_name: str,
        *,
        batch_size: int,
        output_fields: list[str],
        consistency_level: str,
        timeout: float,
    ) -> Listing:
        """All rows, some at a time."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Library(Protocol):
    """The package `pymilvus`."""

    MilvusException: type[Exception]

    def MilvusClient(self, uri: str, *, token: str, timeout: float) -> Client:
        """Connect; for a path, start Milvus Lite in this process."""
        ...


class Grpc(Protocol):
    """The package `grpc`, which pymilvus brings."""

    RpcError: type[Exception]


Import = Callable[[str], object]
"""`importlib.import_module`, or what stands for it in a test."""


def load_milvus(import_module: Import = importlib.import_module) -> tuple[Library, Grpc]:
    """Import both, which takes about a second and a half.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    library = cast("Library", import_module("pymilvus"))
    return library, cast("Grpc", import_module("grpc"))
