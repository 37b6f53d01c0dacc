"""A place for tests of how answers are judged that are only words."""

from pathlib import Path

from tests.evals.workplace import Workplace


def empty_workplace(root: Path) -> Workplace:
    """A workplace at `root` without anything in it."""
    place = Workplace(root)
    for name in ("files", "repo"):
        (place.root / "originals" / name).mkdir(parents=True)
    place.fill()
    return place
