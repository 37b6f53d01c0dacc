"""What the engine asks the person whose request is answered, whatever the door (`core.asking`)."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from core.asking import YES, Answer, Leave, LeaveQuestion, Person, Question, leave_of
from core.base.json_text import json_start
from core.base.redaction import Redactor
from core.base.text import one_line, shorten, with_hidden_shown
from core.dispatch.hooks import DispatcherHooks, RunQuestions, ToolChange
from core.errors import UsageError
from core.mcp import hooks
from core.mcp.form import FormError, read_form
from core.mcp.hooks import Reply
from core.run.execution import current_step
from core.values import Json
from modules.team.needs import Wanted

TEXT_CHARACTERS_MAX: Final = 8_000
"""A longer text of a question is cut."""

DETAIL_CHARACTERS_MAX: Final = 20_000
"""Calls with longer arguments, or a longer form, can't be checked by eye: nobody is asked."""

ASK_SECONDS: Final = 300.0
"""So long a person is waited for; then there is no answer."""


ATTEMPTS_MAX: Final = 3
"""So often a question is put where the answer does not fit it."""


def fitting(question: Question, answer: Answer) -> Answer:
    """The answer, where it fits the question; "y" is a "yes".

    Raises:
        UsageError: it is none of the values to choose from, does not fit the form, or can't be
            meant as leave.
    """
    if question.kind == "approval":
        leave_of(question, answer)
        return answer
    if answer.rule or answer.only is not None:
        raise UsageError("'rule' and 'only' answer a question for leave, which this is not")
    if answer.declined:
        return answer
    if question.kind == "form":
        _check_form(question, answer)
    elif question.options and answer.text not in question.options:
        word = answer.text.strip().lower()
        meant = "yes" if word in YES else "no" if word in ("n", "no") else word
        if meant not in question.options and question.kind != "part":  # whose no has words, too
            known = ", ".join(question.options)
            raise UsageError(
                f"{shorten(answer.text, 80)!r} is no answer; 'text' is one of: {known}"
            )
        return replace(answer, text=meant) if meant in question.options else answer
    return answer


def _check_form(question: Question, answer: Answer) -> None:
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


class Asker:
    """Turns what the engine asks into questions for a `person`, and answers into what it wants.

    While a question is open the clocks of plans stand still; it is open for `seconds` at most.
    What servers ask is counted for each request: `tell` hears when they ask too much.
    """

    def __init__(
        self,
        person: Person,
        redactor: Redactor,
        standing_still: Callable[[], AbstractContextManager[None]],
        seconds: float = ASK_SECONDS,
        tell: Callable[[str], Awaitable[None]] = _tell_nobody,
    ) -> None:
        """Ask nothing yet."""
        self._person = person
        self._redactor = redactor
        self._standing_still = standing_still
        self._seconds = seconds
        self._of_servers = RunQuestions(
            DispatcherHooks(on_notice=tell, ask=self._ask, approve=self._approve)
        )

    def begin_request(self) -> None:
        """Let servers ask again: what they asked for earlier requests no longer counts."""
        self._of_servers.begin_run()

    async def ask(self, question: hooks.Question) -> Reply:
        """A server's question (`core.mcp.hooks.Ask`)."""
        return await self._of_servers.ask(question)

    async def approve(self, changes: Sequence[ToolChange]) -> bool:
        """Whether a server's changed tools may be used (`core.dispatch.hooks.Approve`)."""
        return await self._of_servers.approve(changes)

    async def _ask(self, question: hooks.Question) -> Reply:
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
            visit = Question("", "visit", text, options=options, url=question.url)
            answer = await self._put(visit)
            is_done = answer is not None and answer.text == "done"
            return Reply("accept" if is_done else "decline")
        form = question.fields if fields else {}
        answer = await self._put(Question("", "form", text, form=form))
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
        answer = await self._put(Question("", "changed_tools", text, detail, options))
        return answer is not None and answer.text == "yes"

    async def allow(self, question: LeaveQuestion) -> Leave | None:
        """The answer to a question for leave (`core.asking.AskLeave`)."""
        question = question.redacted(self._redactor)
        told: list[Json] = [{v.name: v.value for v in call.values} for call in question.calls]
        if len(json_start(told, DETAIL_CHARACTERS_MAX + 1)) > DETAIL_CHARACTERS_MAX:
            return None
        by = "the rules" if question.rules[1:] else "the rule" if question.rules else "your rule"
        options = {
            "once": "yes, once",
            "session": f"yes, in this conversation, by {by}",
            "always": f"yes, always, by {by}",
            "no": "no",
        }
        number = len(question.calls)
        asked = Question(
            "",
            "approval",
            f"may the plan call {question.tool}{f' {number} times' if number > 1 else ''}?",
            options=options,
            tool=question.tool,
            step=current_step(),
            calls=question.calls,
            why=question.why,
            rules=question.rules,
        )
        answer = await self._put(asked)
        return None if answer is None else leave_of(asked, answer)

    async def ask_back(self, question: str) -> str | None:
        """The answer to a plan's question (`core.ports.AskUser`)."""
        asked = Question("", "question", question, step=current_step())
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
            Question(
                "",
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

    async def _put(self, asked: Question) -> Answer | None:
        redact = self._redactor.text
        shown = replace(
            asked,
            id=_new_id(),
            text=shorten(redact(asked.text), TEXT_CHARACTERS_MAX),
            detail=shorten(redact(asked.detail), DETAIL_CHARACTERS_MAX),
            options={value: redact(words) for value, words in asked.options.items()},
        )
        with self._standing_still():
            try:
                async with asyncio.timeout(self._seconds):
                    return await until_fitting(self._person, shown)
            except TimeoutError:
                return None


async def until_fitting(person: Person, question: Question) -> Answer | None:
    """The person's answer that fits; what does not is told, and the question is put again."""
    asked = question
    for _ in range(ATTEMPTS_MAX):
        if (answer := await person(asked)) is None:
            return None
        try:
            return fitting(question, answer)
        except UsageError as error:
            text = f"That was no answer: {error}.\n{question.text}"
            asked = replace(question, id=_new_id(), text=text)
    return None


def calls_text(question: Question) -> str:
    """The calls of a question for leave as lines: values with where they come from, why, rules."""
    lines: list[str] = []
    for at, call in enumerate(question.calls, 1):
        lines += [f"Call {at} of {len(question.calls)}:"] if len(question.calls) > 1 else []
        for each in call.values:
            value = json_start(each.value, DETAIL_CHARACTERS_MAX)
            lines.append(f"{one_line(each.name)}: {value}  ← {one_line(each.origin)}")
        lines += [] if call.values else ["no arguments"]
    lines += [f"You are asked because {'; '.join(question.why)}."]
    lines += [f"Kept by 'session' and 'always': {rule}" for rule in question.rules]
    return with_hidden_shown("\n".join(lines))


def _new_id() -> str:
    return uuid.uuid4().hex
