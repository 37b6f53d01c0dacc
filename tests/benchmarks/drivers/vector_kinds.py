"""One kind of vector index: filled from SQLite, then searched.

Arguments: the file, a numpy file of queries, the kind, how many vectors there are, and how many
clusters are searched, if not as many as usual. Prints one JSON object.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from servers.rag.vectors.faiss_index import CLUSTERS_SEARCHED, FaissIndex
from servers.rag.vectors.store import fill
from tests.benchmarks.vector_sets import DIMENSION, NEIGHBOURS, Vectors, stored_vectors

ROWS_READ = 1024
UNBOUNDED = 1 << 40
PEAK_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


def main(database: Path, queries: Vectors, kind: str, size: int, searched: int) -> None:
    """Read once without an index, then fill one, then search."""
    started = time.perf_counter()
    for _ in stored_vectors(database, ROWS_READ):
        pass
    read = time.perf_counter() - started
    index = FaissIndex(DIMENSION, UNBOUNDED if kind == "fp16" else size // 2, searched)
    before = resident_bytes()
    started = time.perf_counter()
    fill(index, stored_vectors(database, ROWS_READ))
    load = time.perf_counter() - started
    started = time.perf_counter()
    index.settle()
    settle = time.perf_counter() - started
    assert index.description == f"faiss, {kind}"
    figures = {"read": read, "load": load, "settle": settle, "held": resident_bytes() - before}
    searched_in(index, queries[0])  # the first touches what no search touched before
    searches = [searched_in(index, query) for query in queries]
    figures["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT_BYTES
    seconds = [seconds for seconds, _ in searches]
    found = [ids for _, ids in searches]
    sys.stdout.write(json.dumps({**figures, "searches": seconds, "found": found}) + "\n")


def searched_in(index: FaissIndex, query: Vectors) -> tuple[float, list[int]]:
    """Seconds, and the ids found."""
    started = time.perf_counter()
    found = index.search(query[None], NEIGHBOURS)
    return time.perf_counter() - started, [chunk_id for chunk_id, _ in found]


def resident_bytes() -> int:
    """Of this process, now; where the system doesn't tell, the most it ever had."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT_BYTES
    return int(status.read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    clusters = int(sys.argv[5]) if len(sys.argv) > 5 else CLUSTERS_SEARCHED
    main(Path(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3], int(sys.argv[4]), clusters)
