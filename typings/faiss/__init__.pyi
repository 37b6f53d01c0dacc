"""As much of FAISS as is used: its own stubs mix numpy with torch, which isn't there."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]

METRIC_INNER_PRODUCT: int

class Index:
    ntotal: int

    def train(self, x: Vectors) -> None: ...
    def add_with_ids(self, x: Vectors, ids: Ids) -> None: ...
    # Both of shape (queries, k), best first; id -1 where there is none.
    def search(
        self, x: Vectors, k: int, *, params: SearchParameters | None = None
    ) -> tuple[Vectors, Ids]: ...
    # What comes after the vectors that are removed moves up.
    def remove_ids(self, sel: IDSelector) -> int: ...
    def reconstruct_n(self, n0: int, ni: int) -> Vectors: ...
    # At these places, or with these ids where there is a direct map.
    def reconstruct_batch(self, keys: Ids) -> Vectors: ...

class IndexFlatIP(Index):
    def __init__(self, d: int) -> None: ...

class IndexScalarQuantizer(Index):
    def __init__(self, d: int, qtype: int, metric: int) -> None: ...

class IndexIDMap(Index):
    id_map: Int64Vector

    def __init__(self, index: Index) -> None: ...

class IndexIVFScalarQuantizer(Index):
    nlist: int
    cp: ClusteringParameters
    invlists: InvertedLists

    def __init__(self, quantizer: Index, d: int, nlist: int, qtype: int, metric: int) -> None: ...
    def set_direct_map_type(self, type: int) -> None: ...

class ClusteringParameters:
    min_points_per_centroid: int

class InvertedLists:
    def list_size(self, list_no: int) -> int: ...
    def get_ids(self, list_no: int) -> Int64Pointer: ...

class ScalarQuantizer:
    QT_8bit: int
    QT_fp16: int

class DirectMap:
    NoMap: int
    Hashtable: int

class IDSelector: ...

# A set of ids, as a hash table behind a Bloom filter.
class IDSelectorBatch(IDSelector):
    def __init__(self, indices: Ids) -> None: ...

class SearchParameters:
    def __init__(self, *, sel: IDSelector) -> None: ...

class SearchParametersIVF(SearchParameters):
    def __init__(self, *, nprobe: int, sel: IDSelector | None = None) -> None: ...

class Int64Vector: ...
class Int64Pointer: ...

# Both bounds hold for the calling thread.
def omp_set_num_threads(num_threads: int) -> None: ...
def omp_get_max_threads() -> int: ...

# A copy, and a view.
def vector_to_array(v: Int64Vector) -> Ids: ...
def rev_swig_ptr(ptr: Int64Pointer, n: int) -> Ids: ...
