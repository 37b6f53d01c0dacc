"""What each command of `servers.rag.command` does, over an open library."""

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from core.base.text import size_text
from servers.rag.errors import EXIT_DONE, EXIT_NOTHING_FOUND, EXIT_USAGE, Refused
from servers.rag.folders.access import resolve
from servers.rag.folders.adding import add_files
from servers.rag.indexing.progress import OnEvent
from servers.rag.library.library import DocumentLibrary
from servers.rag.library.library_protocol import Library, LibraryStatus
from servers.rag.library.options import DocumentOptions
from servers.rag.library.reporter import Reporter
from servers.rag.library.wording import entry_line, passages_text
from servers.rag.passages import DocumentEntry, Passage, SearchMode

OTHER_WRITER_SECONDS = 10.0
"""How long added files are waited for, where another process indexes them."""

OTHER_WRITER_POLL_SECONDS = 0.1

OpenLibrary: TypeAlias = Callable[[DocumentOptions, OnEvent], Library]


def open_documents(options: DocumentOptions, on_event: OnEvent) -> Library:
    """The real library."""
    return DocumentLibrary.open(options, on_event=on_event)


def manage(
    found: argparse.Namespace,
    options: DocumentOptions,
    reporter: Reporter,
    open_library: OpenLibrary = open_documents,
) -> int:
    """Do the action; gives the exit code.

    Raises:
        Refused: it can't be done as it was said.
        RagError: it failed.
    """
    if found.action == "watch":
        options = options.model_copy(update={"watch": True})
    with reporter.waiting_for("the index"):
        opened = open_library(options, reporter.hear)
    with closing(opened) as library:
        commands = _Commands(library, options, reporter, is_json=found.json)
        match found.action:
            case "add":
                return commands.add(found.paths)
            case "list":
                return commands.list_documents()
            case "status":
                return commands.status()
            case "search":
                return commands.search(" ".join(found.query), found.top_k, found.file, found.mode)
            case "reindex":
                return commands.reindex()
            case "remove":
                return commands.remove(found.file, is_sure=found.yes)
            case _:
                return commands.watch()


class _Commands:
    def __init__(
        self,
        library: Library,
        options: DocumentOptions,
        reporter: Reporter,
        *,
        is_json: bool,
    ) -> None:
        self._library = library
        self._options = options
        self._reporter = reporter
        self._is_json = is_json

    def add(self, paths: list[Path]) -> int:
        root = self._options.folders[0]
        copied = list(add_files(root, paths))
        if added := {str(one.target) for one in copied if one.state == "added"}:
            self._update(embed=True, added=added)
        rows = [(str(one.target.relative_to(root)), one.state, one.reason) for one in copied]
        self._answer(
            "\n".join(
                f"{state.ljust(7)}  {file}{f' ({reason})' if reason else ''}"
                for file, state, reason in rows
            ),
            [{"file": file, "state": state, "reason": reason} for file, state, reason in rows],
        )
        return EXIT_USAGE if any(one.state == "refused" for one in copied) else EXIT_DONE

    def list_documents(self) -> int:
        self._update(embed=False)
        entries = self._library.documents()
        if not entries and not self._is_json:
            self._reporter.say(f"no documents in {self._folders}; agent.py docs add PATH adds some")
            return EXIT_DONE
        self._answer(
            "\n".join(entry_line(entry) for entry in entries),
            [_entry_document(entry) for entry in entries],
        )
        return EXIT_DONE

    def status(self) -> int:
        status, entries = self._library.status(), self._library.documents()
        unread = [entry for entry in entries if entry.note]
        self._answer(
            "\n".join(_status_lines(self._options, status, unread)),
            {
                "folders": [str(folder) for folder in self._options.folders],
                "index_folder": str(self._options.index_folder),
                "documents": status.counts.documents,
                "chunks": status.counts.chunks,
                "chunks_without_vectors": status.counts.chunks_without_vectors,
                "embedder": status.embedder or None,
                "vectors": status.vectors or None,
                "writer_process": status.writer_process,
                "notes": list(status.notes),
                "noted": [_entry_document(entry) for entry in unread],
            },
        )
        return EXIT_DONE

    def search(self, query: str, top_k: int, file: str | None, mode: SearchMode) -> int:
        self._update(embed=mode != "words")
        with self._reporter.waiting_for("the search"):
            result = self._library.search(query, top_k, file, mode)
        told = ([result.note] if result.note else []) + [*self._library.failures()]
        notes = sorted(set(told), key=told.index)
        if self._is_json:
            passages = [_passage_document(passage) for passage in result.passages]
            self._reporter.answer_json({"passages": passages, "notes": notes})
        elif result.passages:
            for note in notes:
                self._reporter.say(note)
            self._reporter.answer(passages_text(result.passages))
        else:
            self._reporter.complain(" ".join(notes) or passages_text(()))
        return EXIT_DONE if result.passages else EXIT_NOTHING_FOUND

    def reindex(self) -> int:
        with self._reporter.waiting_for("documents to be read anew"):
            self._library.reindex()
        counts = self._library.status().counts
        self._answer(
            f"{counts.documents} documents, {counts.chunks} passages",
            {"documents": counts.documents, "chunks": counts.chunks},
        )
        return EXIT_DONE

    def remove(self, file: str, *, is_sure: bool) -> int:
        entry = next((e for e in self._library.documents() if e.file == file), None)
        path = resolve(self._options.folders, file if entry is None else entry.path)
        if not is_sure and not _agrees(f"delete {path}? [y/N] "):
            raise Refused(f"{path} stays; --yes deletes it without a question")
        try:
            path.unlink()
        except OSError as error:
            raise Refused(f"{path} can't be deleted: {error.strerror or error}") from error
        self._update(embed=False)
        self._answer(f"removed  {path}", {"removed": str(path)})
        return EXIT_DONE

    def watch(self) -> int:
        self._library.start()
        if (holder := self._other_writer()) is not None:
            self._reporter.say(
                f"process {holder} does the indexing; this one follows and takes over"
            )
        self._reporter.say(f"watching {self._folders}; Ctrl-C ends it")
        threading.Event().wait()
        return EXIT_DONE

    @property
    def _folders(self) -> str:
        return ", ".join(map(str, self._options.folders))

    def _answer(self, text: str, document: object) -> None:
        if self._is_json:
            self._reporter.answer_json(document)
        elif text:
            self._reporter.answer(text)

    def _update(self, *, embed: bool, added: Collection[str] = ()) -> None:
        """Index what has changed, unless another process looks after that.

        Without `embed` it is found by words only, until the next command that needs vectors. The
        other process is waited for until it has read what was `added`.
        """
        if (holder := self._other_writer()) is not None:
            self._reporter.say(f"process {holder} keeps the index up to date")
            if added:
                self._wait_for_other_writer(added)
        else:
            with self._reporter.waiting_for("the index to be brought up to date"):
                self._library.sync(embed=embed)

    def _wait_for_other_writer(self, files: Collection[str]) -> None:
        """Wait until the process that indexes has read these: the next question finds them."""
        until = time.monotonic() + OTHER_WRITER_SECONDS
        with self._reporter.waiting_for("the process that indexes"):
            while {*files} - {entry.path for entry in self._library.documents()}:
                if time.monotonic() > until:
                    self._reporter.say("what is new is found as soon as that process has read it")
                    return
                time.sleep(OTHER_WRITER_POLL_SECONDS)

    def _other_writer(self) -> int | None:
        holder = self._library.status().writer_process
        return holder if holder is not None and holder != os.getpid() else None


def _agrees(question: str) -> bool:
    """Whether the person at the terminal says yes; nobody there is a no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _status_lines(
    options: DocumentOptions, status: LibraryStatus, unread: list[DocumentEntry]
) -> list[str]:
    counts = status.counts
    waiting = counts.chunks_without_vectors
    return [
        *(f"folder     {folder}{_missing(folder)}" for folder in options.folders),
        f"index      {options.index_folder} ({size_text(_size(options.index_folder))})",
        f"documents  {counts.documents}, in {counts.chunks} passages",
        f"embedder   {status.embedder or 'none: words alone are searched'}",
        *([f"vectors    {status.vectors}"] if status.vectors else []),
        *([f"waiting    {waiting} passages for their vectors"] if waiting else []),
        *(f"note       {note}" for note in status.notes),
        *(f"noted      {entry_line(entry)}" for entry in unread),
    ]


def _missing(folder: Path) -> str:
    return "" if folder.is_dir() else " (is not there)"


def _size(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    except OSError:
        return 0


def _entry_document(entry: DocumentEntry) -> dict[str, object]:
    return {
        "file": entry.file,
        "path": entry.path,
        "status": entry.status,
        "title": entry.title or None,
        "size_bytes": entry.size_bytes,
        "passages": entry.chunks,
        "note": entry.note or None,
    }


def _passage_document(passage: Passage) -> dict[str, object]:
    return {
        "file": passage.file,
        "id": passage.chunk_id,
        "score": round(passage.score, 4),
        "cosine": None if passage.cosine is None else round(passage.cosine, 4),
        "page": passage.page,
        "line": passage.line,
        "headings": list(passage.headings),
        "text": passage.text,
    }
