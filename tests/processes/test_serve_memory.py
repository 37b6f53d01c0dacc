"""Memory of a service that meets ever new conversations."""

from pathlib import Path

import pytest

from tests.benchmarks.service import steady_mb

CONVERSATIONS = (200, 600)
"""As many as stay open by design, and three times as many again."""

GROWTH_MAX = 1.2
"""It was 1.10, all of it before the 500th; 1.27 where closed conversations were kept."""


@pytest.mark.timeout(240)  # some 16 s of CPU time, on however busy a machine
def test_memory_stays_as_it_is_over_ever_new_conversations(tmp_path: Path) -> None:
    first, last = steady_mb(tmp_path, *CONVERSATIONS)
    assert last < GROWTH_MAX * first
