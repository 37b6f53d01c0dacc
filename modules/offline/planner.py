"""The decision of the offline planner: a plan, or why there is none."""

from dataclasses import replace

from core.base.text import clause
from core.ports import DecisionInputs
from core.turn import Attempt
from modules.offline.arithmetic.grammar import may_hold_address, parse
from modules.offline.arithmetic.plans import write_plan
from modules.offline.everyday.plans import (
    with_given_numbers,
    write_everyday_plan,
    write_plan_about_given,
)
from modules.offline.history import last_number, repeated
from modules.offline.quotes.document_plans import (
    check_observation,
    write_document_plan,
    write_listing_plan,
)
from modules.offline.quotes.document_questions import (
    DocumentQuestion,
    named_question,
    open_question,
    same_document,
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
    if may_hold_address(inputs.user_input) and (source := write_web_plan(inputs)) is not None:
        return source
    try:
        question = parse(inputs.user_input, number)
    except Refusal as refusal:
        if (source := write_web_plan(inputs)) is not None:
            return source
        if isinstance(refusal, Decided):
            check_web_request(inputs.user_input, inputs.tools)
            raise
        if (source := _plan_for_tools(inputs)) is None:
            raise refusal from None
        return source
    return write_plan(question, inputs)


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
