"""What differs between the folders and the index: new, changed, moved and missing files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from servers.rag.folders.scan import FoundFile, Scan
from servers.rag.indexing.reading import NotReadable, Reading, Vanished, read_hash
from servers.rag.passages import DocumentEntry


@dataclass(slots=True)
class Changes:
    """What is to be done.

    `unread` are files that are new, or look changed; `refused` ones that are not read, and not
    listed so yet; `renamed` pairs of an old name and the file that now lies at the same path;
    `gone` documents without a file.
    """

    unread: list[FoundFile] = field(default_factory=list[FoundFile])
    refused: list[FoundFile] = field(default_factory=list[FoundFile])
    renamed: list[tuple[str, FoundFile]] = field(default_factory=list[tuple[str, FoundFile]])
    gone: list[DocumentEntry] = field(default_factory=list[DocumentEntry])
    unchanged: int = 0


def compare(found: Scan, known: Iterable[DocumentEntry], *, anew: bool = False) -> Changes:
    """Compare what was found with what is known; `anew` lets all known files count as changed.

    A file that is called differently only because folders were added to the profile, or taken
    away, is renamed, not read.
    """
    changes = Changes()
    entries = {entry.file: entry for entry in known}
    gone = {
        entry.path: entry
        for entry in entries.values()
        if entry.file not in found.files and not found.leaves_open(entry.file)
    }
    for file in found.files.values():
        entry = entries.get(file.file)
        moved = gone.get(file.path) if entry is None else None
        if file.refusal:
            listed = entry is not None and (entry.status, entry.note) == ("skipped", file.refusal)
            changes.unchanged += listed
            if not listed:
                changes.refused.append(file)
        elif moved is not None and _is_same(moved, file):
            changes.renamed.append((moved.file, file))
            del gone[moved.path]
        elif entry is not None and _is_same(entry, file) and not anew:
            changes.unchanged += 1
        else:
            changes.unread.append(file)
    changes.gone.extend(gone.values())
    return changes


def _is_same(entry: DocumentEntry, file: FoundFile) -> bool:
    """Whether a file looks as it did when it was read."""
    return (entry.path, entry.size_bytes, entry.modified_ns) == (
        file.path,
        file.size_bytes,
        file.modified_ns,
    ) and entry.status != "skipped"


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
