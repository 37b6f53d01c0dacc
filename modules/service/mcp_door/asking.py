"""`ask`: a run of the service for a client, which is told of it and asked through it."""

import asyncio
from contextlib import suppress
from typing import Final

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from core.asking import Question
from core.base.json_text import json_start
from core.base.text import counted
from core.run.execution import ExecutionContext
from core.tools.json_schema import as_object
from core.turn import Usage, Verdict
from modules.service.mcp_door.work import Work
from modules.service.served.events import ServiceEvent
from modules.service.served.runs import NoSuchQuestion, Runs, ServedRun
from modules.session.request import clean_request
from modules.terminal.wording import VALUE_CHARACTERS, arguments_text

_TOLD: Final = {
    "run.queued": "waits for its turn, at place {place}",
    "supervisor.thinking": "{model} is asked for {stage}",
    "plan.written": "plan {attempt_number} of step {number} is written",
    "plan.failed": "plan {attempt_number} of step {number} failed: {failure}",
    "model.trouble": "{model}: {message}",
    "tool.start": "calls {tool}({arguments})",
    "tool.progress": "{tool}: {message}",
    "tool.complete": "{tool} → {result}",
    "tool.error": "{tool} failed: {message}",
    "workflow.created": "goes on in {steps}",
    "workflow.step.start": "begins",
    "workflow.step.complete": "{state}: {text}",
    "notice": "{text}",
}
"""What a client is told of an event, by its name; of others nothing."""


class AskResult(BaseModel):
    """The answer, or why there is none."""

    answer: str | None = Field(description="null where there is none")
    status: str = Field(description="done, no_answer, failed or interrupted")
    verdict: Verdict | None = Field(
        description="satisfied, need_more or blocked; null where nobody judged the answer"
    )
    grounded: bool | None = Field(
        description="false of an answer that is from the model's own knowledge: nothing was looked "
        "up; null without an answer"
    )
    message: str = Field(description="why there is no answer, or what is to be known beside it")
    session_id: str = Field(description="goes on with this conversation when it is given back")
    trace_id: str
    usage: Usage = Field(
        description="tokens, and cost in US dollars, of the models that were asked"
    )


async def ask(
    runs: Runs, work: Work, request: str, session_id: str | None, execution: ExecutionContext
) -> CallToolResult:
    """The answer to a request, in a session that goes on or in a new one.

    Raises:
        UsageError: the request or the id can't be used.
        Busy: the session answers another request, or too many are under way.
    """
    caller = work.call.caller
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
    notes = await _follow(run, work)
    if (outcome := run.outcome) is None:
        raise RuntimeError("a run of this process ended without an outcome")
    result = AskResult(
        answer=outcome.answer,
        status=outcome.status,
        verdict=outcome.verdict,
        grounded=outcome.grounded,
        message=outcome.message or "; ".join(notes),
        session_id=run.conversation_id or "",
        trace_id=execution.trace_id,
        usage=outcome.usage,
    )
    texts = [outcome.message if outcome.answer is None else outcome.answer, *notes]
    return CallToolResult(
        content=[TextContent(text=text) for text in texts],
        structured_content=result.model_dump(mode="json"),
        is_error=outcome.answer is None,
    )


async def _follow(run: ServedRun, work: Work) -> list[str]:
    """Tell what happens and ask what is asked, to the end of the run; what was said of memory."""
    asking: dict[str, asyncio.Task[None]] = {}
    notes: list[str] = []
    try:
        async for event in run.events():
            if event.name == "clarify.request":
                with suppress(NoSuchQuestion):
                    question = run.question(str(as_object(event.data["question"])["id"]))
                    asking[question.id] = asyncio.create_task(_put(question, run, work))
            elif event.name == "clarify.answered":
                if task := asking.pop(str(event.data["question_id"]), None):
                    task.cancel()  # it is open no more, whether there was an answer or not
            elif text := _told(event):
                work.tell(text)
            if event.name == "notice" and event.data["source"] == "memory":
                notes.append(str(event.data["text"]))
    except asyncio.CancelledError:
        run.cancel()
        raise
    finally:
        for task in asking.values():
            task.cancel()
    return notes


async def _put(question: Question, run: ServedRun, work: Work) -> None:
    put = work.put_question
    answer = None if put is None else await put(question)
    with suppress(NoSuchQuestion):
        run.answer(question.id, answer)


def _told(event: ServiceEvent) -> str:
    """What a client is told of an event: plans, calls, parts, troubles."""
    if event.name not in _TOLD:
        return ""
    told = dict(event.data)
    match event.name:
        case "tool.start":
            told["arguments"] = arguments_text(as_object(told["arguments"]))
        case "tool.progress":
            told["message"] = told["message"] or told["progress"]
        case "tool.complete":
            told["result"] = json_start(told["result"], VALUE_CHARACTERS)
        case "workflow.created" if isinstance(steps := told["steps"], list):
            told["steps"] = counted(len(steps), "part")
        case _:
            pass
    part = told.get("step")
    return (f"{part}: " if isinstance(part, str) else "") + _TOLD[event.name].format_map(told)
