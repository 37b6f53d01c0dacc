"""The indexer: keeps the index true to the document folders.

A run compares the folders with the index by names, sizes and times, looks into what seems new or
changed, and writes each file in a transaction of its own: its text is found by words at once. The
vectors follow batch by batch, on whatever thread calls `fill_vectors`; which chunks still lack
one is written in the index itself, so that a run which was ended at any moment is taken up by
the next. Files are read on one thread while the texts before them are cut and written on another.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import assert_never

from core.base.text import one_line
from servers.rag.chunking.chunker import CutDocument, cut_by_structure
from servers.rag.folders.scan import Bounds, FoundFile, IgnoreRules, Scan, look_at, scan
from servers.rag.index.index import Index
from servers.rag.indexing.changes import Changes, compare, find_moves
from servers.rag.indexing.progress import (
    FileNoted,
    IndexNoted,
    IndexProgress,
    OnEvent,
    ProgressCounter,
    SyncReport,
)
from servers.rag.indexing.reading import (
    FileFailed,
    FileGone,
    FileRead,
    FileReader,
    FileSlow,
    FileUnchanged,
    Outcome,
    Reading,
    changed_meanwhile,
    read_ahead,
)
from servers.rag.library.options import DocumentOptions
from servers.rag.passages import DOUBTFUL_BY_NS, DocumentEntry, DocumentStatus
from servers.rag.ports import Embedder, Extractor

logger = logging.getLogger(__name__)

READ_AHEAD_FILES = 4
"""Texts that wait to be cut and written: enough to keep both threads at work, few in memory."""

PATHS_MAX = 100
"""Changed files that are looked at one by one; beyond it a comparison of all is as quick."""

LOOKS_MAX = 3
"""How often a file that changes while it is read is read again, before its text is taken as is."""

BATCH_CHUNKS = 32
"""Chunks embedded and written at a time: about a second's work, so that an end is quick, and a
text that is slower than the others keeps the other cores waiting seldom."""

SETTLE_SECONDS = 0.5
"""How long to leave such files alone in between."""

NOTE_CHARACTERS_MAX = 500
TITLE_CHARACTERS_MAX = 300

QUICK_SECONDS = 2.0
"""A file whose text takes longer is read beside the others, which wait for no such file."""

NO_TEXT = "it holds no text"
TAKES_LONG = "it takes long to read, and is read beside the others"


class Indexer:
    """Compares folders and index, and brings the index up to date.

    One run at a time; `fill_vectors` may run beside it. What happens is told through `on_event`,
    from the threads of both, one call at a time.
    """

    def __init__(
        self,
        options: DocumentOptions,
        index: Index,
        extractor: Extractor,
        embedder: Embedder | None,
        on_event: OnEvent,
        *,
        cut: CutDocument = cut_by_structure,
        settle_seconds: float = SETTLE_SECONDS,
        quick_seconds: float = QUICK_SECONDS,
    ) -> None:
        self._options = options
        self._index = index
        self._embedder = embedder
        self._cut = cut
        self._settle_seconds = settle_seconds
        self._quick_seconds = quick_seconds
        self._rules = IgnoreRules(options.ignore)
        self._bounds = Bounds(options.file_bytes, options.files)
        self._reader = FileReader(extractor, options.file_bytes)
        self._progress = ProgressCounter(index.counts, on_event, has_vectors=embedder is not None)
        self._slow: dict[str, FoundFile] = {}
        self._cancelled = threading.Event()
        self._notes: tuple[str, ...] = ()
        self._running = threading.Lock()
        self._filling = threading.Lock()

    @property
    def progress(self) -> IndexProgress:
        """How far the present run is, or the last one was."""
        return self._progress.progress

    @property
    def notes(self) -> tuple[str, ...]:
        """What the last run had to say about the folders."""
        return self._notes

    def count(self) -> None:
        """Bring the chunks of `progress` up to date, whoever wrote them."""
        self._progress.count()

    def embed_with(self, embedder: Embedder) -> None:
        """Let `fill_vectors` make vectors from now on."""
        self._embedder = embedder
        self._progress.has_vectors = True

    def cancel(self) -> None:
        """End runs and filling after the file or batch that they are at; for good."""
        self._cancelled.set()

    def sync(self, *, anew: bool = False) -> SyncReport:
        """Compare, and write what differs; `anew` reads also what doesn't.

        Raises:
            IndexUnusable: it can't be written (the disk is full): all that was written before
                stands, and another run does the rest.
        """
        with self._running:
            options = self._options
            found = scan(options.folders, self._rules, self._bounds, own=[options.index_folder])
            self._notes = tuple(found.notes)
            for note in found.notes:
                self._progress.tell(IndexNoted(note))
            return self._bring_up_to_date(found, self._index.documents(), anew=anew)

    def sync_paths(self, paths: Collection[str]) -> SyncReport:
        """The same for single files, of which it was heard that they changed.

        Everything is compared if they are too many, or if it takes more than a look at them to
        tell what happened. `paths` are real ones, and not to be ignored.
        """
        if len(paths) <= PATHS_MAX:
            with self._running:
                look = look_at(paths, self._options.folders, self._bounds)
                if look is not None:
                    names = (*look.found.files, *look.missing)
                    known = [entry for name in names if (entry := self._index.entry(name))]
                    if {entry.file for entry in known}.issuperset(look.missing):
                        return self._bring_up_to_date(look.found, known, anew=False)
        return self.sync()

    def _bring_up_to_date(
        self, found: Scan, known: Sequence[DocumentEntry], *, anew: bool
    ) -> SyncReport:
        """Compare what was found with what was known, and do what is to be done."""
        run = _Run({entry.file: entry for entry in known}, anew)
        changes = compare(found, known, anew=anew)
        run.tally["unchanged"] = changes.unchanged
        self._move_and_remove(changes, run)
        self._read_all(changes.unread, run)
        if run.tally["added"] or run.tally["changed"]:
            self._index.tidy(self._cancelled.is_set)
        self._progress.count()
        report = SyncReport(**run.tally, complete=not self._cancelled.is_set())
        self._progress.tell(report)
        return report

    def read_slow(self) -> bool:
        """Read one of the files that runs left out because it takes long; False: there is none.

        May run beside a run, on one thread at a time. Raises as `sync` does.
        """
        file = next(iter([*self._slow.values()]), None)  # a run may add one at this moment
        if file is None or self._cancelled.is_set():
            return False
        try:
            known = self._index.entry(file.file)
            outcome = self._reader.read(file, None)
            if not self._cancelled.is_set():
                self._write(outcome, _Run({} if known is None else {file.file: known}, anew=True))
        finally:
            self._slow.pop(file.file, None)
        self._progress.count()
        return True

    def fill_vectors(self) -> int:
        """Embed the chunks that have no vector yet, until cancelled; gives how many got theirs.

        Raises:
            EmbedderUnavailable: not now; they are found by their words until it works again.
            IndexUnusable: as in `sync`.
        """
        if self._embedder is None:
            return 0
        filled = 0
        with self._filling:
            while not self._cancelled.is_set():
                batch = self._index.chunks_without_vectors(BATCH_CHUNKS)
                if not batch:
                    break
                vectors = self._embedder.embed_passages([text for _, text in batch])
                if self._cancelled.is_set():
                    break
                self._index.set_vectors([chunk_id for chunk_id, _ in batch], vectors)
                filled += len(batch)
                self._progress.count()
        return filled

    def _move_and_remove(self, changes: Changes, run: "_Run") -> None:
        """All that needs no text, before the reading begins."""
        for old, file in changes.renamed:
            self._index.rename_document(old, file.file, file.path, file.modified_ns)
        moved = find_moves(changes, self._index.content_hash, self._options.file_bytes)
        for old, file, reading in moved:
            self._index.rename_document(old, file.file, file.path, reading.trusted_modified_ns)
        for entry in changes.gone:
            self._index.remove_document(entry.file)
        for file in changes.refused:
            entry = _entry(file, None, "skipped", file.refusal)
            self._index.replace_document(entry, "")
            self._tell(entry)
        run.tally["renamed"] += len(changes.renamed) + len(moved)
        run.tally["removed"] += len(changes.gone)
        run.tally["skipped"] += len(changes.refused)

    def _read_all(self, files: Sequence[FoundFile], run: "_Run") -> None:
        """Read files, small ones first, and those that would not hold still once more."""
        waiting = sorted(
            (file for file in files if file.file not in self._slow),
            key=lambda file: file.size_bytes,
        )
        self._progress.files_begin(len(waiting))
        for look in range(1, LOOKS_MAX + 1):
            restless: list[FoundFile] = []
            with closing(self._outcomes(waiting, run)) as outcomes:
                for outcome in outcomes:
                    if self._cancelled.is_set():
                        return
                    if look < LOOKS_MAX and changed_meanwhile(outcome):
                        restless.append(outcome.file)
                    else:
                        self._write(outcome, run)
                        self._progress.file_done(outcome.file.file)
            if not restless:
                return
            waiting = restless
            self._cancelled.wait(self._settle_seconds)

    def _outcomes(self, files: Sequence[FoundFile], run: "_Run") -> Generator[Outcome]:
        """What comes of reading each, in order; the reading is some files ahead."""

        def read(file: FoundFile) -> Outcome:
            known = file.file in run.known and not run.anew
            known_hash = self._index.content_hash(file.file) if known else None
            return self._reader.read(file, known_hash, self._quick_seconds)

        return read_ahead(read, files, READ_AHEAD_FILES)

    def _write(self, outcome: Outcome, run: "_Run") -> None:
        """One transaction."""
        match outcome:
            case FileRead():
                self._write_text(outcome, run)
            case FileUnchanged(file, reading):
                # Other times, or another place, and the content that it had.
                modified_ns = reading.trusted_modified_ns
                self._index.rename_document(file.file, file.file, file.path, modified_ns)
                run.tally["unchanged"] += 1
            case FileFailed():
                self._write_failure(outcome, run)
            case FileSlow(file):
                self._slow[file.file] = file
                if file.file not in run.known:  # else what was read before is found meanwhile
                    entry = _entry(file, None, "failed", TAKES_LONG)
                    self._index.replace_document(entry, "")
                    self._tell(entry)
            case FileGone(file):
                if file.file in run.known:
                    self._index.remove_document(file.file)
                    run.tally["removed"] += 1
            case _:
                assert_never(outcome)

    def _write_text(self, read: FileRead, run: "_Run") -> None:
        """The text with its chunks, which are found by words from now on and lack vectors.

        A text that can't be cut counts as one that can't be read.
        """
        try:
            cut = self._cut(read.extracted)
        except Exception as error:
            logger.exception("cutting %s into chunks failed", read.file.file)
            reason = f"can't be cut into chunks ({type(error).__name__})"
            self._write_failure(FileFailed(read.file, read.reading, reason, read.settled), run)
            return
        notes = [*read.extracted.notes, *([cut.note] if cut.note else [])]
        if not cut.chunks and not notes:
            notes.append(NO_TEXT)
        if not read.settled:
            notes.append(f"it was being written when it was read at {time.strftime('%H:%M:%S')}")
        status: DocumentStatus = "indexed" if cut.chunks else "empty"
        entry = _entry(read.file, read.reading, status, "; ".join(notes), read.extracted.title)
        # Without a hash it is read once more, whatever its content is then.
        content_hash = read.reading.content_hash if read.settled else ""
        self._index.replace_document(entry, content_hash, read.extracted, cut.chunks)
        run.tally["unsettled"] += not read.settled
        run.tally["changed" if entry.file in run.known else "added"] += 1
        self._tell(entry)

    def _write_failure(self, failed: FileFailed, run: "_Run") -> None:
        """Why it isn't searchable, unless that is what the index says already."""
        run.tally["unsettled"] += not failed.settled
        entry = _entry(failed.file, failed.reading, "failed", failed.reason)
        if entry != run.known.get(entry.file):
            content_hash = "" if failed.reading is None else failed.reading.content_hash
            self._index.replace_document(entry, content_hash)
            run.tally["failed"] += 1
            self._tell(entry)

    def _tell(self, entry: DocumentEntry) -> None:
        """A line for the status, if there is anything to say."""
        if entry.note:
            self._progress.tell(FileNoted(entry.file, entry.status, entry.note))


@dataclass(slots=True)
class _Run:
    """One run: what was known when it began, whether all is read anew, and what came of it."""

    known: Mapping[str, DocumentEntry]
    anew: bool
    tally: Counter[str] = field(default_factory=Counter[str])


def _entry(
    file: FoundFile, reading: Reading | None, status: DocumentStatus, note: str, title: str = ""
) -> DocumentEntry:
    """The entry of a file; one that could not be opened gets a time that can't be right."""
    return DocumentEntry(
        file=file.file,
        path=file.path,
        status=status,
        size_bytes=file.size_bytes if reading is None else reading.size_bytes,
        modified_ns=(
            file.modified_ns - DOUBTFUL_BY_NS if reading is None else reading.trusted_modified_ns
        ),
        chunks=0,
        title=one_line(title, TITLE_CHARACTERS_MAX),
        note=one_line(note, NOTE_CHARACTERS_MAX),
    )
