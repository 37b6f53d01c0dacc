"""What the indexer tells while it works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from servers.rag.passages import DocumentStatus


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far it is: files of this run read, and chunks of the whole index with a vector.

    `file` is the one last worked at.
    """

    files_done: int
    files_total: int
    chunks_done: int
    chunks_total: int
    file: str = ""


@dataclass(frozen=True, slots=True)
class FileNoted:
    """A file that is not, or not wholly, searchable, and why."""

    file: str
    status: DocumentStatus
    note: str


@dataclass(frozen=True, slots=True)
class IndexNoted:
    """One line on the index as a whole: an embedder that is down, a full disk."""

    note: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one comparison of folders and index came to.

    `failed` files hold nothing that can be read, `skipped` ones are not looked into, `unsettled`
    ones changed while they were read or could not be opened, and are looked at again by the next
    run. `complete` is False where it was cancelled.
    """

    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    unsettled: int = 0
    complete: bool = True


IndexEvent: TypeAlias = IndexProgress | FileNoted | IndexNoted | SyncReport
OnEvent: TypeAlias = Callable[[IndexEvent], None]
"""Called from the indexer's threads, one call at a time; must be quick and must not raise."""
