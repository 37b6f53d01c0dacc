"""What stands around a line that is typed: what it could become, and the line below it."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from core.base.frozen import frozen

FILES_PROPOSED: Final = 100
"""So many entries of a folder are proposed."""

FILES_LOOKED_AT: Final = 5_000
"""So many entries of a folder are looked at; nobody types on while more are."""


@frozen
class Candidate:
    """What could stand at the cursor, and a word on it."""

    text: str
    told: str = ""


@frozen
class Part:
    """A word of the line below; where there is no room for all, those of high `rank` go first."""

    text: str
    rank: int


Candidates: TypeAlias = Callable[[str], tuple[int, list[Candidate]]]
"""What could stand at the end of a text, and how many of its characters that replaces."""


def attached_word(text: str) -> str | None:
    """The `@path` that a text ends in, as it is written so far; None where there is none."""
    quote = text.rfind('@"')
    if quote >= 0 and '"' not in text[quote + 2 :] and "\n" not in text[quote:]:
        return text[quote:]
    word = text[max(text.rfind(" "), text.rfind("\n"), text.rfind("\t")) + 1 :]
    return word if word.startswith("@") else None


def path_candidates(word: str, folder: Path) -> list[Candidate]:
    """The files and folders that `@path` may become; relative ones lie in `folder`.

    Those whose name has in its midst what was begun come behind those that begin so.
    """
    path = word.removeprefix("@").removeprefix('"')
    parent, slash, begun = path.rpartition("/")
    with suppress(OSError, ValueError, RuntimeError):
        where = folder / Path(f"{parent}{slash}").expanduser()
        entries = sorted(
            _entries(where, begun),
            key=lambda entry: (not entry[0].lower().startswith(begun.lower()), entry[0].lower()),
        )
        return [
            _candidate(f"{parent}{slash}{name}", is_folder=is_folder)
            for name, is_folder in entries[:FILES_PROPOSED]
        ]
    return []


def _entries(folder: Path, begun: str) -> Iterator[tuple[str, bool]]:
    """Names in a folder that have this in them, and whether each is a folder.

    Hidden ones are named where it begins as they do.
    """
    with os.scandir(folder) as found:
        for _, entry in zip(range(FILES_LOOKED_AT), found, strict=False):
            if begun.lower() in entry.name.lower() and (
                begun.startswith(".") or not entry.name.startswith(".")
            ):
                yield entry.name, entry.is_dir()


def _candidate(path: str, *, is_folder: bool) -> Candidate:
    """A folder's name ends in a slash, so that one can go on; quotes go round white space."""
    has_space = any(map(str.isspace, path))
    if is_folder:
        return Candidate(f'@"{path}/' if has_space else f"@{path}/", "folder")
    return Candidate(f'@"{path}"' if has_space else f"@{path}")
