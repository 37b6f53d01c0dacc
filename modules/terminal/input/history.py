"""Requests that were typed before, kept for this user alone."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from core.base.files import make_private_folder, open_private, write_atomically

HISTORY_BYTES_MAX: Final = 2_000_000
"""A longer file loses its older half when the prompt opens."""

_ENTRY: Final = b"\n# "
"""How an entry of the file begins."""


def kept_history(
    file: Path | None, redact: Callable[[str], str], whole: Callable[[str], str] = str
) -> History:
    """Lines typed before, kept for this user alone; only in memory where they can't be written.

    `redact` takes secrets out of what is written, and `whole` has pasted blocks in their places.
    """
    if file is None:
        return InMemoryHistory()
    try:
        make_private_folder(file.parent)
        os.close(open_private(file, os.O_WRONLY | os.O_APPEND))
        _shorten(file)
    except OSError:
        return InMemoryHistory()
    return _KeptHistory(file, redact, whole)


class _KeptHistory(FileHistory):
    def __init__(
        self, file: Path, redact: Callable[[str], str], whole: Callable[[str], str]
    ) -> None:
        super().__init__(str(file))
        self._redact = redact
        self._whole = whole

    def store_string(self, string: str) -> None:
        # A full disk takes a line from the next run, not the prompt from this one.
        with contextlib.suppress(OSError):
            super().store_string(self._redact(self._whole(string)))


def _shorten(file: Path) -> None:
    if file.stat().st_size <= HISTORY_BYTES_MAX:
        return
    with file.open("rb") as lines:
        lines.seek(-HISTORY_BYTES_MAX // 2, os.SEEK_END)
        newer = lines.read(HISTORY_BYTES_MAX)
    write_atomically(file, newer[max(newer.find(_ENTRY), 0) :])
