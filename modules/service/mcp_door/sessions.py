"""`list_sessions` and `read_session`: what the agent was asked before. They read files."""

import json
import logging
from typing import Final

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from core.base.clock import moment
from core.base.memory.exchanges import dated_exchanges, title_of
from core.base.text import one_line
from core.errors import StorageError
from modules.service.agents import AgentSetting
from modules.session.kept import KeptSessions

log = logging.getLogger(__name__)

SESSIONS_SEARCHED: Final = 500
"""So many sessions, the newest, are read where words are looked for."""

SESSION_CHARACTERS_MAX: Final = 100_000
"""So much of a session is given: its newest requests and answers."""


class SessionLine(BaseModel):
    """One session of a list."""

    session_id: str
    last_used: str
    requests: int
    title: str
    first_request: str


class SessionsResult(BaseModel):
    """Sessions, those that were used last first."""

    sessions: list[SessionLine]


class ExchangeLine(BaseModel):
    """One request of a session."""

    asked_at: str
    request: str
    answer: str | None


class SessionResult(BaseModel):
    """A session; `left_out` counts older requests that would be too much."""

    session_id: str
    title: str
    exchanges: list[ExchangeLine]
    left_out: int


def list_sessions(setting: AgentSetting, limit: int, query: str) -> CallToolResult:
    """So many sessions that hold all words of the query."""
    kept = _kept(setting)
    ids = kept.ids()
    if words := query.casefold().split():
        ids = [id_ for id_ in ids[:SESSIONS_SEARCHED] if _holds(kept, id_, words)]
    found = [
        SessionLine(
            session_id=each.session_id,
            last_used=moment(each.last_used),
            requests=each.requests,
            title=each.title,
            first_request=one_line(each.first_request, 500),
        )
        for each in kept.summaries(ids[:limit])
    ]
    return _structured(SessionsResult(sessions=found), setting)


def _holds(kept: KeptSessions, session_id: str, words: list[str]) -> bool:
    try:
        items = kept.items(session_id)
    except (OSError, StorageError) as error:
        log.warning("session %s is not searched: %s", session_id, error)
        return False
    asked = dated_exchanges(items)
    texts = [title_of(items), *(f"{each.request}\n{each.answer or ''}" for each in asked)]
    whole = "\n".join(texts).casefold()
    return all(word in whole for word in words)


def read_session(setting: AgentSetting, text: str) -> CallToolResult:
    """The session that a text means.

    Raises:
        UsageError: there is none, or there are several.
        StorageError: its file can't be read.
    """
    kept = _kept(setting)
    session_id = kept.find(text, "list_sessions")
    items = kept.items(session_id)
    asked, told, room = dated_exchanges(items), list[ExchangeLine](), SESSION_CHARACTERS_MAX
    for each in reversed(asked):
        room -= len(each.request) + len(each.answer or "")
        if room < 0:
            break
        at = moment(each.asked_at)
        told.append(ExchangeLine(asked_at=at, request=each.request, answer=each.answer))
    result = SessionResult(
        session_id=session_id,
        title=title_of(items),
        exchanges=told[::-1],
        left_out=len(asked) - len(told),
    )
    return _structured(result, setting)


def _kept(setting: AgentSetting) -> KeptSessions:
    setting.redactor.mask(setting.profile.memory.mask)
    return KeptSessions(
        setting.profile, setting.places.home, lambda stage, text: log.warning("%s: %s", stage, text)
    )


def _structured(result: BaseModel, setting: AgentSetting) -> CallToolResult:
    """A result as data, and as the same in text for clients of older revisions."""
    document = setting.redactor.object(result.model_dump(mode="json"))
    text = json.dumps(document, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], structured_content=document)
