"""Documents of a user: listed, and put into the first folder that the documents server reads.

The server watches that folder, and indexes what comes. A file is written beside the others and
renamed when it is whole, so that nobody reads half of one, and a broken upload leaves nothing.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from core.base.files import PRIVATE_FILE_MODE, make_private_folder
from core.base.text import has_hidden
from modules.service.http.endpoints.shapes import Document, DocumentList
from modules.service.http.guard import profile_of, user_of
from modules.service.http.problems import Refused
from modules.service.pool import AgentPool, User

NAME_BYTES_MAX: Final = 200
"""Longer names of files are refused; file systems take 255."""

LISTED_MAX: Final = 2_000
"""So many files are listed."""

DRAFT: Final = ".upload-"
"""How the names begin of files that are on their way; hidden ones are not indexed."""

DRAFT_SECONDS: Final = 24 * 3_600.0
"""An older one was left by a process that was killed, and goes with the next upload."""


class DocumentsEndpoints:
    """The files that the agent may read."""

    def __init__(self, pool: AgentPool) -> None:
        self._pool = pool

    async def documents(self, request: Request) -> Response:
        """The user's files."""
        return JSONResponse(await asyncio.to_thread(self._listed, *_who(request)))

    async def put(self, request: Request) -> Response:
        """Keep the body as a document: 201, or 200 where `?replace=true` replaced one."""
        name = checked_name(request.path_params["name"])
        folder = await asyncio.to_thread(self._folder, *_who(request))
        is_replacing = request.query_params.get("replace", "").lower() in ("true", "1", "yes")
        place = folder / name
        if not is_replacing and await asyncio.to_thread(os.path.lexists, place):
            raise _taken(name)
        draft = await asyncio.to_thread(_draft, folder)
        try:
            with draft.open("wb") as file:
                async for chunk in request.stream():
                    await asyncio.to_thread(file.write, chunk)
            is_new = await asyncio.to_thread(_moved, draft, place, is_replacing=is_replacing)
        finally:
            draft.unlink(missing_ok=True)
        found = await asyncio.to_thread(_document, place, folder)
        return JSONResponse(found, 201 if is_new else 200)

    def _listed(self, user: User, profile: str) -> DocumentList:
        setting = self._pool.setting_of(user, profile)
        found: list[Document] = []
        for folder in setting.profile.document_folders(setting.places.home):
            for path in islice(_files(folder), LISTED_MAX + 1 - len(found)):
                with suppress(OSError):  # it is gone
                    found.append(_document(path, folder))
        shown = sorted(found[:LISTED_MAX], key=lambda each: each["name"])
        return {"documents": shown, "is_cut": len(found) > LISTED_MAX}

    def _folder(self, user: User, profile: str) -> Path:
        """The folder that documents are put into.

        Raises:
            Refused: it is not the user's alone.
        """
        setting = self._pool.setting_of(user, profile)
        home = setting.places.home
        folder = setting.profile.document_folders(home)[0]
        if user.name and not folder.resolve().is_relative_to(home.resolve()):
            raise Refused("forbidden", "the folder of documents is shared by users; ask its owner")
        make_private_folder(folder)
        return folder


def _who(request: Request) -> tuple[User, str]:
    return user_of(request), profile_of(request)


def checked_name(name: str) -> str:
    """The name of a file, without a way to another folder.

    Raises:
        Refused: it is no plain name.
    """
    told = "give a plain file name, such as notes.md: no path, no dot in front, no control"
    is_plain = name.isprintable() and not has_hidden(name) and not {*r"\/"} & {*name}
    if not is_plain or not name.strip() or name.startswith(".") or name != name.strip():
        raise Refused("bad-request", told)
    if len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        raise Refused("bad-request", f"the name has more than {NAME_BYTES_MAX} bytes")
    return name


def _draft(folder: Path) -> Path:
    for left in folder.glob(f"{DRAFT}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > DRAFT_SECONDS:
                left.unlink()
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=DRAFT)
    os.close(descriptor)
    return Path(name)


def _moved(draft: Path, place: Path, *, is_replacing: bool) -> bool:
    """Put the whole file in its place; whether there was none.

    Raises:
        Refused: there is one, and it was not to be replaced.
    """
    draft.chmod(PRIVATE_FILE_MODE)
    if is_replacing:
        if place.is_dir() and not place.is_symlink():
            raise Refused("conflict", "a folder has that name; choose another")
        is_new = not os.path.lexists(place)
        draft.replace(place)
        return is_new
    try:
        os.link(draft, place)  # which, other than a rename, replaces nothing
    except FileExistsError:
        raise _taken(place.name) from None
    return True


def _taken(name: str) -> Refused:
    return Refused("conflict", f"there is a document {name}; ?replace=true replaces it")


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder that are not hidden; links to elsewhere are not followed."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(root, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path


def _document(path: Path, folder: Path) -> Document:
    state = path.stat()
    return {
        "name": str(path.relative_to(folder)),
        "size_bytes": state.st_size,
        "modified": state.st_mtime,
    }
