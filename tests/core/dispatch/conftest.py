"""What several tests of the dispatcher begin with."""

from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A record of tool definitions, in a folder that is not there yet."""
    return tmp_path / "home" / "tool_pins.json"
