"""What earlier sessions said that bears on a request: looked up while the run is prepared.

The words of the index are asked at once, in this process, and those of the newest sessions that it
does not hold yet. The memory server knows meaning too, and brings the index up to date; it is asked
at the same time, and its answer counts if it comes in time. Else it goes on beside the run, so that
it is ready the next time.
"""

import asyncio
import json
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from core.base.clock import moment
from core.base.files import FileTooLarge
from core.base.frozen import frozen
from core.base.memory.exchanges import DatedExchange, read_session
from core.base.memory.indexed import INDEX_FOLDER, chunk_text, past_exchange
from core.base.text import one_line
from core.errors import CallRefused, ServerError
from core.session import MultiMCP
from core.tools.content import ToolResult
from core.values import Json, JsonObject
from servers.rag.index.reader import find_by_words, match_texts, written_at

LOOKUP_SECONDS: Final = 0.2
"""A request waits no longer than that for what is remembered."""

POOL: Final = 12
"""So many passages are looked at."""

TOLD: Final = 3
"""So many memories are told at most."""

READ_SECONDS: Final = 0.1
"""So long sessions are read that the index does not hold, the newest first."""

FILES_READ_MAX: Final = 300
"""More of them are not even looked at."""

SESSION_BYTES_MAX: Final = 2 * 1024 * 1024
"""A larger session is left to the index."""

MATCH_MIN: Final = 0.43
"""A passage that holds less of the request's words (`WordPassage.match`) is not told."""

SCORE_MIN: Final = 0.6
"""The same of what the memory server found, by words and meaning."""

MEMORIES_SHARE: Final = 0.25
"""The part of a prompt's room for the past that memories take at most."""

TOOL: Final = "search_memory"

REQUEST_CHARACTERS: Final = 200
ANSWER_CHARACTERS: Final = 400
"""How much of each is told."""


async def search_memory(dispatcher: MultiMCP, server_id: str, arguments: JsonObject) -> ToolResult:
    """Call the tool of the memory server, which starts if need be; its error is a value.

    Raises:
        ServerError: it did not start, or did not answer.
        CallRefused: it is left out.
    """
    await dispatcher.initialize([server_id])
    if failed := dispatcher.failures.get(server_id):
        raise failed
    tool = dispatcher.resolve(f"{server_id}.{TOOL}")
    return await dispatcher.call_tool(tool.qualified_name, tool.bind_raw(arguments))


SearchMemory: TypeAlias = Callable[[JsonObject], Coroutine[None, None, ToolResult]]
"""Calls `search_memory` of the memory server, which starts if need be."""


@frozen
class _Memory:
    session_id: str
    asked_at: float
    request: str
    answer: str

    @property
    def line(self) -> str:
        """As a prompt tells it."""
        asked = one_line(self.request, REQUEST_CHARACTERS)
        answered = one_line(self.answer, ANSWER_CHARACTERS)
        day = moment(self.asked_at)[:10]
        return f"{day}, session {self.session_id}: User: {asked} Answer: {answered}"


class EarlierSessions:
    """The sessions in a memory folder, as far as they are indexed; `aclose` ends what runs."""

    def __init__(self, folder: Path, search: SearchMemory | None) -> None:
        """`search` is None where the profile has no memory server: words alone count then."""
        self._folder = folder
        self._search = search
        self._has_sessions = False  # once there are, nobody looks again
        self._asking: asyncio.Task[tuple[_Memory, ...]] | None = None

    async def find(self, request: str, session_id: str, room: int) -> tuple[str, ...]:
        """What other sessions said about it, best first, in `room` characters; takes 0.2 s."""
        if not self._has_sessions:
            self._has_sessions = await asyncio.to_thread(_has_sessions, self._folder)
            if not self._has_sessions:
                return ()
        words = asyncio.create_task(asyncio.to_thread(self._by_words, request))
        if self._search is not None and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._by_server(self._search, request))
            waited = {words, self._asking}
        else:
            waited = {words}
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKUP_SECONDS):
                await asyncio.shield(asyncio.gather(*waited, return_exceptions=True))
        found: Iterable[_Memory] = ()
        if self._asking is not None and self._asking.done():
            found = self._asking.result()
        if not found and words.done():
            found = words.result()
        return tuple(_within(room, (each for each in found if each.session_id != session_id)))

    async def aclose(self) -> None:
        """End a question to the memory server that is still open."""
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.wait({self._asking})

    def _by_words(self, request: str) -> tuple[_Memory, ...]:
        """What holds enough of the request's words, in the index and in what is newer; best first.

        A session that was read anew counts as it is now.
        """
        found: list[tuple[float, _Memory]] = []
        unread = _said_since(self._folder, time.monotonic() + READ_SECONDS)
        texts = [(session_id, chunk_text(said)) for session_id, said in unread]
        for place, match, is_rare in match_texts(request, texts) if texts else ():
            session_id, said = unread[place]
            if is_rare and match >= MATCH_MIN and said.answer is not None:
                found.append((match, _Memory(session_id, said.asked_at, said.request, said.answer)))
        read = {session_id for session_id, _ in unread}
        for passage in find_by_words(self._folder / INDEX_FOLDER, request, POOL):
            past = past_exchange(passage.headings, passage.text)
            if past is None or past.exchange.answer is None or past.session_id in read:
                continue
            if passage.rare and passage.match >= MATCH_MIN:
                said = past.exchange.request, past.exchange.answer
                memory = _Memory(past.session_id, past.exchange.asked_at, *said)
                found.append((passage.match, memory))
        found.sort(key=lambda each: (-each[0], -each[1].asked_at))
        return tuple(memory for _, memory in found)

    async def _by_server(self, search: SearchMemory, request: str) -> tuple[_Memory, ...]:
        """What the server finds; nothing where it can't be asked: that ends no run."""
        try:
            result = await search({"query": request, "top_k": POOL, "as_json": True})
        except (CallRefused, ServerError):
            return ()
        return () if result.is_error else tuple(_memories(result.value))


def _has_sessions(folder: Path) -> bool:
    """Whether there is anything to be found, besides what is being said."""
    return (folder / INDEX_FOLDER).is_dir() or next(folder.rglob("*.json"), None) is not None


def _said_since(folder: Path, until: float) -> list[tuple[str, DatedExchange]]:
    """The exchanges of sessions that have changed since the index was written, newest file first.

    As many as can be read until then (`time.monotonic`).
    """
    indexed_at = written_at(folder / INDEX_FOLDER)
    changed: list[tuple[float, Path]] = []
    for path in folder.rglob("*.json"):
        with suppress(OSError):
            changed.append((path.stat().st_mtime, path))
    said: list[tuple[str, DatedExchange]] = []
    newest = sorted(((at, path) for at, path in changed if at >= indexed_at), reverse=True)
    for _, path in newest[:FILES_READ_MAX]:
        if time.monotonic() > until:
            break
        with suppress(OSError, FileTooLarge):
            session = read_session(path, SESSION_BYTES_MAX)
            name = session.session_id or path.relative_to(folder).with_suffix("").as_posix()
            said += ((name, exchange) for exchange in session.exchanges)
    return said


def _memories(told: Json) -> Iterator[_Memory]:
    """The memories in the server's JSON that fit well enough."""
    try:
        document: Json = json.loads(told) if isinstance(told, str) else told
    except ValueError:
        return
    found = document.get("memories") if isinstance(document, dict) else None
    for each in found if isinstance(found, list) else ():
        match each:
            case {
                "session": str(session_id),
                "asked_at": float() | int() as asked_at,
                "request": str(request),
                "answer": str(answer),
                "score": float() | int() as score,
            } if score >= SCORE_MIN and math.isfinite(asked_at):
                yield _Memory(session_id, asked_at, request, answer)
            case _:
                continue


def _within(room: int, memories: Iterable[_Memory]) -> Iterator[str]:
    """The lines of the first memories that there is room for; none is told twice."""
    told: set[str] = set()
    for memory in memories:
        line, said = memory.line, f"{memory.request}\n{memory.answer}".lower()
        room -= len(line)
        if room < 0 or len(told) == TOLD:
            return
        if said not in told:
            told.add(said)
            yield line
