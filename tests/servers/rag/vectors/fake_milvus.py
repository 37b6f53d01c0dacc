"""A stand-in for pymilvus and its server: collections in dictionaries, every call written down."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from servers.rag.vectors.milvus_index import Connect, Errors
from tests.servers.rag.vectors.exact_index import ExactIndex

if TYPE_CHECKING:
    from pymilvus import Entity, Hit, MilvusClient


class FakeMilvusException(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(f"<MilvusException: (code=2, message={message})>")
        self.message = message


class FakeRpcError(Exception):
    """What grpc raises when a deadline passes."""


@dataclass
class FakeService:
    """What all clients of one server share.

    `fails` is raised by every call but `close`, or by `fails_at` only.
    """

    collections: dict[str, ExactIndex] = field(default_factory=dict[str, ExactIndex])
    calls: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    tokens: list[str] = field(default_factory=list[str])
    uris: list[str] = field(default_factory=list[str])
    filters: list[str] = field(default_factory=list[str])
    fails: Exception | None = None
    fails_at: str = ""

    def called(self, what: str, size: int = 0) -> None:
        if self.fails is not None and what != "close" and self.fails_at in ("", what):
            raise self.fails
        self.calls.append((what, size))

    def sizes(self, what: str) -> list[int]:
        return [size for name, size in self.calls if name == what]


class FakeListing:
    def __init__(self, ids: Sequence[int], batch_size: int) -> None:
        self._parts = [ids[i : i + batch_size] for i in range(0, len(ids), batch_size)]

    def next(self) -> list[dict[str, int]]:
        return [{"id": chunk_id} for chunk_id in self._parts.pop(0)] if self._parts else []

    def close(self) -> None:
        self._parts.clear()


class FakeClient:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    def has_collection(self, collection_name: str, *, timeout: float) -> bool:
        self._service.called("has_collection")
        return collection_name in self._service.collections

    def create_collection(self, collection_name: str, *, dimension: int, **_: object) -> None:
        self._service.called("create_collection", dimension)
        self._service.collections[collection_name] = ExactIndex(dimension)

    def load_collection(self, collection_name: str, *, timeout: float) -> None:
        self._service.called("load_collection")

    def upsert(self, collection_name: str, data: "list[Entity]", *, timeout: float) -> object:
        self._service.called("upsert", len(data))
        vectors = np.stack([row["vector"] for row in data])
        self._collection(collection_name).add([row["id"] for row in data], vectors)
        return {"upsert_count": len(data)}

    def delete(self, collection_name: str, *, ids: list[int], timeout: float) -> object:
        self._service.called("delete", len(ids))
        self._collection(collection_name).remove(ids)
        return {}

    def flush(self, collection_name: str, *, timeout: float) -> object:
        self._service.called("flush")
        return None

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
    ) -> "list[list[Hit]]":
        self._service.called("search", limit)
        self._service.filters.append(filter)
        among = ast.literal_eval(filter.removeprefix("id in ")) if filter else None
        rows = self._collection(collection_name).search(data[0][None], limit, among)
        return [[{"id": chunk_id, "distance": cosine} for chunk_id, cosine in rows]]

    def query(self, collection_name: str, **_: object) -> list[dict[str, int]]:
        self._service.called("query")
        return [{"count(*)": len(self._collection(collection_name))}]

    def query_iterator(self, collection_name: str, *, batch_size: int, **_: object) -> FakeListing:
        self._service.called("query_iterator", batch_size)
        return FakeListing(self._collection(collection_name).chunk_ids().tolist(), batch_size)

    def close(self) -> None:
        self._service.called("close")

    def _collection(self, name: str) -> ExactIndex:
        if name not in self._service.collections:
            raise FakeMilvusException(f"collection '{name}' does not exist")
        return self._service.collections[name]


@dataclass
class FakeLibrary:
    """The packages `pymilvus` and `grpc`; without that of `missing`."""

    service: FakeService
    missing: str = ""

    def load(self, is_file: bool) -> tuple[Connect, Errors]:
        if self.missing:
            raise ModuleNotFoundError(f"No module named {self.missing!r}", name=self.missing)
        return self._connected, (FakeMilvusException, FakeRpcError)

    def _connected(self, uri: str, token: str, seconds: float) -> "MilvusClient":
        self.service.called("connect")
        self.service.uris.append(uri)
        self.service.tokens.append(token)
        return cast("MilvusClient", FakeClient(self.service))
