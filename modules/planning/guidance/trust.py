"""What the user has said of texts of projects: `trusted.json`, by path and SHA-256 of the content.

A text is trusted as long as it says what it said when the user said yes. A no holds as long.
"""

import time
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.files import KeptEntries
from core.base.frozen import frozen
from core.values import Json

FILE_NAME: Final = "trusted.json"
"""Under CORTEX_HOME."""

ENTRIES_MAX: Final = 2_000
"""Of more, what was decided first is forgotten."""


@frozen
class Decision:
    """What was said of a text, and when, in seconds since 1970."""

    sha256: str
    is_trusted: bool
    when: float


class TrustStore:
    """The decisions in one file; every method blocks for a moment."""

    def __init__(self, file: Path, clock: Clock = time.time) -> None:
        """Touch nothing yet."""
        self._kept = KeptEntries(
            file, "texts", is_sound=lambda entry: _decision(entry) is not None, clock=clock
        )
        self._clock = clock

    def verdict(self, path: Path, sha256: str) -> bool | None:
        """Whether the text at this path is trusted; None if nothing was said of this content."""
        found = self.decisions().get(str(path))
        return found.is_trusted if found is not None and found.sha256 == sha256 else None

    def decide(self, path: Path, sha256: str, *, is_trusted: bool) -> None:
        """Remember what is said of a text.

        Raises:
            OSError: the file can't be written.
        """
        with self._kept.changing() as texts:
            texts.pop(str(path), None)  # the newest stands last
            texts[str(path)] = {"sha256": sha256, "trusted": is_trusted, "at": self._clock()}
            for oldest in [*texts][:-ENTRIES_MAX]:
                del texts[oldest]

    def forget(self, path: Path) -> bool:
        """Be asked again about a text; whether anything was remembered.

        Raises:
            OSError: the file can't be written.
        """
        with self._kept.changing() as texts:
            return texts.pop(str(path), None) is not None

    def decisions(self) -> dict[str, Decision]:
        """All of them by path; none where the file is absent, damaged or can't be read."""
        found = ((path, _decision(each)) for path, each in self._kept.read().items())
        return {path: decision for path, decision in found if decision is not None}


def _decision(entry: Json) -> Decision | None:
    match entry:
        case {"sha256": str(sha256), "trusted": bool(trusted), "at": int() | float() as at}:
            return Decision(sha256, trusted, float(at))
        case _:
            return None
