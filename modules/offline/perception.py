"""The offline planner's perception: what a request is about and which servers it needs."""

import json

from core.ports import DecisionInputs, PerceptionInputs
from core.turn import PerceptionResult
from modules.offline.arithmetic.grammar import MAX_REQUEST_CHARACTERS, parse
from modules.offline.arithmetic.plans import needed_tools
from modules.offline.everyday.plans import file_tool, write_everyday_plan
from modules.offline.quotes.document_questions import (
    DocumentQuestion,
    documents_tool,
    named_question,
    open_question,
)
from modules.offline.refusal import Refusal
from modules.offline.tools.pieces import pieces_of
from modules.offline.tools.plans import candidates_for
from modules.offline.tools.ranking import terms
from modules.offline.web.plans import web_tools

MAX_ENTITIES = 20
"""How many entities a perception lists."""

OPEN_QUESTION = "ask"
"""The intent of a question after a fact that names no documents: any source may answer it."""

ANY_NUMBER = 1
"""Stands for the last answer, which perception does not see; its value is of no account."""


def perceive(inputs: PerceptionInputs) -> str:
    """The perception as JSON text, in the form that every model is asked for."""
    request = inputs.user_input[:MAX_REQUEST_CHARACTERS]
    decision = DecisionInputs(inputs.user_input, inputs.tools, PerceptionResult())
    intent, names, servers = (
        _web(decision)
        or _arithmetic(decision)
        or _documents(decision, named_question(request, inputs.tools))
        or _tool(decision)
        or _everyday(decision)
        or _open(request)
        or ("unknown", [], [])
    )
    chosen = [server for server in inputs.servers if server in servers]
    perception = {
        "intent": intent,
        "entities": [p.text for p in pieces_of(request) if p.kind not in ("word", "mark")][
            :MAX_ENTITIES
        ],
        "tool_hint": names[0] if names else None,
        "tags": [intent, *names] if names else [],
        "selected_servers": chosen or _servers_by_words(request, inputs) or list(inputs.servers),
    }
    return json.dumps(perception, ensure_ascii=False)


def _arithmetic(decision: DecisionInputs) -> tuple[str, list[str], list[str]] | None:
    try:
        tools = needed_tools(parse(decision.user_input, ANY_NUMBER), decision)
    except Refusal:
        return None
    return "arithmetic", [tool.name for tool in tools], [tool.server for tool in tools]


def _documents(
    decision: DecisionInputs, question: DocumentQuestion | None
) -> tuple[str, list[str], list[str]] | None:
    tool = documents_tool(decision.tools)
    if question is None or tool is None:
        return None
    return "ask_documents", [tool.name], [tool.server]


def _open(request: str) -> tuple[str, list[str], list[str]] | None:
    return None if open_question(request) is None else (OPEN_QUESTION, [], [])


def _everyday(decision: DecisionInputs) -> tuple[str, list[str], list[str]] | None:
    if write_everyday_plan(decision) is None:
        return None
    tool = file_tool(decision.user_input, decision)
    return ("compute", [], []) if tool is None else ("use_tool", [tool.name], [tool.server])


def _web(decision: DecisionInputs) -> tuple[str, list[str], list[str]] | None:
    tools = web_tools(decision.user_input[:MAX_REQUEST_CHARACTERS], decision.tools)
    if not tools:
        return None
    return "use_tool", [tool.name for tool in tools], [tool.server for tool in tools]


def _tool(decision: DecisionInputs) -> tuple[str, list[str], list[str]] | None:
    candidates = candidates_for(decision)
    if not candidates:
        return None
    return (
        "use_tool",
        [candidate.tool.name for candidate in candidates],
        [candidate.tool.server for candidate in candidates],
    )


def _servers_by_words(request: str, inputs: PerceptionInputs) -> list[str]:
    """The servers whose description or tools share a word with the request."""
    said = terms(request)
    described = {server: terms(f"{server} {text}") for server, text in inputs.servers.items()}
    for tool in inputs.tools:
        known = described.get(tool.server, frozenset())
        described[tool.server] = known | terms(f"{tool.name} {tool.description}")
    return [server for server in inputs.servers if described[server] & said]
