"""The door's own tools: asking the agent, its sessions, and the documents that it searches."""

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Final

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.server_list import is_documents_server
from core.base.clock import moment
from core.base.frozen import frozen
from core.base.memory.exchanges import DatedExchange, dated_exchanges, title_of
from core.base.redaction import Redactor
from core.base.text import clause, one_line
from core.errors import UsageError
from core.run.execution import ExecutionContext
from core.values import JsonObject
from modules.service.agents import Agent, AgentSetting
from modules.service.mcp_door.asking import AskResult, Caller, ask
from modules.service.mcp_door.work import Work
from modules.service.served.runs import Runs
from modules.session.kept import KeptSessions
from modules.session.request import MAX_REQUEST_CHARACTERS

log = logging.getLogger(__name__)

SESSIONS_LISTED: Final = 20
SESSIONS_LISTED_MAX: Final = 200

SESSIONS_SEARCHED: Final = 500
"""So many sessions, the newest, are read where words are looked for."""

SESSION_CHARACTERS_MAX: Final = 100_000
"""So much of a session is given: its newest requests and answers."""

QUERY_CHARACTERS_MAX: Final = 1_000
PASSAGES_MAX: Final = 50

SEARCH_TOOL: Final = "search_stored_documents"
"""The tool of the documents server."""


class _Arguments(BaseModel):
    """Arguments of a tool; unknown ones are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskArguments(_Arguments):
    """What the agent is asked, and in which session."""

    request: str = Field(
        min_length=1,
        max_length=MAX_REQUEST_CHARACTERS,
        description="what is wanted, in plain words, with all that has to be known for it",
    )
    session_id: str = Field(
        default="",
        max_length=200,
        description="a session to go on with, as an earlier answer names it; without it a new one "
        "begins, which knows nothing of earlier requests",
    )


class ListSessionsArguments(_Arguments):
    """Which sessions."""

    limit: int = Field(
        default=SESSIONS_LISTED, ge=1, le=SESSIONS_LISTED_MAX, description="how many, newest first"
    )
    query: str = Field(
        default="",
        max_length=QUERY_CHARACTERS_MAX,
        description="words that all have to stand in a session's title, requests or answers",
    )


class ReadSessionArguments(_Arguments):
    """Which session."""

    session_id: str = Field(
        min_length=1, max_length=200, description="its id, or a part of it that no other has"
    )


class SearchDocumentsArguments(_Arguments):
    """What to look for."""

    query: str = Field(
        min_length=1, max_length=QUERY_CHARACTERS_MAX, description="a question, or words"
    )
    k: int = Field(default=5, ge=1, le=PASSAGES_MAX, description="how many passages")


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


@frozen
class OwnTool:
    """One of the door's own tools: what it takes and gives."""

    description: str
    arguments: type[_Arguments]
    result: type[BaseModel] | None
    hints: ToolAnnotations

    def listed(self, name: str) -> Tool:
        """As clients see it."""
        result = None if self.result is None else _schema(self.result)
        return Tool(
            name=name,
            description=self.description,
            input_schema=_schema(self.arguments),
            output_schema=result,
            annotations=self.hints,
        )


_READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

OWN_TOOLS: Final[Mapping[str, OwnTool]] = {
    "ask": OwnTool(
        "Ask the Cortex-R agent: it plans in Python, calls its tools (arithmetic, documents, the "
        "web, whatever servers it has), and answers.",
        AskArguments,
        AskResult,
        ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
    ),
    "list_sessions": OwnTool(
        "List what the agent was asked before, by sessions.",
        ListSessionsArguments,
        SessionsResult,
        _READS,
    ),
    "read_session": OwnTool(
        "Read the requests and answers of one of the agent's sessions.",
        ReadSessionArguments,
        SessionResult,
        _READS,
    ),
    "search_documents": OwnTool(
        "Search the user's own documents for passages that answer a question, with their sources.",
        SearchDocumentsArguments,
        None,
        _READS,
    ),
}
"""By name."""


class OwnTools:
    """Does what the door's own tools are for."""

    def __init__(self, runs: Runs) -> None:
        """Have requests answered as `runs`, by agents of its pool."""
        self._runs = runs
        self._pool = runs.pool

    async def call(
        self,
        work: Work,
        caller: Caller,
        name: str,
        arguments: Mapping[str, object],
        execution: ExecutionContext,
    ) -> CallToolResult:
        """The result of one of `OWN_TOOLS`.

        Raises:
            UsageError: the arguments don't fit.
            CortexError, SettingsError, Busy: it can't be done; the text says why.
        """
        match _read(OWN_TOOLS[name], arguments, name):
            case AskArguments() as given:
                asked = given.request, given.session_id or None
                return await ask(self._runs, work, caller, *asked, execution)
            case ListSessionsArguments() as given:
                setting = await self._setting(caller)
                return await asyncio.to_thread(_list_sessions, setting, given)
            case ReadSessionArguments() as given:
                setting = await self._setting(caller)
                return await asyncio.to_thread(_read_session, setting, given.session_id)
            case SearchDocumentsArguments() as given:
                async with self._pool.agent(caller.user, caller.profile) as agent:
                    return await _search_documents(agent, work, given)
            case other:
                raise AssertionError(f"{type(other).__name__} belongs to no tool")

    async def _setting(self, caller: Caller) -> AgentSetting:
        return await asyncio.to_thread(self._pool.setting_of, caller.user, caller.profile)


def _list_sessions(setting: AgentSetting, given: ListSessionsArguments) -> CallToolResult:
    kept, redactor = _kept(setting), setting.redactor
    ids = kept.ids()
    if words := given.query.casefold().split():
        ids = [id_ for id_ in ids[:SESSIONS_SEARCHED] if _holds(kept, id_, words)]
    found = [
        SessionLine(
            session_id=each.session_id,
            last_used=moment(each.last_used),
            requests=each.requests,
            title=redactor.text(each.title),
            first_request=redactor.text(one_line(each.first_request, 500)),
        )
        for each in kept.summaries(ids[: given.limit])
    ]
    return _structured(SessionsResult(sessions=found))


def _holds(kept: KeptSessions, session_id: str, words: list[str]) -> bool:
    try:
        items = kept.items(session_id)
    except Exception as error:  # noqa: BLE001 - of many files, one that can't be read counts none
        log.warning("session %s is not searched: %s", session_id, error)
        return False
    texts = [title_of(items)]
    texts += [text for each in dated_exchanges(items) for text in (each.request, each.answer or "")]
    whole = "\n".join(texts).casefold()
    return all(word in whole for word in words)


def _read_session(setting: AgentSetting, session_id: str) -> CallToolResult:
    kept = _kept(setting)
    session_id = kept.find(session_id, "list_sessions")
    items = kept.items(session_id)
    asked = dated_exchanges(items)
    told = [*_newest(asked, setting.redactor)]
    result = SessionResult(
        session_id=session_id,
        title=setting.redactor.text(title_of(items)),
        exchanges=told[::-1],
        left_out=len(asked) - len(told),
    )
    return _structured(result)


def _newest(asked: tuple[DatedExchange, ...], redactor: Redactor) -> Iterator[ExchangeLine]:
    """The newest exchanges that fit, newest first."""
    room = SESSION_CHARACTERS_MAX
    for each in reversed(asked):
        request = redactor.text(each.request)
        answer = None if each.answer is None else redactor.text(each.answer)
        room -= len(request) + len(answer or "")
        if room < 0:
            return
        yield ExchangeLine(asked_at=moment(each.asked_at), request=request, answer=answer)


def _kept(setting: AgentSetting) -> KeptSessions:
    def say(stage: str, text: str) -> None:
        log.warning("%s: %s", stage, text)

    setting.redactor.mask(setting.profile.memory.mask)
    return KeptSessions(setting.profile, setting.places.home, say)


async def _search_documents(
    agent: Agent, work: Work, given: SearchDocumentsArguments
) -> CallToolResult:
    root = agent.setting.places.root
    specs = agent.dispatcher.specs
    server = next((spec.id for spec in specs if is_documents_server(spec, root)), None)
    if server is None:
        raise UsageError(
            "this agent has no server for documents; put `id: documents, script: "
            "servers/documents_server.py` under mcp_servers in its profile"
        )
    await agent.dispatcher.initialize([server])
    if failed := agent.dispatcher.failures.get(server):
        raise failed

    def tell(done: float, total: float | None, message: str | None) -> None:
        work.tell(message or f"{done:g}{'' if total is None else f' of {total:g}'}")

    wanted: JsonObject = {"input": {"query": given.query, "top_k": given.k}}
    result = await agent.dispatcher.call_tool(f"{server}.{SEARCH_TOOL}", wanted, tell)
    text = result.value if isinstance(result.value, str) else result.text
    return CallToolResult(content=[TextContent(text=text)], is_error=result.is_error)


def _structured(result: BaseModel) -> CallToolResult:
    """A result as data, and as the same in text for clients of older revisions."""
    document = result.model_dump(mode="json")
    text = json.dumps(document, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], structured_content=document)


def _read(tool: OwnTool, arguments: Mapping[str, object], name: str) -> _Arguments:
    """The checked arguments.

    Raises:
        UsageError: they don't fit; each mistake is named.
    """
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        known = ", ".join(tool.arguments.model_fields)
        wrong = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {clause(each['msg'])}"
            for each in error.errors(include_url=False, include_input=False)[:5]
        )
        raise UsageError(f"{name}: {wrong}; its arguments are: {known}") from None


def _schema(model: type[BaseModel]) -> dict[str, object]:
    """Its JSON Schema, without the names of our classes."""
    schema: dict[str, object] = model.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return schema
