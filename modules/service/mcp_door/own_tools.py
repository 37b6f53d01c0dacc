"""The door's own tools: asking the agent, its sessions, and the documents that it searches."""

import asyncio
from collections.abc import Mapping
from typing import Final

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.server_list import is_documents_server
from core.base.text import did_you_mean, near_names
from core.errors import UsageError
from core.run.execution import ExecutionContext
from core.values import JsonObject
from modules.service.agents import Agent
from modules.service.mcp_door.asking import AskResult, ask
from modules.service.mcp_door.sessions import (
    SessionResult,
    SessionsResult,
    list_sessions,
    read_session,
)
from modules.service.mcp_door.work import Work
from modules.service.served.runs import Runs
from modules.service.wrong_fields import wrong_fields
from modules.session.request import MAX_REQUEST_CHARACTERS

SESSIONS_LISTED: Final = 20
SESSIONS_LISTED_MAX: Final = 200
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


_ARGUMENTS: Final[Mapping[str, type[_Arguments]]] = {
    "ask": AskArguments,
    "list_sessions": ListSessionsArguments,
    "read_session": ReadSessionArguments,
    "search_documents": SearchDocumentsArguments,
}
_READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def _tool(
    name: str,
    description: str,
    result: type[BaseModel] | None = None,
    hints: ToolAnnotations = _READS,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema=_schema(_ARGUMENTS[name]),
        output_schema=None if result is None else _schema(result),
        annotations=hints,
    )


def _schema(model: type[BaseModel]) -> dict[str, object]:
    """Its JSON Schema, without the names of our classes."""
    schema: dict[str, object] = model.model_json_schema()
    return {key: said for key, said in schema.items() if key not in ("title", "description")}


OWN_TOOLS: Final = (
    _tool(
        "ask",
        "Ask the Cortex-R agent: it plans in Python, calls its tools (arithmetic, documents, the "
        "web, whatever servers it has), and answers.",
        AskResult,
        ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
    ),
    _tool("list_sessions", "List what the agent was asked before, by sessions.", SessionsResult),
    _tool(
        "read_session",
        "Read the requests and answers of one of the agent's sessions.",
        SessionResult,
    ),
    _tool(
        "search_documents",
        "Search the user's own documents for passages that answer a question, with their sources.",
    ),
)


async def call_own(runs: Runs, work: Work, execution: ExecutionContext) -> CallToolResult:
    """The result of one of the door's own tools.

    Raises:
        UsageError: there is no such tool, or the arguments don't fit; each mistake is named.
        CortexError, SettingsError, Busy: it can't be done; the text says why.
    """
    pool, call = runs.pool, work.call
    whose = call.caller.user, call.caller.profile
    if (arguments := _ARGUMENTS.get(call.name)) is None:
        there_are = f"there are: {', '.join(_ARGUMENTS)}"
        meant = did_you_mean(near_names(call.name, _ARGUMENTS), there_are)
        raise UsageError(f"there is no tool '{call.name[:80]}'; {meant}")
    try:
        given = arguments.model_validate(call.arguments)
    except ValidationError as error:
        known = ", ".join(arguments.model_fields)
        told = f"{call.name}: {wrong_fields(error)}; its arguments are: {known}"
        raise UsageError(told) from None
    match given:
        case AskArguments(request=request, session_id=session_id):
            return await ask(runs, work, request, session_id or None, execution)
        case ListSessionsArguments(limit=limit, query=query):
            setting = await asyncio.to_thread(pool.setting_of, *whose)
            return await asyncio.to_thread(list_sessions, setting, limit, query)
        case ReadSessionArguments(session_id=session_id):
            setting = await asyncio.to_thread(pool.setting_of, *whose)
            return await asyncio.to_thread(read_session, setting, session_id)
        case SearchDocumentsArguments(query=query, k=k):
            async with pool.agent(*whose) as agent:
                return await _search_documents(agent, work, query, k)


async def _search_documents(agent: Agent, work: Work, query: str, k: int) -> CallToolResult:
    root, dispatcher = agent.setting.places.root, agent.dispatcher
    ids = (spec.id for spec in dispatcher.specs if is_documents_server(spec, root))
    if (server := next(ids, None)) is None:
        raise UsageError(
            "this agent has no server for documents; put `id: documents, script: "
            "servers/documents_server.py` under mcp_servers in its profile"
        )
    await dispatcher.initialize([server])
    if failed := dispatcher.failures.get(server):
        raise failed
    wanted: JsonObject = {"input": {"query": query, "top_k": k}}
    result = await dispatcher.call_tool(f"{server}.{SEARCH_TOOL}", wanted, work.tell_progress)
    text = result.value if isinstance(result.value, str) else result.text
    return CallToolResult(content=[TextContent(text=text)], is_error=result.is_error)
