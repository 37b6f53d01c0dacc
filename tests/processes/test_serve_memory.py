"""Memory of a service that meets ever new conversations."""

from pathlib import Path

import pytest

from tests.benchmarks.service import steady_mb

CONVERSATIONS = 100
GROWTH_MAX = 1.25
"""After four times as many. What stays by design, the newest runs, is there after the first."""


@pytest.mark.timeout(180)  # some 12 s of CPU time, on however busy a machine
def test_memory_stays_as_it_is_over_ever_new_conversations(tmp_path: Path) -> None:
    first, last = steady_mb(tmp_path, CONVERSATIONS)
    assert last < GROWTH_MAX * first
