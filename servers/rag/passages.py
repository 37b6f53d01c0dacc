"""What flows through the engine: a file's text, its chunks, and what a search finds."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

SearchMode: TypeAlias = Literal["hybrid", "words", "vectors"]
"""How a search ranks: by words and meaning together, or by one of them."""

DocumentStatus: TypeAlias = Literal["indexed", "empty", "failed", "skipped"]
"""`empty`: read, but holds no text; `failed`: can't be read; `skipped`: not looked into."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A file's content as markdown.

    `page_starts` are the offsets in `markdown` (characters) where its pages begin, the first one
    included; empty for a format that has no pages. `notes` say what could not be read.
    `first_line` is the file's line that the markdown's first is: 0 where that is a fence of ours.
    """

    markdown: str
    title: str = ""
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document that is found as one.

    `text` is `markdown[start:end]` of the document, `headings` the path of headings above it.
    `line` and `page` are counted from 1 and tell where it begins; `page` is None without pages.
    """

    text: str
    start: int
    end: int
    line: int
    page: int | None = None
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in the index; `ordinal` counts a document's chunks from 0."""

    chunk_id: int
    file: str
    ordinal: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A file as the index knows it.

    `file` names it for people and tools: its path below its folder, with `/`, and the folder's
    name before it where there are several folders. `note` says why nothing, or not all, of it
    is searchable.
    """

    file: str
    path: str
    status: DocumentStatus
    size_bytes: int
    modified_ns: int
    chunks: int
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """What a search gives: one chunk, or neighbouring ones merged into one text.

    `score` lies between 0 and 1, `cosine` between -1 and 1 (None without vectors). `chunk_id` is
    the best chunk's.
    """

    file: str
    chunk_id: int
    text: str
    score: float
    cosine: float | None
    line: int
    page: int | None
    headings: tuple[str, ...]
