"""What users look at of their conversations: a list, what was said, what was done; and deleting."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from config.schema import AgentProfile, load_profile
from config.settings import SettingsError
from core.base.memory.exchanges import dated_exchanges, title_of
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import UsageError
from core.turn import MemoryItem
from core.values import JsonObject
from modules.service.http.endpoints.shapes import (
    Chat,
    ChatList,
    History,
    Message,
    number_of,
    whole_of,
)
from modules.service.http.guard import user_of
from modules.service.http.problems import Refused
from modules.service.pool import DEFAULT_PROFILE, AgentPool, ConversationBusy, User
from modules.service.served.runs import Runs
from modules.session.kept import KeptSessions
from modules.terminal.answer import SCHEMA_VERSION, plain_json
from modules.trace.spans import runs_of

CHATS_SHOWN: Final = 50
CHATS_MAX: Final = 500
TIME_MAX: Final = 1e11


class ChatsEndpoints:
    """Conversations that are kept."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def chats(self, request: Request) -> Response:
        """The user's conversations, of all profiles."""
        limit = whole_of(request, "limit", CHATS_SHOWN, CHATS_MAX)
        before = number_of(request, "before", TIME_MAX, TIME_MAX)
        shelf = _Shelf(self._runs.pool, user_of(request))
        return JSONResponse(await asyncio.to_thread(shelf.list, limit, before))

    async def history(self, request: Request) -> Response:
        """What was said in a conversation."""
        user, id_ = user_of(request), _id(request)
        shelf = _Shelf(self._runs.pool, user, _profile(request))
        running = self._running(user, id_)
        try:
            found = await asyncio.to_thread(shelf.history, id_)
        except Refused:
            if running is None:
                raise
            found = History(id=id_, title="", profile="", messages=[], run=None)
        return JSONResponse({**found, "run": running})

    async def trace(self, request: Request) -> Response:
        """What was done in a conversation, as `agent.py trace --json` prints it."""
        shelf = _Shelf(self._runs.pool, user_of(request), _profile(request))
        return JSONResponse(await asyncio.to_thread(shelf.trace, _id(request)))

    async def delete(self, request: Request) -> Response:
        """Delete a conversation for good; not while a run goes on in it."""
        user, id_ = user_of(request), _id(request)
        if (run := self._running(user, id_)) is not None:
            raise ConversationBusy(f"the run {run} goes on in it; cancel that first")
        shelf = _Shelf(self._runs.pool, user, _profile(request))
        profile = await asyncio.to_thread(shelf.profile_of, id_)
        await self._runs.pool.close_conversation(user, profile, id_)
        await asyncio.to_thread(shelf.delete, id_)
        return Response(None, 204)

    def _running(self, user: User, id_: str) -> str | None:
        """The run that goes on in a conversation."""
        own = self._runs.active_of(user)
        return next((run.id for run in own if run.conversation_id == id_), None)


def _id(request: Request) -> str:
    """The conversation that the path names; ids have slashes."""
    id_: str = request.path_params["id"]
    return id_


def _profile(request: Request) -> str | None:
    """The profile to look in; None for all. An empty name is none, as everywhere."""
    return request.query_params.get("profile") or None


class _Shelf:
    """The conversations of one user; reads files, so it belongs into a thread."""

    def __init__(self, pool: AgentPool, user: User, profile: str | None = None) -> None:
        """Of one profile, else of all that the user may use."""
        self._pool = pool
        self._user = user
        self._profile = profile
        self._home = user.home(pool.setting.shared.home)

    def list(self, limit: int, before: float) -> ChatList:
        """So many that were last used before a time."""
        found: list[tuple[float, str, str, KeptSessions]] = []
        for name, kept in self._kept():
            for id_ in kept.ids():
                with suppress(OSError):  # it was deleted just now
                    found.append((kept.path(id_).stat().st_mtime, id_, name, kept))
        found.sort(key=lambda each: each[:2], reverse=True)
        left = [each for each in found if each[0] < before]
        redact = self._pool.setting.redactor.text
        chats = [
            Chat(
                id=told.session_id,
                title=redact(one_line(told.title or told.first_request, 200)),
                last_used=told.last_used,
                requests=told.requests,
                profile=name,
            )
            for _, id_, name, kept in left[:limit]
            for told in kept.summaries([id_])
        ]
        more = len(left) > limit
        return {"chats": chats, "before": left[limit - 1][0] if more and limit else None}

    def history(self, id_: str) -> History:
        """A conversation, message by message."""
        name, _, kept = self._find(id_)
        items, redactor = kept.items(id_), self._pool.setting.redactor
        messages = [*_messages(items, redactor)]
        first = messages[0]["content"] if messages else ""
        return {
            "id": id_,
            "title": redactor.text(one_line(title_of(items) or first, 200)),
            "profile": name,
            "messages": messages,
            "run": None,
        }

    def trace(self, id_: str) -> JsonObject:
        """The document of its trace."""
        _, profile, kept = self._find(id_)
        items, redactor = kept.items(id_), self._pool.setting.redactor
        redactor.mask(profile.memory.mask)
        return {
            "type": "trace",
            "schema": SCHEMA_VERSION,
            "id": id_,
            "title": redactor.text(one_line(title_of(items) or id_)),
            "runs": redactor.json(plain_json(runs_of(items))),
        }

    def profile_of(self, id_: str) -> str:
        """The profile that a conversation belongs to."""
        return self._find(id_)[0]

    def delete(self, id_: str) -> None:
        """Delete it."""
        self._find(id_)[2].delete(id_)

    def _find(self, id_: str) -> tuple[str, AgentProfile, KeptSessions]:
        """Where a conversation is kept.

        Raises:
            Refused: nowhere, as far as the user may look.
        """
        for name, profile, kept in self._of_profiles():
            with suppress(UsageError):  # it is no id
                if kept.path(id_).is_file():
                    return name, profile, kept
        raise Refused("not-found", "you have no conversation of that id")

    def _kept(self) -> Iterator[tuple[str, KeptSessions]]:
        seen: set[object] = set()
        for name, _, kept in self._of_profiles():
            if kept.folder not in seen:
                seen.add(kept.folder)
                yield name, kept

    def _of_profiles(self) -> Iterator[tuple[str, AgentProfile, KeptSessions]]:
        pool, user = self._pool, self._user
        files = pool.profiles_of(user)
        if self._profile is not None:
            files = {self._profile: pool.check_profile(user, self._profile)}
        for name, file in files.items():
            try:
                profile = pool.setting.profile if name == DEFAULT_PROFILE else load_profile(file)
            except SettingsError:
                continue  # `/profiles` says what is wrong with it
            yield name, profile, KeptSessions(profile, self._home, _tell_nobody)


def _messages(items: list[MemoryItem], redactor: Redactor) -> Iterator[Message]:
    """Answers stand as they are: a figure in one may look like a secret."""
    for each in dated_exchanges(items, with_undone=True):
        at, undone = each.asked_at, each.undone
        asked = redactor.text(each.request)
        yield Message(role="user", content=asked, at=at, undone=undone)
        if each.answer is not None:
            yield Message(role="assistant", content=each.answer, at=at, undone=undone)


def _tell_nobody(stage: str, text: str) -> None:
    """A damaged file is told of where it is read to go on."""
