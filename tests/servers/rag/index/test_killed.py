"""kill -9 while the index is written; `tests/real/test_index_killed.py` does it 300 times."""

from pathlib import Path

from tests.servers.rag.index.kills import survive


def test_a_killed_writer_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    survive(tmp_path, kills=2, seed=1)
