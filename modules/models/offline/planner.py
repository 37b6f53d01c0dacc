"""The offline planner as a model: no weights, no key, no network.

It perceives what a request is about, and plans it, or says why there is no plan. Both try the same
readings in the same order: memory and web where there is an address, arithmetic, memory, web,
documents, other tools, everyday.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import assert_never

from config.servers import ServerSpec
from core.base.text import clause, shorten
from core.dispatch.prespawn import may_be_meant
from core.ports import (
    DecisionInputs,
    ModelRequest,
    ModelTraits,
    PerceptionInputs,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
)
from core.team.graph import TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import Attempt, Exchange, PerceptionResult
from modules.models.offline.arithmetic.grammar import (
    MAX_REQUEST_CHARACTERS,
    may_hold_address,
    parse,
)
from modules.models.offline.arithmetic.plans import needed_tools, write_plan
from modules.models.offline.everyday.plans import (
    file_call,
    with_given_numbers,
    write_everyday_plan,
    write_plan_about_given,
)
from modules.models.offline.history import last_number, repeated
from modules.models.offline.parts import LISTING, taken_apart, write_results_plan
from modules.models.offline.past import memory_call, write_memory_plan, write_own_facts_plan
from modules.models.offline.quotes.asking import bare
from modules.models.offline.quotes.documents import (
    DocumentQuestion,
    check_observation,
    documents_tool,
    named_question,
    open_question,
    same_document,
    untold_subject,
    write_document_plan,
    write_listing_plan,
)
from modules.models.offline.refusal import (
    Beyond,
    Decided,
    Exhausted,
    Misfit,
    Refusal,
    Unsure,
    explain,
    quoted,
)
from modules.models.offline.tools.pieces import pieces_of
from modules.models.offline.tools.plans import candidates_for, write_other_plan, write_tool_plan
from modules.models.offline.tools.ranking import terms
from modules.models.offline.web.plans import (
    SEARCH_TOOL,
    check_web_request,
    web_tools,
    write_web_plan,
)

MAX_ENTITIES = 20
"""How many entities a perception lists."""

NEAR_LETTERS = 4
"""A shorter word says too little of what a request is about."""

OPEN_QUESTION = "ask"
"""The intent of a question after a fact that names no documents: any source may answer it."""

ANY_NUMBER = 1
"""Stands for the last answer, which perception does not see; its value is of no account."""

NO_DOCUMENT_TOOL = "no server is connected that searches documents"
SEE_SERVERS = "See agent.py mcp status: it says which servers there are, and how each fares."

ASK_THE_WEB = 'The web may: agent.py "search the web for …"; or connect a model (agent.py models).'

PROBLEM_CHARACTERS = 160
"""How much of why a server is down a refusal quotes."""

FAILURE_CHARACTERS = 200
"""How much of a tool's error message a refusal quotes."""


class OfflineModel:
    """Plans with a grammar; the same request always gets the same reply."""

    name = "offline"
    traits = ModelTraits(deterministic=True, reads_text=False)
    """It sees no images, and no prompts either: it reads what would fill them."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply in one piece, from the request's `inputs`; the prompt's text is not read.

        A request that the planner does not understand is declined with the reason. Usage is one
        call without tokens, as no language model is involved.
        """
        try:
            yield TextDelta(_reply(request))
            yield ReplyEnd()
        except Refusal as refusal:
            yield TextDelta(explain(refusal))
            yield ReplyEnd(finish="refused")

    async def aclose(self) -> None:
        """Nothing to release."""


def _reply(request: ModelRequest) -> str:
    """The text for a request.

    Raises:
        Refusal: there is none.
    """
    match request.inputs:
        case PerceptionInputs() as inputs:
            return perceive(inputs)
        case DecisionInputs() as inputs:
            return plan(inputs)
        case None:
            raise Refusal("it writes plans, not texts")
        case _:
            assert_never(request.inputs)


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
    if may_hold_address(request) and (tools := _memory_or_web_tools(request, inputs.tools)):
        return "use_tool", tools
    with suppress(Refusal):
        return "arithmetic", needed_tools(parse(inputs.user_input, ANY_NUMBER), inputs)
    if tools := _memory_or_web_tools(request, inputs.tools):
        return "use_tool", tools
    searching = documents_tool(inputs.tools)
    if searching is not None and named_question(request, inputs.tools) is not None:
        return "ask_documents", [searching]
    if candidates := candidates_for(inputs):
        return "use_tool", [candidate.tool for candidate in candidates]
    if write_everyday_plan(inputs) is not None:
        of_file = file_call(bare(inputs.user_input), inputs.tools)
        return ("compute", []) if of_file is None else ("use_tool", [of_file[0]])
    return ("unknown" if open_question(request) is None else OPEN_QUESTION), []


def _memory_or_web_tools(request: str, tools: ToolCatalog) -> Sequence[ToolSpec]:
    called = memory_call(request, tools)
    return web_tools(request, tools) if called is None else [called.tool]


def _servers_by_words(request: str, inputs: PerceptionInputs) -> list[str]:
    """The servers whose description or tools share a word with the request."""
    said = terms(request)
    described = {server: terms(f"{server} {text}") for server, text in inputs.servers.items()}
    for tool in inputs.tools:
        known = described.get(tool.server, frozenset())
        described[tool.server] = known | terms(f"{tool.name} {tool.description}")
    return [server for server in inputs.servers if described[server] & said]


def plan(inputs: DecisionInputs) -> str:
    """The source of a plan that answers the request.

    Raises:
        Refusal: the request is not understood as a whole, has two readings, or its plan failed
            before and there is no other. Where a server is down, it may be the cause, and is named.
    """
    try:
        return _plan(inputs)
    except (Decided, Exhausted, Unsure):
        raise
    except Refusal as refusal:
        if not inputs.down:
            raise
        (server, why), *_ = inputs.down.items()
        told = quoted(why, PROBLEM_CHARACTERS).strip('"')
        reason = f"{refusal.reason}; {clause(told)}, and what it offers is not known"
        raise Refusal(reason, f"See what is wrong with it: agent.py mcp test {server}") from None


def plan_parts(inputs: DecisionInputs) -> TaskGraph | None:
    """The request as a graph of parts that can be planned; None if one plan answers it, or none.

    Blocks, so call it from a thread.
    """
    if _can_plan(inputs):
        return None
    alone = replace(inputs, history=(), texts=())
    return taken_apart(inputs.user_input, lambda part: _can_plan(replace(alone, user_input=part)))


def _can_plan(inputs: DecisionInputs) -> bool:
    with suppress(Refusal):
        plan(inputs)
        return True
    return False


def _plan(inputs: DecisionInputs) -> str:
    is_listing = inputs.user_input.startswith(LISTING) and not inputs.failed
    if is_listing and (source := write_results_plan(inputs)) is not None:
        return source
    number = None
    if inputs.history:
        request, history = repeated(inputs.user_input, inputs.history)
        inputs, number = replace(inputs, user_input=request, history=history), last_number(history)
    if inputs.failed:
        return _plan_again(inputs)
    if inputs.observation:
        check_observation(inputs.observation)
    if inputs.texts:
        if (source := write_plan_about_given(inputs)) is not None:
            return source
        inputs = with_given_numbers(inputs) or inputs
    return _plan_request(inputs, number)


def _plan_request(inputs: DecisionInputs, number: float | None) -> str:
    """A plan for the request as it stands; `number` is what "that" means in arithmetic."""
    if may_hold_address(inputs.user_input) and (source := _recalled_or_web(inputs)) is not None:
        return source
    try:
        question = parse(inputs.user_input, number)
    except Refusal as refusal:
        if (source := _recalled_or_web(inputs)) is not None:
            return source
        if isinstance(refusal, Decided):
            check_web_request(inputs.user_input, inputs.tools)
            raise
        if (source := _plan_for_tools(inputs)) is not None:
            return source
        is_sum = any(map(str.isdigit, inputs.user_input)) and "\n" not in inputs.user_input
        if is_sum or not isinstance(refusal, Misfit):
            raise refusal from None
        raise Beyond(_nearest(inputs)) from None
    return write_plan(question, inputs)


def _nearest(inputs: DecisionInputs) -> str:
    """What comes nearest to a request that nothing here answers; "" where nothing is near."""
    found = inputs.tools.search(inputs.user_input, 1)
    words = {word for word in terms(inputs.user_input) if len(word) >= NEAR_LETTERS}
    if not found or not words & terms(f"{found[0].name} {found[0].description}"):
        return ""
    tool = found[0]
    return f"the nearest is the tool {tool.qualified_name}: {shorten(tool.description, 100)}"


def _recalled_or_web(inputs: DecisionInputs) -> str | None:
    return write_memory_plan(inputs) or write_web_plan(inputs)


def _plan_for_tools(inputs: DecisionInputs) -> str | None:
    """What is no arithmetic: a question to the documents, any other tool, or a plain question.

    Raises:
        Refusal: tools fit, but the call can't be made; or it asks of a page what none can tell.
    """
    request, doubt = inputs.user_input, None
    asked, file = same_document(request, inputs.history)
    if (question := named_question(asked, inputs.tools)) is not None:
        return _asked_of_documents(inputs, question._replace(file=file), NO_DOCUMENT_TOOL)
    try:
        source = write_listing_plan(inputs) or write_tool_plan(inputs)
    except Decided:
        raise
    except Refusal as refusal:
        source, doubt = None, refusal
    if source := source or write_everyday_plan(inputs):
        return source
    check_web_request(request, inputs.tools)
    if doubt is not None:
        raise doubt
    if (question := open_question(request)) is not None:
        return _asked_of_documents(
            inputs, question, f"it is no calculation, and {NO_DOCUMENT_TOOL}"
        )
    if source := write_own_facts_plan(inputs):
        return source
    if subject := untold_subject(request):
        is_on_the_web = subject == "the present" and SEARCH_TOOL in {t.name for t in inputs.tools}
        reason = f"it asks about {subject}, of which no document and no connected tool tells"
        raise Refusal(reason, ASK_THE_WEB if is_on_the_web else "")
    return None


def _asked_of_documents(inputs: DecisionInputs, question: DocumentQuestion, without: str) -> str:
    source = write_document_plan(inputs, question)
    if source is None:
        raise Refusal(without, SEE_SERVERS)
    return source


def _plan_again(inputs: DecisionInputs) -> str:
    """Another plan after a failure: the same one would fail again."""
    source = write_other_plan(inputs)
    if source is None:
        raise Exhausted(_failure(inputs.failed[-1]))
    return source


def _failure(attempt: Attempt) -> str:
    refused = [call for call in attempt.calls if not call.ok]
    if not refused:
        return f"its plan failed: {quoted(str(attempt.failure), FAILURE_CHARACTERS)}"
    call = refused[-1]
    name = call.tool.rpartition(".")[2]
    answer = quoted(call.error_text, FAILURE_CHARACTERS).strip('"')
    return answer if call.refused else f"the tool {name} failed: {answer}"


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
