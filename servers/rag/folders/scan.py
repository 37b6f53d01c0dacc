"""What lies in the document folders now: names, sizes and times, no content.

Nothing is opened, so a folder of thousands is looked through within a fraction of a second.
Links are not followed: what they lead to inside the folders is found under its own name, and
what lies outside is none of ours.
"""

import fnmatch
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from core.base.frozen import frozen

BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They make a name read as another one."""

UNSHOWN_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})
"""Control characters and line ends: a name must stay on its line."""

JUNK = (
    ".*",  # hidden: of programs, not of people
    "~$*",  # what Office locks a document with
    "*~",
    "*.tmp",
    "*.part",
    "*.crdownload",
    "Thumbs.db",
    "desktop.ini",
    "__MACOSX/",
    "__pycache__/",
    "node_modules/",
)
"""Passed over by default; a pattern `!…` in the profile takes some in again."""

NOTES_MAX = 20
"""Lines of one scan for the status; a broken disk would fill it otherwise."""


class IgnoreRules:
    """The junk that everybody has, then the profile's patterns; the last that matches decides.

    Matched by `pathspec`: such patterns have corners (`**`, `!`, a slash at either end, spaces) in
    which rules of our own would differ from what people know. As in Git, nothing below an ignored
    folder can be taken in again.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec = GitIgnoreSpec.from_lines((*JUNK, *patterns))
        # Asking pathspec is most of the work of a scan; without patterns of one's own only names
        # that look like junk are worth the question.
        names = (fnmatch.translate(pattern.rstrip("/")) for pattern in JUNK)
        self._suspect = re.compile("" if patterns else "|".join(names))

    def ignores(self, relative: str, *, is_folder: bool) -> bool:
        """Whether a path, given from its document folder on with `/`, is passed over."""
        if not self._suspect.match(relative[relative.rfind("/") + 1 :]):
            return False
        return self._spec.match_file(f"{relative}/" if is_folder else relative)


@frozen
class FoundFile:
    """A file in a document folder.

    `file` is its name in the index, `path` the path as the system has it (it may hold bytes that
    are no text). `refusal` says why it is not read; empty for one that is.
    """

    file: str
    path: str
    size_bytes: int
    modified_ns: int
    refusal: str = ""


@dataclass(slots=True)
class Scan:
    """What was found, by name.

    `unread` are beginnings of names: a folder that could not be looked into, whose documents are
    left as the index has them. `notes` are lines for the status.
    """

    files: dict[str, FoundFile] = field(default_factory=dict[str, FoundFile])
    unread: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    def note(self, line: str) -> None:
        """Keep a line for the status, if there are not too many already."""
        if len(self.notes) < NOTES_MAX:
            self.notes.append(line)

    def leaves_open(self, file: str) -> bool:
        """Whether nothing can be said of a file that was not found."""
        return any(file.startswith(beginning) for beginning in self.unread)


@frozen
class Bounds:
    """How much is taken in: bytes of one file, and files in all."""

    file_bytes: int
    files: int


def scan(
    folders: Sequence[Path], rules: IgnoreRules, bounds: Bounds, own: Sequence[Path] = ()
) -> Scan:
    """Look through all folders, in the order of names, so that each run sees the same.

    `own` are folders of ours (the index), passed over wherever they lie.
    """
    found = Scan()
    labels = folder_labels(folders)
    apart = {os.path.realpath(path) for path in own}
    for root, label in labels.items():
        walk = _Walk(root, label, tuple(labels), rules, apart, found, bounds.file_bytes)
        for file in walk.files():
            if len(found.files) >= bounds.files:
                found.note(
                    f"there are more than {bounds.files:,} files; the rest is left out "
                    f"(ignore some, or raise `files` in the profile's documents section)"
                )
                return found
            if file.file in found.files:
                found.note(f"{file.file}: two files go by this name; one is left out")
            else:
                found.files[file.file] = file
    return found


@frozen
class Look:
    """What became of some files: those that are there, and the names of those that are not."""

    found: Scan
    missing: tuple[str, ...]


def look_at(paths: Collection[str], folders: Sequence[Path], bounds: Bounds) -> Look | None:
    """Look at single files that are not to be ignored, instead of at all of them.

    None if that does not do, and everything has to be looked through: one is a folder, or is
    reached through a link.
    """
    look, missing = Scan(), list[str]()
    labels, rules = folder_labels(folders), IgnoreRules(())
    for path in paths:
        root = next((root for root in labels if is_inside(path, root)), None)
        parent = os.path.dirname(path)  # noqa: PTH120 - paths are kept as the system gives them
        if root is None or path == root or os.path.realpath(parent) != parent:
            return None
        relative = path[len(root) :].lstrip(os.sep)
        walk = _Walk(root, labels[root], tuple(labels), rules, set(), look, bounds.file_bytes)
        try:
            about = os.lstat(path)
        except OSError:
            missing.append(shown(labels[root] + relative))
            continue
        if stat.S_ISDIR(about.st_mode):
            return None
        file = walk.file(path, relative, about)
        if file is not None:
            look.files[file.file] = file
    return Look(look, tuple(missing))


@dataclass(slots=True)
class _Walk:
    """One document folder being looked through."""

    root: str
    label: str
    roots: tuple[str, ...]
    rules: IgnoreRules
    apart: set[str]
    found: Scan
    bytes_max: int

    def files(self) -> Iterator[FoundFile]:
        """Each file with what is known of it from outside."""
        waiting = [""]
        while waiting:
            within = waiting.pop()
            folders: list[str] = []
            for entry in self._entries(within):
                relative = within + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if self._is_wanted(entry, relative):
                        folders.append(f"{relative}/")
                elif not self.rules.ignores(relative, is_folder=False):
                    file = self._looked_at(entry, relative)
                    if file is not None:
                        yield file
            waiting.extend(reversed(folders))

    def _entries(self, within: str) -> list[os.DirEntry[str]]:
        """What a folder holds; a folder that can't be read is noted."""
        folder = os.path.join(self.root, within)  # noqa: PTH118 - Path drops the cheap DirEntry way
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if within and isinstance(error, FileNotFoundError):
                return []  # gone since its parent was read
            self.found.unread.append(shown(self.label + within))
            is_there = not isinstance(error, FileNotFoundError)
            what = f"can't be read ({_reason(error)})" if is_there else "is not there"
            known = "documents that were read from it before are kept"
            self.found.note(f"the folder {shown(folder)} {what}; {known}")
            return []

    def _is_wanted(self, entry: os.DirEntry[str], relative: str) -> bool:
        return not self.rules.ignores(relative, is_folder=True) and entry.path not in self.apart

    def _looked_at(self, entry: os.DirEntry[str], relative: str) -> FoundFile | None:
        """A file with size and times; None if it is gone, or a link to another one of ours."""
        try:
            about = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._refused(entry.path, relative, f"can't be looked at: {_reason(error)}")
        return self.file(entry.path, relative, about)

    def file(self, path: str, relative: str, about: os.stat_result) -> FoundFile | None:
        """A file that was looked at; None if it is a link to another one of ours."""
        if stat.S_ISLNK(about.st_mode):
            target = os.path.realpath(path)
            if any(is_inside(target, root) for root in self.roots):
                return None
            return self._refused(path, relative, "a link out of the document folders")
        return FoundFile(
            shown(self.label + relative),
            path,
            about.st_size,
            about.st_mtime_ns,
            _refusal(about, self.bytes_max),
        )

    def _refused(self, path: str, relative: str, reason: str) -> FoundFile:
        return FoundFile(shown(self.label + relative), path, 0, 0, reason)


def shown(name: str) -> str:
    r"""A name or path as text: bytes that aren't UTF-8 and control characters become `\xe9`."""
    if name.isascii() and name.isprintable():
        return name
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(_escaped(c) if _is_unshown(c) else c for c in text)


def folder_labels(folders: Sequence[Path]) -> dict[str, str]:
    """What stands before the files of each folder, by the folder's real path.

    Nothing for a single folder; else its name and `/`, numbered where two share a name
    (`docs/`, `docs-2/`). A folder that lies in another one is left out, and so is a second
    mention: its files are found by the other.
    """
    given: dict[str, Path] = {}
    for folder in folders:
        given.setdefault(os.path.realpath(folder), folder)
    outer = [path for path in given if not any(_is_below(path, other) for other in given)]
    if len(outer) == 1:
        return {outer[0]: ""}
    labels: dict[str, str] = {}
    for path in outer:
        name = shown(given[path].name or Path(path).name or "root")
        labels[path] = _free(name, set(labels.values()))
    return labels


def is_inside(path: str, folder: str) -> bool:
    """Whether a real path is a folder or lies below it; `/docs-secret` doesn't in `/docs`."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_below(path: str, folder: str) -> bool:
    return path != folder and is_inside(path, folder)


def _free(name: str, taken: set[str]) -> str:
    """`name/`, or the first `name-2/` that is free."""
    label, count = f"{name}/", 1
    while label in taken:
        count += 1
        label = f"{name}-{count}/"
    return label


def _is_unshown(character: str) -> bool:
    return character in BIDI_CONTROLS or unicodedata.category(character) in UNSHOWN_CATEGORIES


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _refusal(about: os.stat_result, bytes_max: int) -> str:
    """Why a file is not read, if it isn't."""
    if not stat.S_ISREG(about.st_mode):
        return "not a file but a pipe, socket or device"
    if about.st_size > bytes_max:
        return (
            f"{about.st_size / 1e6:,.0f} MB is more than the {bytes_max / 1e6:,.0f} MB that one "
            f"document may have"
        )
    return ""


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
