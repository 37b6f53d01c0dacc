"""Finds files that were only moved or renamed: they need no reading, and keep their vectors."""

from collections.abc import Callable

from servers.rag.indexing.changes import Changes
from servers.rag.indexing.reading import NotReadable, Reading, Vanished, read_hash
from servers.rag.indexing.scan import FoundFile
from servers.rag.passages import DocumentEntry


def find_moves(
    changes: Changes, hash_of: Callable[[str], str | None], bytes_max: int
) -> list[tuple[str, FoundFile, Reading]]:
    """Pairs of a document whose file is gone and a file with its content, and that reading.

    They leave `changes.gone` and `changes.unread`. Only files whose size is that of a missing
    document are opened.
    """
    missing: dict[int, list[DocumentEntry]] = {}
    for entry in changes.gone:
        if entry.status in ("indexed", "empty"):
            missing.setdefault(entry.size_bytes, []).append(entry)
    moves: list[tuple[str, FoundFile, Reading]] = []
    for file in changes.unread:
        candidates = missing.get(file.size_bytes)
        if not candidates:
            continue
        try:
            reading = read_hash(file.path, bytes_max)
        except (NotReadable, Vanished):
            continue  # told when it is its turn to be read
        for entry in candidates:
            if hash_of(entry.file) == reading.content_hash:
                moves.append((entry.file, file, reading))
                candidates.remove(entry)
                break
    moved_from = {old for old, _, _ in moves}
    moved_to = {file.file for _, file, _ in moves}
    changes.gone = [entry for entry in changes.gone if entry.file not in moved_from]
    changes.unread = [file for file in changes.unread if file.file not in moved_to]
    return moves
