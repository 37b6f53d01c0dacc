"""Which files the document tools may read: those inside the configured folders, and no others.

A name comes from a model that may have read a hostile page, so it is taken apart before the disk
is asked, every part of it must stand in its folder letter for letter, and where it leads in the
end, links followed, must be inside. What lies on the disk may change between this look and the
reading of the file, so the reader opens the path that it is given here, which has no links, folder
by folder (`core.base.files.open_without_links`).
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.base.text import one_line
from servers.rag.errors import OutsideFolders

NAME_CHARACTERS_MAX = 4096
"""Longest path (PATH_MAX of Linux)."""

NAME_CHARACTERS_SHOWN = 80

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
"""Dots, slashes and NUL as URLs write them; nothing here decodes them, and nothing is to."""


def resolve(folders: Sequence[Path], given: str) -> Path:
    """The ordinary file that `given` names, as a real path without links.

    `given` is a path below one of `folders`, with `/` between its parts, or an absolute path into
    one. The name of a folder may stand before it. Of several folders the first that has it counts.

    Raises:
        OutsideFolders: it names something else; the message says what.
    """
    shown = _shown(given)
    if (wrong := _wrong_in_itself(given)) is not None:
        raise OutsideFolders(f"{shown}: {wrong}")
    reason = ""
    for root, parts in _places(folders, given):
        found = _look(root, parts)
        if isinstance(found, Path):
            return found
        reason = reason or found
    if not reason and given.startswith("/"):
        reason = "it lies outside the document folders; give a name as list_documents shows it"
    raise OutsideFolders(f"{shown}: {reason or 'there is no such file in the document folders'}")


def _wrong_in_itself(given: str) -> str | None:
    """What is wrong with the name, whatever is on the disk."""
    if not given.strip():
        return "it is empty"
    if len(given) > NAME_CHARACTERS_MAX:
        return f"it has more than {NAME_CHARACTERS_MAX} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in given):
        return "it holds a character that no file's name should hold"
    if _SCHEME.match(given) is not None or given.startswith(("//", "\\\\")):
        return "it is an address; give a file's name as list_documents shows it"
    if given.startswith("~"):
        return "home directories are not looked into"
    return _steps_out(given)


def _steps_out(given: str) -> str | None:
    """Whether it climbs, as it stands or as a system might read it that normalises names."""
    if ".." in given.split("/"):
        return "'..' is not followed"
    if _ESCAPED.search(given) is not None or "\\" in given:
        return "parts of a path stand between plain slashes, nothing in it is escaped"
    normal = unicodedata.normalize("NFKC", given)
    if normal.count("/") != given.count("/") or "\\" in normal or ".." in normal.split("/"):
        return "it holds characters that look like dots or slashes"
    return None


def _places(folders: Sequence[Path], given: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Where the name may lead: a folder, and the parts of a path below it."""
    roots = [(folder, Path(os.path.realpath(folder))) for folder in folders]
    if given.startswith("/"):
        for folder, root in roots:
            for start in dict.fromkeys((folder, root)):
                if Path(given).is_relative_to(start):
                    yield root, Path(given).relative_to(start).parts
        return
    parts = tuple(part for part in given.split("/") if part not in ("", "."))
    for folder, root in roots:
        yield root, parts
        if len(parts) > 1 and parts[0] == folder.name:
            yield root, parts[1:]


def _look(root: Path, parts: tuple[str, ...]) -> Path | str:
    """The file below `root`, or why it isn't to be read; "" where there is nothing by that name."""
    place = root
    try:
        for part in parts:
            if (wrong := _missing(place, part)) is not None:
                return wrong
            place = Path(os.path.realpath(place / part))
            if not place.is_relative_to(root):
                return "it is a link that leads out of its folder, and is not followed"
        mode = place.stat().st_mode
    except (OSError, ValueError):  # it goes away while it is looked at
        return ""
    if stat.S_ISDIR(mode):
        return "it is a folder; name a file in it"
    return place if stat.S_ISREG(mode) else "it is no ordinary file"


def _missing(folder: Path, name: str) -> str | None:
    """Why a folder has no entry of exactly that name; None where it has.

    The system's own answer would not do: where it ignores case or Unicode's normal forms, it
    opens a file under names that nobody has listed, ignored or indexed.
    """
    try:
        with os.scandir(folder) as entries:
            alike = ""
            for entry in entries:
                if entry.name == name:
                    return None
                if _folded(entry.name) == _folded(name):
                    alike = entry.name
    except OSError:
        return ""
    return f"there is {_shown(alike)}, which is written differently; name that" if alike else ""


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _shown(name: str) -> str:
    """A name for a message: short, and on one line."""
    return f"'{one_line(name, NAME_CHARACTERS_SHOWN)}'"
