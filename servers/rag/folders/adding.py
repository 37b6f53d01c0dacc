"""Copies files into a document folder; nothing that is there is ever overwritten.

A copy is written beside its place under a hidden name and then given its own, which fails where
somebody was quicker. An interrupted copy leaves nothing that would be indexed.
"""

import errno
import filecmp
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from core.base.files import PRIVATE_FILE_MODE, make_private_folder
from core.base.frozen import frozen
from servers.rag.errors import Refused

COPIES_MAX = 200_000
"""How many files one command copies."""

_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

State: TypeAlias = Literal["added", "there", "refused"]


@frozen
class Added:
    """What became of one file; `target` is where it lies or was to lie."""

    source: Path
    target: Path
    state: State
    reason: str = ""


def add_files(folder: Path, sources: Sequence[Path]) -> Iterator[Added]:
    """Copy each source, a folder with all in it, into `folder`, which is made if need be.

    Hidden files of a folder, and links in it, are passed over.

    Raises:
        Refused: a source isn't there, or the folder can't be made; nothing was copied then.
    """
    for source in sources:
        _check(folder, source)
    try:
        make_private_folder(folder)
    except OSError as error:
        raise Refused(f"{folder} can't be made: {error.strerror or error}") from error
    copies = 0
    for source in sources:
        for file, below in _files(source):
            copies += 1
            if copies > COPIES_MAX:
                raise Refused(f"{source} holds more than {COPIES_MAX:,} files; add parts of it")
            yield _copy(file, folder / below)


def _check(folder: Path, source: Path) -> None:
    try:
        real, mode = source.resolve(strict=True), source.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        raise Refused(f"{source} is not there, or can't be looked at") from None
    if stat.S_ISDIR(mode) and folder.resolve().is_relative_to(real):
        raise Refused(f"{source} holds the document folder itself")
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise Refused(f"{source} is no ordinary file")


def _files(source: Path) -> Iterator[tuple[Path, Path]]:
    """Each file of a source, and its path below the document folder."""
    if not source.is_dir():
        yield source, Path(source.name)
        return
    top = source.resolve()
    for folder, names, files in os.walk(top):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder) / name
            if not name.startswith(".") and not file.is_symlink() and file.is_file():
                yield file, Path(top.name) / file.relative_to(top)


def _copy(source: Path, target: Path) -> Added:
    draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        if target.exists() or target.is_symlink():
            return _taken(source, target)
        make_private_folder(target.parent)
        try:
            shutil.copy2(source, draft)
            draft.chmod(PRIVATE_FILE_MODE)
            _name(draft, target)
        except FileExistsError:
            return _taken(source, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        return Added(source, target, "refused", error.strerror or str(error))
    return Added(source, target, "added")


def _name(draft: Path, target: Path) -> None:
    """Give the copy its name, unless that is taken.

    Raises:
        FileExistsError: it is.
    """
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        with target.open("xb"):  # no hard links here (exFAT, some network drives)
            draft.replace(target)


def _taken(source: Path, target: Path) -> Added:
    """The name is taken: by the same file, or by another one, which stays."""
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return Added(source, target, "there")
    reason = "another file has this name already; rename one of them"
    return Added(source, target, "refused", reason)
