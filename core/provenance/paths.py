"""Paths in arguments and in the user's words, compared without a look at the disk.

Dot segments are resolved in the text (links of files are not), `~` is the user's home, a `file:`
URL is its path, and Windows' separators count as ours.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from core.base.text import lazy_pattern
from core.provenance.origins import places_of

PATH_CHARACTERS_MAX: Final = 4_096
"""A longer path is never known (PATH_MAX of Linux)."""

ANCESTORS_MAX: Final = 64
"""How many folders above a path are looked for."""

_FILE_URL = lazy_pattern(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")
_HOME = lazy_pattern(r"~[\w.-]{0,64}[\\/]")
_VARIABLE = lazy_pattern(r"\$\{?\w{1,64}\}?[\\/]|%\w{1,64}%[\\/]")
_UPWARDS = lazy_pattern(r"(?:^|[\\/])\.\.(?:[\\/]|$)")
_EXTENSION = lazy_pattern(r"\.[A-Za-z][A-Za-z0-9]{0,9}$|\.(?:7z|3gp|mp[34])$")
_TOKEN = lazy_pattern(r"[^\s\"'`;|&<>(){},=]+")
_FOLDER_AFTER = lazy_pattern(r"\s{1,3}(?:folder|directory|dir)\b", re.IGNORECASE)
_FOLDER_BEFORE = lazy_pattern(r"\b(?:folder|directory|dir)\s{1,3}[\"'`]?$", re.IGNORECASE)
_GROUNDS_NOTHING: Final = frozenset({"", "/", "//", ".", "..", "~"})
"""Named in passing, these would open everything below them."""

_CLOSES: Final = ".,;:!?)]}>*"


def is_rooted(text: str) -> bool:
    """Whether it says from where it starts: an absolute path, one of a home, or one upwards."""
    return bool(
        (text[:1] == "/" and text[1:2] != "/" and len(text) > 1)
        or text[:2] in ("./", ".\\")
        or text[:2] == "\\\\"
        or text[:5].lower() == "file:"
        or _DRIVE.match(text)
        or _HOME.match(text)
        or _VARIABLE.match(text)
        or _UPWARDS.search(text)
    )


def has_separators(text: str) -> bool:
    """Whether it has parts, and no white space beside the marks between them."""
    return ("/" in text or "\\" in text) and len(text.strip("/\\")) > 0


def looks_like_file(text: str) -> bool:
    """Whether the last part has an extension, as file names have."""
    return _EXTENSION.search(text) is not None and "\n" not in text


def rooted_in(text: str) -> Iterator[str]:
    """The paths within a longer text, a command say; a single `/word` is none in prose."""
    for found in _TOKEN.finditer(text):
        token = found[0].rstrip(_CLOSES) if not found[0].endswith("..") else found[0]
        for part in (token, token.partition(":")[2]):
            if part and is_rooted(part) and "://" not in part:
                yield part


def is_deep(path: str) -> bool:
    """Whether a path has more than one part: `/help` is a command in many places."""
    return not path.startswith("/") or "/" in path.strip("/") or looks_like_file(path)


def normal(path: str, home: str = "") -> str:
    """The path in its form for comparisons."""
    text = path.strip().strip("\"'`")
    if text[:5].lower() == "file:":
        text = unquote(_FILE_URL.sub("", text, count=1))
    text = text.replace("\\", "/")
    if home and (text == "~" or text.startswith("~/")):
        text = f"{home.rstrip('/')}{text[1:]}"
    if not text:
        return ""
    clean = posixpath.normpath(text)
    return clean[1:] if clean.startswith("//") and not text.startswith("//") else clean


def candidates(path: str, home: str = "") -> Iterator[str]:
    """The forms of which each must be known: as it is, and with percent-encoding taken off."""
    yield normal(path, home)
    if "%" in path and (plain := unquote(unquote(path))) != path:
        yield normal(plain, home)


def with_ancestors(path: str) -> Iterator[str]:
    """The path, then the folders above it; none above one that leads upwards from somewhere."""
    yield path
    if path.startswith("../") or path == "..":
        return
    for _ in range(ANCESTORS_MAX):
        path = posixpath.dirname(path)
        if path in _GROUNDS_NOTHING:
            return
        yield path


def joined(folder: str, name: str, home: str = "") -> str:
    """A name below a folder, in its form for comparisons."""
    return normal(f"{folder.rstrip('/')}/{name}", home)


def is_named(path: str, text: str, home: str = "") -> bool:
    """Whether a text names the path (in its normal form), or a folder above it.

    A folder of one word must be said to be one: "the docs" are not the folder `docs`.
    """
    if len(path) > PATH_CHARACTERS_MAX:
        return False
    return any(
        each == path or {*form} & {*"/\\"} or _is_said_folder(text, start, end)
        for each in with_ancestors(path)
        for form in _forms(each, home)
        for start, end in places_of(form, text)
    )


def forms(path: str, home: str, folder: str) -> Iterator[str]:
    """A path from the root, from the home folder, and from the `folder` that calls begin in."""
    plain = normal(path, home)
    if folder and not plain.startswith("/"):
        yield plain
        plain = joined(folder, plain, home)
    yield from _forms(plain, home)
    if folder and plain.startswith(f"{folder.rstrip('/')}/"):
        yield plain[len(folder.rstrip("/")) + 1 :]


def _forms(path: str, home: str) -> Iterator[str]:
    """The ways in which people write a path."""
    yield path
    if home and path.startswith(f"{home.rstrip('/')}/"):
        yield f"~{path[len(home.rstrip('/')) :]}"
    elif not path.startswith(("/", "~")):
        yield f"./{path}"
    if "/" in path:
        yield path.replace("/", "\\")


def _is_said_folder(text: str, start: int, end: int) -> bool:
    return (
        text[end : end + 1] in ("/", "\\")
        or _FOLDER_AFTER.match(text, end) is not None
        or _FOLDER_BEFORE.search(text, max(0, start - 20), start) is not None
    )
