"""What users look at of their conversations: a list, what was said, what was done; and deleting."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

from starlette.requests import Request

from config.schema import AgentProfile
from config.settings import SettingsError
from core.base.frozen import frozen
from core.base.memory.exchanges import dated_exchanges, title_of
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import UsageError
from core.turn import MemoryItem
from core.values import JsonObject
from modules.service.http.endpoints.shapes import (
    Chat,
    ChatList,
    ChatsQuery,
    History,
    Message,
    OfAnyProfile,
    RenameRequest,
    queried,
    sent,
)
from modules.service.http.endpoints.table import Answered, Endpoint, Service
from modules.service.http.guard import user_of
from modules.service.http.problems import Refused
from modules.service.pool import AgentPool, ConversationBusy, User
from modules.session.kept import KeptSessions
from modules.trace.spans import TraceDocument, runs_of, trace_document


@Endpoint("GET", "/chats", query=ChatsQuery, answer=ChatList)
async def _chats(service: Service, request: Request) -> Answered:
    """Your conversations, those that were used last first."""
    asked = queried(request, ChatsQuery)
    shelves = _shelves(service.pool, user_of(request))
    redactor = service.pool.setting.redactor
    return await asyncio.to_thread(_listed, shelves, asked.limit, asked.before, redactor)


@Endpoint(
    "GET", "/chat/{id:path}/history", query=OfAnyProfile, answer=History, problems=("not-found",)
)
async def _history(service: Service, request: Request) -> Answered:
    """What was said in a conversation, and the run that goes on in it."""
    id_, running = _id(request), _running(service, request)
    try:
        shelf = await _found(service, request)
        found = await asyncio.to_thread(_told, shelf, id_, service.pool.setting.redactor)
    except Refused:
        if running is None:
            raise
        found = History(id=id_, title="", profile="", messages=[], run=None)
    return {**found, "run": running}


@Endpoint(
    "GET",
    "/chat/{id:path}/trace",
    query=OfAnyProfile,
    answer=TraceDocument,
    problems=("not-found",),
)
async def _trace(service: Service, request: Request) -> Answered:
    """What was done in a conversation: the document of `agent.py trace --json`."""
    shelf, redactor = await _found(service, request), service.pool.setting.redactor
    return await asyncio.to_thread(_traced, shelf, _id(request), redactor)


@Endpoint(
    "PATCH",
    "/chat/{id:path}",
    query=OfAnyProfile,
    body=RenameRequest,
    status=204,
    problems=("not-found",),
)
async def _rename(service: Service, request: Request) -> Answered:
    """Gives a conversation a title; its id stays."""
    given, shelf = await sent(request, RenameRequest), await _found(service, request)
    redactor = service.pool.setting.redactor
    await asyncio.to_thread(shelf.kept.rename, _id(request), given.name, redactor)


@Endpoint(
    "DELETE",
    "/chat/{id:path}",
    query=OfAnyProfile,
    status=204,
    problems=("not-found", "conversation-busy"),
)
async def _delete(service: Service, request: Request) -> Answered:
    """Deletes a conversation for good."""
    if (run := _running(service, request)) is not None:
        raise ConversationBusy(f"the run {run} goes on in it; cancel that first")
    id_, shelf = _id(request), await _found(service, request)
    await service.pool.close_conversation(user_of(request), shelf.name, id_)
    await asyncio.to_thread(shelf.kept.delete, id_)


ENDPOINTS = (_chats, _history, _trace, _rename, _delete)


@frozen
class _Shelf:
    """The conversations of one profile."""

    name: str
    profile: AgentProfile
    kept: KeptSessions


def _id(request: Request) -> str:
    """The conversation that the path names; ids have slashes."""
    id_: str = request.path_params["id"]
    return id_


def _running(service: Service, request: Request) -> str | None:
    """The run that goes on in the conversation."""
    own, id_ = service.runs.active_of(user_of(request)), _id(request)
    return next((run.id for run in own if run.conversation_id == id_), None)


async def _found(service: Service, request: Request) -> _Shelf:
    """Where the conversation is kept.

    Raises:
        Refused: nowhere, as far as the user may look.
    """
    named = queried(request, OfAnyProfile).profile
    shelves = _shelves(service.pool, user_of(request), named)
    return await asyncio.to_thread(_holding, shelves, _id(request))


def _shelves(pool: AgentPool, user: User, named: str = "") -> Iterator[_Shelf]:
    """Those of one profile, else of all that the user may use; reads files."""
    home = pool.home(user)
    for name in [named] if named else pool.profiles_of(user):
        with suppress(SettingsError):  # `/profiles` says what is wrong with it
            profile = pool.profile(user, name)
            yield _Shelf(name, profile, KeptSessions(profile, home, _tell_nobody))


def _holding(shelves: Iterator[_Shelf], id_: str) -> _Shelf:
    for shelf in shelves:
        try:
            if shelf.kept.path(id_).is_file():
                return shelf
        except UsageError:  # it is no id
            break
    raise Refused("not-found", "you have no conversation of that id")


def _listed(shelves: Iterator[_Shelf], limit: int, before: float, redactor: Redactor) -> ChatList:
    """So many that were last used before a time; profiles may share a folder."""
    found: list[tuple[float, str, _Shelf]] = []
    for shelf in {each.kept.folder: each for each in reversed([*shelves])}.values():
        for id_ in shelf.kept.ids():
            with suppress(OSError):  # it was deleted just now
                found.append((shelf.kept.path(id_).stat().st_mtime, id_, shelf))
    found.sort(key=lambda each: each[:2], reverse=True)
    left = [each for each in found if each[0] < before]
    chats = [
        Chat(
            id=told.session_id,
            title=redactor.text(one_line(told.title or told.first_request, 200)),
            last_used=told.last_used,
            requests=told.requests,
            profile=shelf.name,
        )
        for _, id_, shelf in left[:limit]
        for told in shelf.kept.summaries([id_])
    ]
    more = len(left) > limit > 0
    return {"chats": chats, "before": left[limit - 1][0] if more else None}


def _told(shelf: _Shelf, id_: str, redactor: Redactor) -> History:
    """A conversation, message by message."""
    items = shelf.kept.items(id_)
    messages = [*_messages(items, redactor)]
    first = messages[0]["content"] if messages else ""
    return {
        "id": id_,
        "title": redactor.text(one_line(title_of(items) or first, 200)),
        "profile": shelf.name,
        "messages": messages,
        "run": None,
    }


def _traced(shelf: _Shelf, id_: str, redactor: Redactor) -> JsonObject:
    """The document of its trace."""
    items = shelf.kept.items(id_)
    redactor.mask(shelf.profile.memory.mask)
    title = redactor.text(one_line(title_of(items) or id_))
    return trace_document(id_, title, runs_of(items), redactor)


def _messages(items: list[MemoryItem], redactor: Redactor) -> Iterator[Message]:
    """Answers stand as they are: a figure in one may look like a secret."""
    for each in dated_exchanges(items, with_undone=True):
        at, undone = each.asked_at, each.undone
        asked = redactor.text(each.request)
        yield Message(role="user", content=asked, at=at, undone=undone, grounded=True)
        if each.answer is not None:
            yield Message(
                role="assistant",
                content=each.answer,
                at=at,
                undone=undone,
                grounded=each.grounded,
            )


def _tell_nobody(stage: str, text: str) -> None:
    """A damaged file is told of where it is read to go on."""
