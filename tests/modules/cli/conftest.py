"""What the tests of commands share."""

from pathlib import Path

import pytest

from tests.modules.cli.by_hand import Hand, a_hand


@pytest.fixture
def hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Hand:
    """Runs commands in this process, with a home of their own."""
    return a_hand(tmp_path, capsys)
