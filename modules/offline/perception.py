"""The offline planner's perception: what a request is about, and which servers it needs."""

import json
from collections.abc import Sequence
from contextlib import suppress

from config.servers import ServerSpec
from core.ports import DecisionInputs, PerceptionInputs
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import Exchange, PerceptionResult
from modules.offline.arithmetic.grammar import MAX_REQUEST_CHARACTERS, may_hold_address, parse
from modules.offline.arithmetic.plans import needed_tools
from modules.offline.everyday.plans import file_call, write_everyday_plan
from modules.offline.planner import plan
from modules.offline.quotes.asking import bare
from modules.offline.quotes.document_plans import write_document_plan
from modules.offline.quotes.document_questions import (
    documents_tool,
    named_question,
    open_question,
)
from modules.offline.refusal import Refusal
from modules.offline.tools.pieces import pieces_of
from modules.offline.tools.plans import candidates_for
from modules.offline.tools.ranking import terms
from modules.offline.web.plans import web_tools
from modules.prespawn import may_be_meant

MAX_ENTITIES = 20
"""How many entities a perception lists."""

OPEN_QUESTION = "ask"
"""The intent of a question after a fact that names no documents: any source may answer it."""

ANY_NUMBER = 1
"""Stands for the last answer, which perception does not see; its value is of no account."""


def perceive(inputs: PerceptionInputs) -> str:
    """The perception as JSON text, in the form that every model is asked for."""
    request = inputs.user_input[:MAX_REQUEST_CHARACTERS]
    intent, tools = _meaning(
        request, DecisionInputs(inputs.user_input, inputs.tools, PerceptionResult())
    )
    names, servers = [tool.name for tool in tools], {tool.server for tool in tools}
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


def _meaning(request: str, inputs: DecisionInputs) -> tuple[str, Sequence[ToolSpec]]:
    """What the request is about, and the tools that its plan may call, the best first."""
    if may_hold_address(request) and (tools := web_tools(request, inputs.tools)):
        return "use_tool", tools
    with suppress(Refusal):
        return "arithmetic", needed_tools(parse(inputs.user_input, ANY_NUMBER), inputs)
    if tools := web_tools(request, inputs.tools):
        return "use_tool", tools
    searching = documents_tool(inputs.tools)
    if searching is not None and named_question(request, inputs.tools) is not None:
        return "ask_documents", [searching]
    if candidates := candidates_for(inputs):
        return "use_tool", [candidate.tool for candidate in candidates]
    if write_everyday_plan(inputs) is not None:
        called = file_call(bare(inputs.user_input), inputs.tools)
        return ("compute", []) if called is None else ("use_tool", [called[0]])
    return ("unknown" if open_question(request) is None else OPEN_QUESTION), []


def _servers_by_words(request: str, inputs: PerceptionInputs) -> list[str]:
    """The servers whose description or tools share a word with the request."""
    said = terms(request)
    described = {server: terms(f"{server} {text}") for server, text in inputs.servers.items()}
    for tool in inputs.tools:
        known = described.get(tool.server, frozenset())
        described[tool.server] = known | terms(f"{tool.name} {tool.description}")
    return [server for server in inputs.servers if described[server] & said]


def servers_to_ask(
    request: str, unlearned: Sequence[ServerSpec], known: ToolCatalog, history: Sequence[Exchange]
) -> list[str]:
    """The ids of the servers to wait for, of those whose tools are not known yet.

    Those that share a word with the request; else none, if the known tools surely do, as the
    offline planner reads it; else all: nobody but they can tell what they offer. Blocks, so call
    it from a thread.
    """
    if meant := [spec.id for spec in unlearned if may_be_meant(request, spec)]:
        return meant
    inputs = DecisionInputs(request, known, PerceptionResult(), tuple(history))
    return [] if _is_surely_planned(inputs) else [spec.id for spec in unlearned]


def _is_surely_planned(inputs: DecisionInputs) -> bool:
    """Whether the request is understood as a whole, so that other tools could only do the same.

    A plain question that is put to the documents for want of anything better is not.
    """
    try:
        source = plan(inputs)
        if named_question(inputs.user_input, inputs.tools) is not None:
            return True
        question = open_question(inputs.user_input)
        return question is None or source != write_document_plan(inputs, question)
    except Refusal:
        return False
