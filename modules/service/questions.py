"""What a person is asked while a request is answered, where there is no terminal.

A plan asks back, a server wants a form filled in, a call needs leave, a server's tools have
changed, a part of a graph needs a word. All of these are one kind of question here, which each door
puts to its person in its own way. Texts in it may be written by anybody: doors show them as text.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Final, Literal, TypeAlias

from core.asking import YES, Leave, LeaveQuestion
from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.redaction import Redactor
from core.base.text import shorten
from core.dispatch.hooks import DispatcherHooks, RunQuestions, ToolChange
from core.errors import UsageError
from core.mcp.form import FormError, read_form
from core.mcp.hooks import Question, Reply
from core.run.execution import current_step
from core.values import Json, JsonObject
from modules.team.needs import Wanted

QuestionKind: TypeAlias = Literal["question", "form", "visit", "approval", "changed_tools", "part"]
"""A plan's own; a form or a page of a server; leave for a call; tools that changed; a part's."""

TEXT_CHARACTERS_MAX: Final = 8_000
"""A longer text of a question is cut."""

DETAIL_CHARACTERS_MAX: Final = 20_000
"""A call with longer arguments, or a longer form, can't be checked by eye: nobody is asked."""

ASK_SECONDS: Final = 300.0
"""So long a person is waited for; then there is no answer."""

HOLDS: Final[Mapping[str, Literal["no", "once", "session", "always"]]] = {
    "no": "no",
    "once": "once",
    "session": "session",
    "always": "always",
}
"""The answers to a question for leave."""


@frozen
class PersonQuestion:
    """A question to the person whose request is answered.

    Attributes:
        id: unique; the answer names it.
        kind: what asks.
        text: what is asked.
        detail: what belongs to it: arguments of a call as JSON, definitions before and after.
        options: the answers there are, by their values, with words for people; none where the
            answer is a text or a form.
        form: JSON Schema of the object that is asked for.
        url: the page that a server sends the person to; it is not opened by us.
        default: what stands for no answer.
        tool: the call that needs leave, as `server.tool`; empty for other kinds.
        step: the part of a graph that asks; empty where that is none, or a server asks.
    """

    id: str
    kind: QuestionKind
    text: str
    detail: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    form: JsonObject = field(default_factory=dict[str, Json])
    url: str | None = None
    default: str | None = None
    tool: str = ""
    step: str = ""


@frozen
class PersonAnswer:
    """What the person said: one of the options or a text, or the values of a form.

    `declined`: the person does not want to answer.
    """

    text: str = ""
    content: JsonObject = field(default_factory=dict[str, Json])
    declined: bool = False


PutQuestion: TypeAlias = Callable[[PersonQuestion], Awaitable[PersonAnswer | None]]
"""Puts a question to the person; None where nobody is there, or answers."""


def check_answer(question: PersonQuestion, answer: PersonAnswer) -> None:
    """Let through what answers the question.

    Raises:
        UsageError: it is none of the values to choose from, or does not fit the form.
    """
    if answer.declined:
        return
    # Who allows no call may say in words what to do in its place.
    if question.options and question.kind != "approval" and answer.text not in question.options:
        known = ", ".join(question.options)
        raise UsageError(f"{shorten(answer.text, 80)!r} is no answer; 'text' is one of: {known}")
    if question.kind != "form":
        return
    fields = {field.name: field for field in read_form(question.form)}
    for name, value in answer.content.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise UsageError(f"the form has no field '{shorten(name, 80)}'; its fields: {known}")
        if not fields[name].fits(value):
            limits = json_start(fields[name].limits, 300)
            raise UsageError(f"the value of '{name}' does not fit: it is held against {limits}")
    missing = [name for name, field in fields.items() if field.required]
    if missing := [name for name in missing if name not in answer.content]:
        raise UsageError(f"'content' lacks {', '.join(missing)}")


async def _tell_nobody(text: str) -> None:
    """Keep it."""


class PersonQuestions:
    """Turns what the engine asks into questions for `put`, and answers into what it wants.

    While a question is open the clocks of plans stand still; it is open for `seconds` at most.
    What servers ask is counted for each request: `tell` hears when they ask too much.
    """

    def __init__(
        self,
        put: PutQuestion,
        redactor: Redactor,
        standing_still: Callable[[], AbstractContextManager[None]],
        seconds: float = ASK_SECONDS,
        tell: Callable[[str], Awaitable[None]] = _tell_nobody,
    ) -> None:
        """Ask nothing yet."""
        self._put_to_person = put
        self._redactor = redactor
        self._standing_still = standing_still
        self._seconds = seconds
        self._of_servers = RunQuestions(
            DispatcherHooks(on_notice=tell, ask=self._ask, approve=self._approve)
        )

    def begin_request(self) -> None:
        """Let servers ask again: what they asked for earlier requests no longer counts."""
        self._of_servers.begin_run()

    async def ask(self, question: Question) -> Reply:
        """A server's question (`core.mcp.hooks.Ask`)."""
        return await self._of_servers.ask(question)

    async def approve(self, changes: Sequence[ToolChange]) -> bool:
        """Whether a server's changed tools may be used (`core.dispatch.hooks.Approve`)."""
        return await self._of_servers.approve(changes)

    async def _ask(self, question: Question) -> Reply:
        redact = self._redactor
        try:
            fields = () if question.url is not None else read_form(question.fields)
        except FormError:
            return Reply("decline")
        if len(json_start(question.fields, DETAIL_CHARACTERS_MAX + 1)) > DETAIL_CHARACTERS_MAX:
            return Reply("decline")  # what is cut off is no form any more
        holds_secrets = redact.json(question.fields) != question.fields
        if holds_secrets or redact.text(question.url or "") != (question.url or ""):
            return Reply("decline")
        text = f"server '{question.server}' asks: {question.message}"
        if question.url is not None:
            options = {"done": "I have been there", "no": "I will not go there"}
            visit = PersonQuestion(_new_id(), "visit", text, options=options, url=question.url)
            answer = await self._put(visit)
            is_done = answer is not None and answer.text == "done"
            return Reply("accept" if is_done else "decline")
        form = question.fields if fields else {}
        answer = await self._put(PersonQuestion(_new_id(), "form", text, form=form))
        if answer is None:
            return Reply("cancel")
        return Reply("decline") if answer.declined else Reply("accept", answer.content)

    async def _approve(self, changes: Sequence[ToolChange]) -> bool:
        if not changes:
            return False
        detail = "\n\n".join(
            f"{change.tool}\nbefore:\n{change.before}\nnow:\n{change.after}" for change in changes
        )
        text = f"server '{changes[0].server}' has changed tools that you have used. Use them?"
        options = {"yes": "use them as they are now", "no": "leave them out"}
        answer = await self._put(PersonQuestion(_new_id(), "changed_tools", text, detail, options))
        return answer is not None and answer.text == "yes"

    async def allow(self, question: LeaveQuestion) -> Leave | None:
        """The answer to a question for leave (`core.asking.AskLeave`)."""
        question = question.redacted(self._redactor)
        told: list[Json] = [
            {each.name: {"value": each.value, "from": each.origin} for each in call.values}
            for call in question.calls
        ]
        detail = json_start(told if len(told) > 1 else told[0], DETAIL_CHARACTERS_MAX + 1)
        if len(detail) > DETAIL_CHARACTERS_MAX:
            return None
        meant = shorten(", ".join(question.rules), 500)
        options = {"once": "yes, once"}
        if question.rules:
            options["session"] = f"yes, in this conversation, for {meant}"
            options["always"] = f"yes, always, for {meant}"
        options["no"] = "no"
        number = len(question.calls)
        times = f" {number} times" if number > 1 else ""
        why = "; ".join(question.why)
        text = f"may the plan call {question.tool}{times}? You are asked because {why}"
        answer = await self._put(
            PersonQuestion(
                _new_id(),
                "approval",
                text,
                detail,
                options,
                tool=question.tool,
                step=current_step(),
            )
        )
        if answer is None:
            return None
        said = answer.text.strip()
        holds = "once" if said.lower() in YES else HOLDS.get(said, "no")
        return Leave(holds, "" if holds != "no" or said in HOLDS else said)

    async def ask_back(self, question: str) -> str | None:
        """The answer to a plan's question (`core.ports.AskUser`)."""
        asked = PersonQuestion(_new_id(), "question", question, step=current_step())
        answer = await self._put(asked)
        return None if answer is None or answer.declined else answer.text.strip() or None

    async def ask_for(self, wanted: Wanted) -> str | None:
        """What the person says to a part that needs leave or an answer (`modules.team.needs`)."""
        subtask = wanted.subtask
        shown = [wanted.asked] if subtask.needs == "approval" and subtask.question else []
        shown += [f"{name}:\n{text}" for name, text in wanted.texts.items()]
        options = {"yes": "yes", "no": "no"} if subtask.needs == "approval" else {}
        text = f"the part '{subtask.id}' asks: {wanted.question}"
        answer = await self._put(
            PersonQuestion(
                _new_id(),
                "part",
                text,
                "\n\n".join(shown),
                options,
                default=subtask.default,
                step=subtask.id,
            )
        )
        if answer is None:
            return None
        return "" if answer.declined else answer.text.strip()

    async def _put(self, asked: PersonQuestion) -> PersonAnswer | None:
        redact = self._redactor.text
        shown = replace(
            asked,
            text=shorten(redact(asked.text), TEXT_CHARACTERS_MAX),
            detail=shorten(redact(asked.detail), DETAIL_CHARACTERS_MAX),
            options={value: redact(words) for value, words in asked.options.items()},
        )
        with self._standing_still():
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._put_to_person(shown)
            except TimeoutError:
                return None


def _new_id() -> str:
    return uuid.uuid4().hex
