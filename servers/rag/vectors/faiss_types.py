"""As much of FAISS as is used, as types: its own stubs mix numpy with torch, which isn't there."""

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors

    Ids = NDArray[np.int64]


class IDSelector(Protocol):
    """A set of ids."""


class Parameters(Protocol):
    """How one search is done."""


class Pointer(Protocol):
    """A pointer to an array of FAISS's own."""


class Int64Vector(Protocol):
    """A `std::vector` of ids."""


class Index(Protocol):
    """Any index of FAISS's."""

    ntotal: int

    def train(self, x: "Vectors") -> None:
        """Learn from vectors how to store such."""
        ...

    def add_with_ids(self, x: "Vectors", ids: "Ids") -> None:
        """Append vectors."""
        ...

    def search(
        self, x: "Vectors", k: int, *, params: Parameters | None = None
    ) -> "tuple[Vectors, Ids]":
        """The k best products with their ids, both of shape (queries, k); id -1 where none is."""
        ...

    def remove_ids(self, sel: IDSelector) -> int:
        """Forget vectors; what comes after them moves up."""
        ...

    def reconstruct_n(self, n0: int, ni: int) -> "Vectors":
        """The `ni` vectors from place `n0` on."""
        ...

    def reconstruct_batch(self, keys: "Ids") -> "Vectors":
        """The vectors at these places, or with these ids where there is a direct map."""
        ...


class IdMap(Index, Protocol):
    """`IndexIDMap`: ids over an index that knows places only."""

    id_map: Int64Vector


class ClusteringParameters(Protocol):
    """How k-means is done."""

    niter: int
    min_points_per_centroid: int
    max_points_per_centroid: int


class InvertedLists(Protocol):
    """The clusters of an `IndexIVF`, each with its ids and codes."""

    def list_size(self, list_no: int) -> int:
        """How many vectors are in a cluster."""
        ...

    def get_ids(self, list_no: int) -> Pointer:
        """Their ids."""
        ...


class InvertedFile(Index, Protocol):
    """`IndexIVFScalarQuantizer`."""

    nlist: int
    cp: ClusteringParameters
    invlists: InvertedLists

    def set_direct_map_type(self, type: int) -> None:
        """Keep, or no longer keep, a way from ids to vectors."""
        ...


class Codes(Protocol):
    """The class `ScalarQuantizer` with its kinds of codes."""

    QT_8bit: int
    QT_fp16: int


class Ways(Protocol):
    """The class `DirectMap` with its kinds."""

    NoMap: int
    Hashtable: int


class Library(Protocol):
    """The package `faiss`."""

    METRIC_INNER_PRODUCT: int
    ScalarQuantizer: Codes
    DirectMap: Ways

    def IndexFlatIP(self, d: int) -> Index:
        """Whole vectors, compared one by one."""
        ...

    def IndexScalarQuantizer(self, d: int, qtype: int, metric: int) -> Index:
        """Shortened vectors, compared one by one."""
        ...

    def IndexIVFScalarQuantizer(
        self, quantizer: Index, d: int, nlist: int, qtype: int, metric: int
    ) -> InvertedFile:
        """Shortened vectors in clusters around what the quantizer holds."""
        ...

    def IndexIDMap(self, index: Index) -> IdMap:
        """Give an index ids."""
        ...

    def IDSelectorBatch(self, indices: "Ids") -> IDSelector:
        """A set of ids, as a hash table behind a Bloom filter."""
        ...

    def SearchParameters(self, *, sel: IDSelector) -> Parameters:
        """Search among some."""
        ...

    def SearchParametersIVF(self, *, nprobe: int, sel: IDSelector | None = None) -> Parameters:
        """Search in the `nprobe` nearest clusters, among some or all."""
        ...

    def omp_set_num_threads(self, num_threads: int) -> None:
        """Bound what the calling thread uses from now on."""
        ...

    def vector_to_array(self, v: Int64Vector) -> "Ids":
        """A copy."""
        ...

    def rev_swig_ptr(self, ptr: Pointer, n: int) -> "Ids":
        """A view."""
        ...


def load_faiss() -> Library:
    """Import it, which takes about half a second the first time."""
    return cast("Library", cast("object", importlib.import_module("faiss")))
