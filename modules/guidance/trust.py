"""What the user has said of texts of projects: `trusted.json`, by path and SHA-256 of the content.

A text is trusted as long as it says what it said when the user said yes. A no holds as long.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from core.base.clock import Clock
from core.base.files import folder_locked, read_regular, reserve_damaged_name, write_atomically
from core.base.frozen import frozen
from core.values import Json, JsonObject

FILE_NAME: Final = "trusted.json"
"""Under CORTEX_HOME."""

FILE_BYTES_MAX: Final = 4 * 1024 * 1024

ENTRIES_MAX: Final = 2_000
"""Of more, what was decided first is forgotten."""

_FORMAT: Final = 1


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
        self._file = file
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
        with folder_locked(self._file):
            decisions = self._read_or_set_aside()
            decisions.pop(str(path), None)  # the newest stands last
            decisions[str(path)] = Decision(sha256, is_trusted, self._clock())
            self._write(dict([*decisions.items()][-ENTRIES_MAX:]))

    def forget(self, path: Path) -> bool:
        """Be asked again about a text; whether anything was remembered.

        Raises:
            OSError: the file can't be written.
        """
        with folder_locked(self._file):
            decisions = self._read_or_set_aside()
            if decisions.pop(str(path), None) is None:
                return False
            self._write(decisions)
            return True

    def decisions(self) -> dict[str, Decision]:
        """All of them by path; none where the file is absent, damaged or can't be read."""
        try:
            return _parsed(read_regular(self._file, FILE_BYTES_MAX))
        except (OSError, ValueError):
            return {}

    def _read_or_set_aside(self) -> dict[str, Decision]:
        try:
            return _parsed(read_regular(self._file, FILE_BYTES_MAX))
        except FileNotFoundError:
            return {}
        except ValueError:
            self._file.replace(reserve_damaged_name(self._file, self._clock()))
            return {}

    def _write(self, decisions: Mapping[str, Decision]) -> None:
        texts = {
            path: {"sha256": each.sha256, "trusted": each.is_trusted, "at": each.when}
            for path, each in decisions.items()
        }
        document = json.dumps({"format": _FORMAT, "texts": texts}, indent=1)
        write_atomically(self._file, f"{document}\n".encode())


def _parsed(data: bytes) -> dict[str, Decision]:
    """What a file says.

    Raises:
        ValueError: it is damaged.
    """
    try:
        content: Json = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    match content:
        case {"format": 1, "texts": dict() as texts}:
            return {path: _decision(each) for path, each in cast("JsonObject", texts).items()}
        case _:
            raise ValueError("it is of another form")


def _decision(value: Json) -> Decision:
    match value:
        case {"sha256": str(sha256), "trusted": bool(trusted), "at": int() | float() as at}:
            return Decision(sha256, trusted, float(at))
        case _:
            raise ValueError("an entry is of another form")
