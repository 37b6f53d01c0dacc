"""What `doctor` finds out about documents: folders, index, and what a setting needs."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from config.bundled import uses_gemini
from config.settings import Places
from core.base.text import size_text
from modules.cli.doctor_findings import Check

if TYPE_CHECKING:
    from config.schema import AgentProfile

ENTRIES_COUNTED: Final = 1000
"""How many entries of a folder are counted; nobody waits for more."""


def documents_checks(
    profile: "AgentProfile", places: Places, environ: Mapping[str, str]
) -> Iterator[Check]:
    """The folders, the index, and keys that are asked for; nothing is read or written."""
    section = profile.documents
    for name in section.folders:
        yield _folder(places.home / Path(name).expanduser())
    yield _index(places.home / Path(section.index_folder).expanduser())
    if uses_gemini(section) and not environ.get("GEMINI_API_KEY"):
        yield Check(
            "documents",
            "Gemini",
            "missing",
            "the documents section names it, and GEMINI_API_KEY is not set in the environment",
            "set it, or choose another embedder and captions",
        )


def _folder(path: Path) -> Check:
    try:
        with os.scandir(path) as entries:
            count = sum(1 for _, _ in zip(entries, range(ENTRIES_COUNTED + 1), strict=False))
    except FileNotFoundError:
        advice = "make it, or add files with agent.py docs add"
        return Check("documents", "folder", "note", f"{path}: is not there yet", advice)
    except OSError as error:
        told = f"{path}: {error.strerror or error}"
        return Check("documents", "folder", "missing", told, "correct documents.folders")
    more = "more than " if count > ENTRIES_COUNTED else ""
    shown = min(count, ENTRIES_COUNTED)
    return Check("documents", "folder", "ok", f"{path} ({more}{shown} entries)")


def _index(folder: Path) -> Check:
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not os.access(there, os.W_OK | os.X_OK):
        told = f"{folder}: {there} can't be written, so documents can't be searched"
        return Check("documents", "index", "missing", told, "correct documents.index_folder")
    try:
        size = sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
    except OSError:
        return Check("documents", "index", "ok", f"{folder} (made with the first document)")
    return Check("documents", "index", "ok", f"{folder} ({size_text(size)})")
