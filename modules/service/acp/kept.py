"""The sessions that are kept, as an editor lists them, and as it is shown one that it loads."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from core.base.memory.exchanges import dated_exchanges
from core.base.redaction import Redactor
from core.base.text import one_line
from core.mcp.peer import RpcError
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json, JsonObject
from modules.service.acp.calls import call_told, message_chunk, result_content
from modules.service.acp.messages import NOT_FOUND, Params
from modules.session.history import runs_in
from modules.session.kept import TITLE_CHARACTERS, KeptSessions

PAGE_SIZE: Final = 100
"""So many sessions are looked at for a page of the list; those of other folders are left out."""


def kept_items(kept: KeptSessions, session_id: str) -> list[MemoryItem]:
    """All that a session holds. Blocks.

    Raises:
        UsageError: the id is of no known form.
        RpcError: there is no such session.
        StorageError: it can't be read.
    """
    if not kept.path(session_id).exists():
        told = one_line(session_id, 100)
        raise RpcError(NOT_FOUND, f"no session {told} is kept; session/list has those that are")
    return kept.items(session_id)


def page_of(kept: KeptSessions, wanted: Params, redactor: Redactor) -> JsonObject:
    """The result of `session/list`: those that were used last, newest first. Blocks.

    One that was begun at a terminal belongs to no folder: it is listed in every one. A page may
    have few, and more may follow.
    """
    ids, start, cwd = kept.ids(), int(wanted.cursor or 0), wanted.cwd and str(wanted.cwd)
    end = start + PAGE_SIZE
    found: list[Json] = [
        {
            "sessionId": each.session_id,
            "cwd": each.folder or cwd or str(Path.home()),
            "title": one_line(redactor.text(each.title or each.first_request), TITLE_CHARACTERS),
            "updatedAt": datetime.fromtimestamp(each.last_used, UTC).isoformat(),
        }
        for each in kept.summaries(ids[start:end])
        if cwd is None or each.folder in (None, cwd)
    ]
    more: JsonObject = {"nextCursor": str(end)} if end < len(ids) else {}
    return {"sessions": found, **more}


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
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": id_,
        **call_told(tool or "", item.tool_args or {}, redactor, folder),
        "status": "completed" if item.success else "failed",
        "content": result_content((item.tool_result or {}).get("result"), redactor),
    }
