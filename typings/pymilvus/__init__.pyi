"""As much of pymilvus as is used: the package is an extra."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class MilvusException(Exception): ...

# Of these two only the types exist.
class Entity(TypedDict):
    id: int
    vector: NDArray[np.float32]

class Hit(TypedDict):
    id: int
    distance: float

class QueryIterator:
    def next(self) -> Sequence[Mapping[str, int]]: ...
    def close(self) -> None: ...

# Every call raises `MilvusException`, or `grpc.RpcError` when a deadline passes. A path as `uri`
# starts Milvus Lite in this process.
class MilvusClient:
    def __init__(self, uri: str, *, token: str, timeout: float) -> None: ...
    def has_collection(self, collection_name: str, *, timeout: float) -> bool: ...
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
    ) -> None: ...
    def load_collection(self, collection_name: str, *, timeout: float) -> None: ...
    def upsert(self, collection_name: str, data: list[Entity], *, timeout: float) -> object: ...
    def delete(self, collection_name: str, *, ids: list[int], timeout: float) -> object: ...
    def flush(self, collection_name: str, *, timeout: float) -> object: ...
    def search(
        self,
        collection_name: str,
        *,
        data: list[NDArray[np.float32]],
        filter: str,
        limit: int,
        output_fields: list[str],
        search_params: Mapping[str, str],
        consistency_level: str,
        timeout: float,
    ) -> Sequence[Sequence[Hit]]: ...
    def query(
        self,
        collection_name: str,
        *,
        filter: str,
        output_fields: list[str],
        consistency_level: str,
        timeout: float,
    ) -> Sequence[Mapping[str, int]]: ...
    def query_iterator(
        self,
        collection_name: str,
        *,
        batch_size: int,
        output_fields: list[str],
        consistency_level: str,
        timeout: float,
    ) -> QueryIterator: ...
    def close(self) -> None: ...
