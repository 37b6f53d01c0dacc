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
from starlette.responses import JSONResponse

from config.server_list import is_documents_server
from config.settings import SettingsError
from core.base.files import PRIVATE_FILE_MODE, make_private_folder
from core.base.text import has_hidden
from core.errors import UserError
from modules.service.agents import Agent, AgentSetting
from modules.service.http.endpoints.shapes import (
    Document,
    DocumentList,
    OfProfile,
    PutQuery,
    queried,
)
from modules.service.http.endpoints.table import Answered, Endpoint, Service
from modules.service.http.guard import profile_of, user_of
from modules.service.http.problems import Refused
from modules.service.pool import Busy, User
from servers.rag.index.reader import read_documents
from servers.rag.passages import DocumentEntry

NAME_BYTES_MAX: Final = 200
"""Longer names of files are refused; file systems take 255."""

LISTED_MAX: Final = 2_000
"""So many files are listed."""

DRAFT: Final = ".upload-"
"""How the names begin of files that are on their way; hidden ones are not indexed."""

DRAFT_SECONDS: Final = 24 * 3_600.0
"""An older one was left by a process that was killed, and goes with the next upload."""

INDEXING_SECONDS: Final = 3.0
"""So long an upload waits for the index to say whether the document can be read."""

LOOK_SECONDS: Final = 0.05

NOT_YET: Final = "the documents server has not read it yet"

NO_SERVER: Final = "the profile has no documents server that would index it"

NO_TEXT: Final = "it holds no text"


@Endpoint("GET", "/documents", query=OfProfile, answer=DocumentList)
async def _documents(service: Service, request: Request) -> Answered:
    """The files that the agent may read, and whether they can be searched."""
    agent = await service.pool.shown(user_of(request), profile_of(request))
    return await asyncio.to_thread(_listed, agent)


@Endpoint(
    "PUT",
    "/documents/{name}",
    query=PutQuery,
    body=bytes,
    answer=Document,
    status=201,
    problems=("conflict", "forbidden"),
)
async def _put(service: Service, request: Request) -> Answered:
    """Keeps the body as a document of that name; the documents server indexes it.

    200 where it replaced one. The answer says whether it can be read, if that shows within
    3 seconds.
    """
    name = checked_name(request.path_params["name"])
    is_replacing = queried(request, PutQuery).replace
    user, profile = user_of(request), profile_of(request)
    agent = await service.pool.shown(user, profile)
    folder = await asyncio.to_thread(_own_folder, user, agent.setting)
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
    if _indexers(agent):
        # Nobody waits for a server that fails: the document is kept, and a request tells it.
        with suppress(TimeoutError, Busy, SettingsError, UserError):
            async with asyncio.timeout(INDEXING_SECONDS):
                await _read(service, user, profile, place)
    found = await asyncio.to_thread(_document, place, folder, _Index(agent))
    return JSONResponse(found, 201 if is_new else 200)


ENDPOINTS = (_documents, _put)


async def _read(service: Service, user: User, profile: str, place: Path) -> None:
    """Start the documents server, as a request would, and wait until it has read a document."""
    async with service.pool.agent(user, profile) as agent:
        await agent.dispatcher.start(_indexers(agent))
        while not await asyncio.to_thread(_is_read, agent, place):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(LOOK_SECONDS)


def _is_read(agent: Agent, place: Path) -> bool:
    return _Index(agent).entry(place, place.stat()) is not None


def _indexers(agent: Agent) -> list[str]:
    """The servers that index its documents: one, unless nobody does."""
    root = agent.setting.places.root
    specs = agent.servers.specs
    return [spec.id for spec in specs if is_documents_server(spec, root) and spec.problem is None]


class _Index:
    """What the index knows of documents just now; reads its file."""

    def __init__(self, agent: Agent) -> None:
        self.why_not = NOT_YET if _indexers(agent) else NO_SERVER
        folder = agent.setting.profile.index_folder(agent.setting.places.home)
        self._entries = {each.path: each for each in read_documents(folder)}

    def entry(self, path: Path, status: os.stat_result) -> DocumentEntry | None:
        """What it knows of a file as that is now."""
        found = self._entries.get(os.path.realpath(path))
        now = status.st_size, status.st_mtime_ns
        return found if found and (found.size_bytes, found.modified_ns) == now else None


def _listed(agent: Agent) -> DocumentList:
    found: list[Document] = []
    index, setting = _Index(agent), agent.setting
    for folder in setting.profile.document_folders(setting.places.home):
        for path in islice(_files(folder), LISTED_MAX + 1 - len(found)):
            with suppress(OSError):  # it is gone
                found.append(_document(path, folder, index))
    shown = sorted(found[:LISTED_MAX], key=lambda each: each["name"])
    return {"documents": shown, "is_cut": len(found) > LISTED_MAX}


def _document(path: Path, folder: Path, index: _Index) -> Document:
    status = path.stat()
    entry = index.entry(path, status)
    state, why = "waiting", index.why_not
    if entry is not None:
        state = "indexed" if entry.status == "indexed" else "unreadable"
        why = entry.note or (NO_TEXT if entry.status == "empty" else None)
    return {
        "name": str(path.relative_to(folder)),
        "size_bytes": status.st_size,
        "modified": status.st_mtime,
        "state": state,
        "why": why,
    }


def _own_folder(user: User, setting: AgentSetting) -> Path:
    """The folder that documents are put into.

    Raises:
        Refused: it is not the user's alone.
    """
    home = setting.places.home
    folder = setting.profile.document_folders(home)[0]
    if user.name and not folder.resolve().is_relative_to(home.resolve()):
        raise Refused("forbidden", "the folder of documents is shared by users; ask its owner")
    make_private_folder(folder)
    return folder


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
