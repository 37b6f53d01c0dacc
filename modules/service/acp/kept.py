"""The sessions that are kept, as an editor lists them, and as it is shown one that it loads."""

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from core.base.memory.exchanges import dated_exchanges, title_of
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import StorageError
from core.mcp.peer import RpcError
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json, JsonObject
from modules.service.acp.calls import call_told, message_chunk, result_content
from modules.service.acp.messages import INVALID_PARAMS, NOT_FOUND, ListSessions
from modules.service.agents import AgentSetting
from modules.session.history import folder_of, runs_in
from modules.session.kept import TITLE_CHARACTERS, KeptSessions

PAGE_SIZE: Final = 50
"""So many sessions a page of the list has."""

FILES_READ_MAX: Final = 200
"""So many files are read for one page, where most sessions belong to other folders."""

log = logging.getLogger(__name__)


class SessionList:
    """Reads what the profile keeps; every method blocks."""

    def __init__(self, setting: AgentSetting) -> None:
        """Read nothing yet."""
        self._kept = KeptSessions(setting.profile, setting.places.home, _warn)
        self._redactor = setting.redactor

    def items(self, session_id: str) -> list[MemoryItem]:
        """All that a session holds.

        Raises:
            UsageError: the id is of no known form.
            RpcError: there is no such session.
            StorageError: it can't be read.
        """
        if not self._kept.path(session_id).exists():
            told = one_line(session_id, 100)
            raise RpcError(NOT_FOUND, f"no session {told} is kept; session/list has those that are")
        return self._kept.items(session_id)

    def delete(self, session_id: str) -> None:
        """Delete a session for good; one that is not there is deleted already.

        Raises:
            UsageError: the id is of no known form.
            StorageError: it can't be deleted.
        """
        self._kept.delete(session_id)

    def page(self, wanted: ListSessions) -> JsonObject:
        """The result of `session/list`: those that were used last, newest first.

        One that was begun at a terminal belongs to no folder: it is listed in every one. A page may
        have few, and more may follow.

        Raises:
            RpcError: the cursor is none of ours.
        """
        cursor = wanted.cursor or "0"
        if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 9:
            raise RpcError(INVALID_PARAMS, "'cursor' is none that a list has given")
        ids, place = self._kept.ids(), int(cursor)
        end = min(len(ids), place + FILES_READ_MAX)
        found: list[Json] = []
        while place < end and len(found) < PAGE_SIZE:
            told = self._told(ids[place], wanted.cwd)
            place += 1
            if told is not None:
                found.append(told)
        more: JsonObject = {"nextCursor": str(place)} if place < len(ids) else {}
        return {"sessions": found, **more}

    def _told(self, session_id: str, folder: str | None) -> JsonObject | None:
        """A session as the list has it; None where it belongs elsewhere or can't be read."""
        try:
            used = self._kept.path(session_id).stat().st_mtime
            items = self._kept.items(session_id)
        except (OSError, StorageError) as error:
            _warn("memory", str(error))
            return None
        own = folder_of(items)
        if folder is not None and own not in (None, folder):
            return None
        asked = dated_exchanges(items, with_undone=True)
        title = title_of(items) or (asked[0].request if asked else "")
        return {
            "sessionId": session_id,
            "cwd": own or folder or str(Path.home()),
            "title": one_line(self._redactor.text(title), TITLE_CHARACTERS),
            "updatedAt": datetime.fromtimestamp(used, UTC).isoformat(),
        }


def past_updates(
    items: Sequence[MemoryItem], redactor: Redactor, folder: Path
) -> Iterator[JsonObject]:
    """The session from its beginning, without what the user has taken back."""
    counted = {(each.asked_at, each.request) for each in dated_exchanges(items)}
    number = 0
    for run in runs_in(items):
        if (run[0].timestamp, run[0].user_query) not in counted:
            continue
        yield message_chunk("user_message_chunk", run[0].user_query or "")
        for item in run:
            if item.type == "tool_output" and item.tool_name not in (None, SANDBOX_STEP):
                number += 1
                yield _call_told(item, f"past-{number}", redactor, folder)
            elif item.type == "final_answer" and item.final_answer is not None:
                yield message_chunk("agent_message_chunk", item.final_answer)


def _call_told(item: MemoryItem, id_: str, redactor: Redactor, folder: Path) -> JsonObject:
    server = item.metadata.get("server")
    tool = f"{server}.{item.tool_name}" if isinstance(server, str) and server else item.tool_name
    told = call_told(tool or "", item.tool_args or {}, redactor, folder)
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": id_,
        **told,
        "status": "completed" if item.success else "failed",
        "content": result_content((item.tool_result or {}).get("result"), redactor),
    }


def _warn(stage: str, text: str) -> None:
    log.warning("%s: %s", stage, text)
