"""The decision of the offline planner: a plan, or why there is none."""

from dataclasses import replace

from core.base.text import clause
from core.ports import DecisionInputs
from core.turn import Attempt
from modules.offline.arithmetic.grammar import parse
from modules.offline.arithmetic.plans import write_plan
from modules.offline.everyday.given import with_given_numbers
from modules.offline.everyday.plans import write_everyday_plan, write_plan_about_given
from modules.offline.everyday.session import repeated
from modules.offline.history import last_number
from modules.offline.quotes.document_plans import (
    check_observation,
    write_document_plan,
    write_listing_plan,
)
from modules.offline.quotes.document_questions import (
    documents_tool,
    named_question,
    open_question,
    untold_subject,
)
from modules.offline.refusal import Decided, Exhausted, Refusal, Unsure, quoted
from modules.offline.tools.plans import write_other_plan, write_tool_plan
from modules.offline.web.plans import SEARCH_TOOL, check_web_request, write_web_plan

NO_DOCUMENT_TOOL = "no server is connected that searches documents"
SEE_SERVERS = "See agent.py mcp status: it says which servers there are, and how each fares."

ASK_THE_WEB = 'The web may: agent.py "search the web for …"; or connect a model (agent.py models).'

PROBLEM_CHARACTERS = 160
"""How much of why a server is down a refusal quotes."""

FAILURE_CHARACTERS = 200
"""How much of a tool's error message a refusal quotes."""


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


def _plan(inputs: DecisionInputs) -> str:
    request, history = repeated(inputs.user_input, inputs.history)
    inputs = replace(inputs, user_input=request, history=history)
    if inputs.failed:
        return _plan_again(inputs)
    check_observation(inputs)
    if inputs.texts and (source := write_plan_about_given(inputs)) is not None:
        return source
    inputs = with_given_numbers(inputs) or inputs
    # First, because addresses are full of what looks like arithmetic.
    if (source := write_web_plan(inputs)) is not None:
        return source
    try:
        question = parse(inputs.user_input, last_number(inputs.history))
    except Decided:
        check_web_request(inputs.user_input, inputs.tools)
        raise
    except Refusal as refusal:
        source = _plan_for_tools(inputs)
        if source is None:
            raise refusal from None
        return source
    return write_plan(question, inputs)


def is_surely_planned(inputs: DecisionInputs) -> bool:
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


def _plan_for_tools(inputs: DecisionInputs) -> str | None:
    """What is no arithmetic: a question to the documents, any other tool, or a plain question.

    Raises:
        Refusal: tools fit, but the call can't be made; or it asks of a page what none can tell.
    """
    question = named_question(inputs.user_input, inputs.tools)
    named = write_document_plan(inputs, question) if question is not None else None
    if question is not None and named is None:
        raise Refusal(NO_DOCUMENT_TOOL, SEE_SERVERS)
    try:
        source = named or write_listing_plan(inputs) or write_tool_plan(inputs)
    except Decided:
        raise
    except Refusal:
        if (everyday := write_everyday_plan(inputs)) is not None:
            return everyday
        check_web_request(inputs.user_input, inputs.tools)
        raise
    if source is None and (source := write_everyday_plan(inputs)) is None:
        check_web_request(inputs.user_input, inputs.tools)
    question = open_question(inputs.user_input) if source is None else None
    if question is not None and documents_tool(inputs.tools) is None:
        raise Refusal(f"it is no calculation, and {NO_DOCUMENT_TOOL}", SEE_SERVERS)
    if source is None and question is None and (subject := untold_subject(inputs.user_input)):
        is_on_the_web = subject == "the present" and SEARCH_TOOL in {t.name for t in inputs.tools}
        advice = ASK_THE_WEB if is_on_the_web else ""
        told = "of which no document and no connected tool tells"
        raise Refusal(f"it asks about {subject}, {told}", advice)
    return write_document_plan(inputs, question) if question is not None else source


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
