"""What the document tools and the command line say: passages, lists and parts of documents.

A passage ends in `[Source: file, ID: chunk]`, which is how an answer's sources are known. Text of
a document can't fake such a mark, and a file's name can't break one.
"""

from collections.abc import Sequence

from core.base.text import counted, one_line, size_text
from servers.rag.indexing.progress import IndexProgress
from servers.rag.passages import NOTHING_FITS, DocumentEntry, Passage

DOCUMENT_CHARACTERS = 8_000
"""How much of a document one call gives."""

DOCUMENTS_LISTED = 200
"""How many documents one list names."""

NAME_CHARACTERS = 250
"""A longer name is cut in the middle of a source mark's room, which is 300 characters."""

NO_DOCUMENTS = "There are no documents yet."

_MARK = "[Source:"


def passages_text(passages: Sequence[Passage], notes: Sequence[str] = ()) -> str:
    """The passages, best first, with what is to be known about the search before them."""
    told = [f"Note: {note}" for note in notes]
    if not passages:
        is_said = any(NOTHING_FITS in note or NO_DOCUMENTS in note for note in notes)
        return "\n".join([*told, *([] if is_said else [NOTHING_FITS])])
    blocks = [_passage(number, each) for number, each in enumerate(passages, 1)]
    return "\n\n".join([*(["\n".join(told)] if told else []), *blocks])


def place_of(passage: Passage) -> str:
    """Where a passage stands: file, page or line, and the headings above it."""
    at = f"page {passage.page}" if passage.page is not None else f"line {passage.line}"
    where = f"{one_line(passage.file)}, {at}"
    return f"{where}, under {one_line(' > '.join(passage.headings))}" if passage.headings else where


def indexing_note(progress: IndexProgress | None) -> str | None:
    """How far the index is; None where it is complete."""
    if progress is None:
        return None
    left = progress.files_total - progress.files_done
    if left > 0:
        return (
            f"indexing goes on: {progress.files_done} of {progress.files_total} files are "
            "searchable, so search again later if something is missing"
        )
    if progress.chunks_done < progress.chunks_total:
        return (
            f"indexing goes on: all files are found by their words, and "
            f"{progress.chunks_done} of {progress.chunks_total} passages by their meaning too"
        )
    return None


def documents_text(entries: Sequence[DocumentEntry], offset: int, notes: Sequence[str] = ()) -> str:
    """A line a document, from `offset` on, with what can't be searched and why."""
    lines = [f"Note: {note}" for note in notes]
    if not entries:
        return "\n".join([*lines, NO_DOCUMENTS])
    shown = entries[offset : offset + DOCUMENTS_LISTED]
    lines += [entry_line(entry) for entry in shown]
    if (end := offset + len(shown)) < len(entries):
        lines.append(f"{len(entries) - end} more; call again with offset={end}")
    elif not shown:
        lines.append(f"There are {len(entries)} documents, none from {offset} on.")
    return "\n".join(lines)


def entry_line(entry: DocumentEntry) -> str:
    """A document in a line."""
    parts = [size_text(entry.size_bytes)]
    if entry.title:
        parts.insert(0, f'"{one_line(entry.title)}"')
    if entry.status == "indexed":
        parts.append(counted(entry.chunks, "passage"))
    else:
        parts.append({"empty": "holds no text"}.get(entry.status, entry.status))
    line = f"{one_line(entry.file)}: {', '.join(parts)}"
    return f"{line} ({one_line(entry.note)})" if entry.note else line


def document_text(file: str, markdown: str, offset: int) -> str:
    """`DOCUMENT_CHARACTERS` of a document, and where to go on."""
    part = markdown[offset : offset + DOCUMENT_CHARACTERS].replace(_MARK, "(Source:")
    end = offset + len(part)
    if not markdown:
        told = "The document holds no text."
    elif not part:
        told = f"The document has {len(markdown)} characters; there is nothing at {offset}."
    elif end < len(markdown):
        told = f"Characters {offset}-{end} of {len(markdown)}; go on with offset={end}."
    elif offset:
        told = f"Characters {offset}-{end}, the end."
    else:
        told = ""
    mark = source_mark(file, f"{offset}-{end}")
    return "\n\n".join(text for text in (part.strip("\n"), told, mark) if text)


def source_mark(file: str, part: str | int) -> str:
    """How a text says where it is from; `part` is a chunk's number, or a range of characters."""
    return f"{_MARK} {name_in_mark(file)}, ID: {part}]"


def name_in_mark(file: str) -> str:
    """A file's name as a source mark holds it: on one line, and without its bracket."""
    name = one_line(file).replace("]", ")")
    if len(name) <= NAME_CHARACTERS:
        return name
    half = NAME_CHARACTERS // 2
    return f"{name[:half]}…{name[-half:]}"


def _passage(number: int, passage: Passage) -> str:
    head = f"{number}. {place_of(passage)} (score {passage.score:.2f})"
    text = passage.text.strip().replace(_MARK, "(Source:")
    return f"{head}\n{text}\n{source_mark(passage.file, passage.chunk_id)}"
