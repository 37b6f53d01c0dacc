"""kill -9 at 300 moments while the index is written: each time all of it is whole."""

from pathlib import Path

import pytest

from tests.servers.rag.index.kills import survive


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(6))
def test_a_writer_killed_fifty_times_leaves_whole_documents(tmp_path: Path, seed: int) -> None:
    survive(tmp_path, kills=50, seed=seed)
