"""How files are called in the index: valid text, whatever bytes the file system holds."""

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They make a name read as another one."""

UNSHOWN_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})
"""Control characters and line ends: a name must stay on its line."""


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
