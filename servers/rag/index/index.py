"""The index, as the rest of the engine sees it."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from servers.rag.index.chunk_rows import (
    diff_chunks,
    forget_chunks,
    read_batch,
    read_chunks,
    read_texts_without_vectors,
    read_vectors,
    write_chunks,
    write_vectors,
)
from servers.rag.index.connections import Connections
from servers.rag.index.document_rows import (
    find_document,
    read_entries,
    rename_row,
    write_document,
)
from servers.rag.index.opening import adopt, is_sound, prepare
from servers.rag.index.schema import (
    COUNTER,
    FINGERPRINT,
    IDENTITY,
    INDEX_FILE,
    changes_since,
    log_changes,
    meta_int,
    meta_text,
)
from servers.rag.index.text_blocks import read_text, write_text
from servers.rag.index.word_table import (
    WordTable,
    full_match,
    merge_words,
    read_lengths,
    search_words,
)
from servers.rag.passages import (
    Chunk,
    DocumentEntry,
    IndexCounts,
    StoredChunk,
    VectorChanges,
    WordHit,
)
from servers.rag.ports import Vectors
from servers.reading.source import Extracted

VECTORS_BATCH = 4_096


class Index:
    """Documents, chunks, words and vectors in one file; made by `Index.open`.

    Methods block, and may be called from several threads. Reading goes on while something is
    written. Each writing method is one transaction: when it raises, or the process ends in its
    midst, the state before stands. Only the process that holds the `WriterLock` should write.

    All methods raise `IndexUnusable` when the file can't be read or written; `connections`
    has the kinds of it that one may want to tell apart.
    """

    def __init__(
        self, connections: Connections, path: Path, fingerprint: str, recipe: str, notice: str
    ) -> None:
        """Use `open`."""
        self._connections = connections
        self.fingerprint = fingerprint
        """What vectors are made by; another one counts from the next `begin_writing` on."""
        self._recipe = recipe
        self.path = path
        self.notice = notice
        """What a person should be told about the opening; empty if nothing."""

    @classmethod
    def open(
        cls,
        folder: Path,
        fingerprint: str,
        recipe: str = "",
        *,
        writer: bool = True,
        pages_max: int | None = None,
    ) -> "Index":
        """Open the index in a folder, or make one.

        `fingerprint` tells what vectors are made by, `recipe` how texts and chunks are; both may be
        empty for "not known here". The `writer` sets a damaged file aside, and has made anew what
        was made by others: see `begin_writing`. `pages_max` bounds the file, in pages of 4 KiB.

        Raises:
            IndexUnusable: it can't be used; the message says what to do.
        """
        path = folder / INDEX_FILE
        notice = prepare(path, writer=writer)
        index = cls(Connections(path, pages_max), path, fingerprint, recipe, notice)
        if writer:
            try:
                index.begin_writing()
            except BaseException:
                index.close()
                raise
        return index

    def begin_writing(self) -> None:
        """Take the index over, as the process that writes from now on.

        Vectors with another fingerprint are dropped: all chunks then lack one. With another recipe
        no document counts as up to date: each has no hash and a time of -1, until it is replaced.
        `notice` says so.
        """
        with self._connections.writing() as connection:
            notes = adopt(connection, self.fingerprint, self._recipe)
        self.notice = " ".join(note for note in (self.notice, *notes) if note)

    def close(self) -> None:
        """Close the file; everything raises `IndexUnusable` from then on."""
        self._connections.close()

    # Writing

    def replace_document(
        self,
        entry: DocumentEntry,
        content_hash: str,
        extracted: Extracted | None = None,
        chunks: Sequence[Chunk] = (),
    ) -> None:
        """Add a document, or put a new version in the place of the one named `entry.file`.

        Chunks whose text was there before keep their id and their vector, the new ones have none.
        `entry.chunks` is not looked at.
        """
        given = extracted or Extracted("")
        texts = [given.markdown[chunk.start : chunk.end] for chunk in chunks]
        with self._connections.writing() as connection:
            words = WordTable(connection)
            document = write_document(
                connection, entry, content_hash, given.title, given.page_starts
            )
            diff = diff_chunks(connection, document, texts)
            touched = forget_chunks(connection, document, diff.gone, words)
            write_text(connection, document, given.markdown)
            write_chunks(connection, document, chunks, diff, words)
            words.write_lengths()
            log_changes(connection, touched)

    def set_vectors(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        """Give chunks their vectors, row by row; a chunk that is gone is passed over.

        Raises:
            ValueError: as many rows as ids are needed, of finite numbers.
        """
        with self._connections.writing() as connection:
            log_changes(connection, write_vectors(connection, chunk_ids, vectors))

    def rename_document(self, file: str, new_file: str, path: str, modified_ns: int) -> None:
        """Give a document another name, place or time; one that had the new name is removed."""
        with self._connections.writing() as connection:
            touched: list[int] = []
            if new_file != file and find_document(connection, file) is not None:
                touched = _remove(connection, new_file)
            rename_row(connection, file, new_file, path, modified_ns)
            log_changes(connection, touched)

    def remove_document(self, file: str) -> None:
        """Forget a document; nothing happens if it isn't known."""
        with self._connections.writing() as connection:
            log_changes(connection, _remove(connection, file))

    def tidy(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """Merge what many small writes have scattered, so that searching by words is quick again.

        Takes about two seconds for 100,000 new chunks, in small transactions, between which others
        write; worth calling after a run of the indexer.
        """
        while not is_cancelled():
            with self._connections.writing() as connection:
                if not merge_words(connection):
                    return

    # Reading

    def documents(self) -> list[DocumentEntry]:
        """All documents, by name."""
        with self._connections.reading() as connection:
            return read_entries(connection)

    def entry(self, file: str) -> DocumentEntry | None:
        """One document; None if it isn't known."""
        with self._connections.reading() as connection:
            return next(iter(read_entries(connection, file)), None)

    def text(self, file: str) -> str | None:
        """The markdown of a document; None if it isn't known."""
        with self._connections.reading_one_state() as connection:
            document = find_document(connection, file)
            return None if document is None else read_text(connection, document)

    def content_hash(self, file: str) -> str | None:
        """The hash that a document was written with; empty where it has to be read again."""
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT content_hash FROM documents WHERE file = ?", (file,)
            ).fetchone()
        return None if row is None else row[0]

    def counts(self) -> IndexCounts:
        """How much there is."""
        with self._connections.reading_one_state() as connection:
            (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
            (lacking,) = connection.execute(
                "SELECT count(*) FROM chunks WHERE vector IS NULL"
            ).fetchone()
            chunks = sum(each.chunks for each in read_lengths(connection).values())
        return IndexCounts(documents, chunks, lacking)

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """Chunks by id, in the order given, without those that are gone."""
        with self._connections.reading_one_state() as connection:
            return read_chunks(connection, chunk_ids)

    def chunk_ids(self, file: str) -> list[int]:
        """The chunks of a document, in order."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document "
                "WHERE file = ? ORDER BY ordinal",
                (file,),
            )
            return [chunk_id for (chunk_id,) in rows]

    def search_words(self, query: str, count: int, file: str | None = None) -> list[WordHit]:
        """The best `count` chunks that hold words of a text, best first; any text will do."""
        with self._connections.reading_one_state() as connection:
            document = None if file is None else find_document(connection, file)
            if file is not None and document is None:
                return []
            return search_words(connection, query, count, document)

    def full_match(self, query: str) -> float:
        """What a chunk of average length would score that holds every word of a text once."""
        with self._connections.reading_one_state() as connection:
            return full_match(connection, query)

    # Vectors

    def chunks_without_vectors(self, limit: int) -> list[tuple[int, str]]:
        """Ids and texts of the first chunks that have no vector."""
        with self._connections.reading_one_state() as connection:
            return read_texts_without_vectors(connection, limit)

    def vectors(self, chunk_ids: Sequence[int]) -> tuple[list[int], Vectors]:
        """Those of the ids that have a vector, and their vectors, row by row.

        None have while the index holds vectors with another fingerprint than ours.
        """
        with self._connections.reading_one_state() as connection:
            return read_vectors(connection, chunk_ids if self._fits(connection) else ())

    def all_vectors(
        self, batch: int = VECTORS_BATCH
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """All vectors with their chunk ids, ascending, some at a time.

        What is written meanwhile may be in it or not: take `counter` before, and follow
        `changes_since` it afterwards.
        """
        after = 0
        while True:
            with self._connections.reading_one_state() as connection:
                if not self._fits(connection):
                    return
                ids, vectors = read_batch(connection, after, batch)
            if not len(ids):
                return
            yield ids, vectors
            after = int(ids[-1])

    @property
    def counter(self) -> int:
        """Moves on with every transaction, by whatever process; for `changes_since`."""
        with self._connections.reading() as connection:
            return meta_int(connection, COUNTER)

    def changes_since(self, counter: int) -> VectorChanges:
        """Which chunks got or lost their vector since `counter`, by whatever process."""
        replaced = self._connections.follow_replacement()
        with self._connections.reading_one_state() as connection:
            changes = changes_since(connection, counter)
            if replaced or not self._fits(connection):
                return VectorChanges(changes.counter, (), (), complete=False)
            return changes

    @property
    def identity(self) -> str:
        """A name of this very file: chunk ids mean the same only under the same one."""
        with self._connections.reading() as connection:
            return meta_text(connection, IDENTITY)

    def check(self) -> bool:
        """Whether the file is sound; reads all of it, about a second for each 200 MB."""
        with self._connections.writing() as connection:
            return is_sound(connection)

    def _fits(self, connection: sqlite3.Connection) -> bool:
        """Whether the vectors there are ours."""
        return meta_text(connection, FINGERPRINT) in ("", self.fingerprint)


def _remove(connection: sqlite3.Connection, file: str) -> list[int]:
    """Remove a document with all that belongs to it; gives which chunks had a vector."""
    document = find_document(connection, file)
    if document is None:
        return []
    words = WordTable(connection)
    diff = diff_chunks(connection, document, ())
    touched = forget_chunks(connection, document, diff.gone, words)
    connection.execute("DELETE FROM documents WHERE id = ?", (document,))
    words.write_lengths()
    return touched
