"""What the tests of the evaluations share."""

from pathlib import Path

import pytest

from tests.evals.workplace import Workplace


@pytest.fixture
def nowhere(tmp_path: Path) -> Workplace:
    """A workplace without anything in it, for answers that are only words."""
    place = Workplace(tmp_path / "work")
    for name in ("files", "repo"):
        (place.root / "originals" / name).mkdir(parents=True)
    place.fill()
    return place
