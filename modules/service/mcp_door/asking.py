"""`ask`: a run of the service for a client, which is told of it and asked through it."""

import asyncio
from contextlib import suppress
from typing import Final

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field, TypeAdapter

from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.text import counted
from core.run.execution import ExecutionContext
from core.tools.json_schema import as_object
from core.turn import RunOutcome, Usage
from modules.service.mcp_door.work import Work
from modules.service.pool import DEFAULT_PROFILE, User
from modules.service.questions import PersonQuestion
from modules.service.served.events import ServiceEvent
from modules.service.served.runs import NoSuchQuestion, Runs, ServedRun
from modules.session.request import clean_request
from modules.terminal.wording import VALUE_CHARACTERS, arguments_text

_QUESTION: Final = TypeAdapter(PersonQuestion)

_TOLD: Final = {
    "run.queued": "waits for its turn, at place {place}",
    "supervisor.thinking": "{model} is asked for {stage}",
    "plan.written": "plan {attempt_number} of step {number} is written",
    "plan.failed": "plan {attempt_number} of step {number} failed: {failure}",
    "model.trouble": "{model}: {message}",
    "tool.error": "{tool} failed: {message}",
    "workflow.step.start": "begins",
    "workflow.step.complete": "{state}: {text}",
    "notice": "{text}",
}
"""What a client is told of an event, by its name; of others nothing."""


@frozen
class Caller:
    """Whose client it is, and by which profile it is answered."""

    user: User = User()
    profile: str = DEFAULT_PROFILE


class AskResult(BaseModel):
    """The answer, or why there is none."""

    answer: str | None = Field(description="null where there is none")
    status: str = Field(description="done, no_answer, failed or interrupted")
    message: str = Field(description="why there is no answer")
    session_id: str = Field(description="goes on with this conversation when it is given back")
    trace_id: str
    usage: Usage = Field(
        description="tokens, and cost in US dollars, of the models that were asked"
    )


async def ask(
    runs: Runs,
    work: Work,
    caller: Caller,
    request: str,
    session_id: str | None,
    execution: ExecutionContext,
) -> CallToolResult:
    """The answer to a request, in a session that goes on or in a new one.

    Raises:
        UsageError: the request or the id can't be used.
        Busy: the session answers another request, or too many are under way.
    """
    run = await runs.start(
        caller.user,
        clean_request(request),
        profile=caller.profile,
        conversation_id=session_id,
        execution=execution,
    )

    def interrupt() -> bool:
        run.cancel()
        return True

    work.interrupt = interrupt
    await _follow(run, work)
    if run.outcome is None:
        raise RuntimeError("a run of this process ended without an outcome")
    return _result(run.outcome, run.conversation_id or "", execution.trace_id)


async def _follow(run: ServedRun, work: Work) -> None:
    """Tell what happens and ask what is asked, to the end of the run."""
    asking: dict[str, asyncio.Task[None]] = {}
    try:
        async for event in run.events():
            match event.name:
                case "clarify.request":
                    question = _QUESTION.validate_python(event.data["question"])
                    asking[question.id] = asyncio.create_task(_put(question, run, work))
                case "clarify.answered":
                    if task := asking.pop(str(event.data["question_id"]), None):
                        task.cancel()  # it is open no more, whether there was an answer or not
                case _:
                    if text := _told(event):
                        work.tell(text)
    except asyncio.CancelledError:
        run.cancel()
        raise
    finally:
        for task in asking.values():
            task.cancel()


async def _put(question: PersonQuestion, run: ServedRun, work: Work) -> None:
    put = work.put_question
    answer = None if put is None else await put(question)
    with suppress(NoSuchQuestion):
        run.answer(question.id, answer)


def _told(event: ServiceEvent) -> str:
    """What a client is told of an event: plans, calls, parts, troubles."""
    data = event.data
    match event.name:
        case "tool.start":
            text = f"calls {data['tool']}({arguments_text(as_object(data['arguments']))})"
        case "tool.complete":
            text = f"{data['tool']} → {json_start(data['result'], VALUE_CHARACTERS)}"
        case "tool.progress":
            text = f"{data['tool']}: {data['message'] or data['progress']}"
        case "workflow.created":
            steps = data["steps"]
            text = f"goes on in {counted(len(steps) if isinstance(steps, list) else 0, 'part')}"
        case name:
            text = _TOLD[name].format_map(data) if name in _TOLD else ""
    part = data.get("step")
    return f"{part}: {text}" if text and isinstance(part, str) else text


def _result(outcome: RunOutcome, session_id: str, trace_id: str) -> CallToolResult:
    """The answer as text and in structure; an error that says why, where there is none."""
    result = AskResult(
        answer=outcome.answer,
        status=outcome.status,
        message=outcome.message,
        session_id=session_id,
        trace_id=trace_id,
        usage=outcome.usage,
    )
    text = outcome.answer if outcome.answer is not None else outcome.message
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=result.model_dump(mode="json"),
        is_error=outcome.answer is None,
    )
