"""kill -9 at 300 moments of indexing: each time all answers, and the next run completes it."""

from pathlib import Path

import pytest

from tests.servers.rag.indexing.kills import survive


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(6))
def test_an_indexer_killed_fifty_times_leaves_an_index_that_answers(
    tmp_path: Path, seed: int
) -> None:
    survive(tmp_path, kills=50, seed=seed)
