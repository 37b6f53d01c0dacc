"""How an editor's user is asked: by permission requests, by forms, or in the chat.

A permission request has buttons: it serves whatever has options. The protocol has no question with
a free answer but `elicitation/create`, which is new, and few editors have it. Where it is missing,
a question ends the turn as text, and the next prompt is the answer.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.base.redaction import Redactor
from core.base.text import one_line, with_hidden_shown
from core.mcp.peer import RpcError, Unanswered
from core.provenance.known import ProvenancePolicy
from core.values import Json, JsonObject
from modules.planning.guidance.project import GuidanceText
from modules.service.acp.calls import TITLE_CHARACTERS, call_told, text_content
from modules.service.acp.door import Editor
from modules.service.acp.updates import RunUpdates
from modules.service.questions import TEXT_CHARACTERS_MAX, PersonAnswer, PersonQuestion
from modules.terminal.asking.file_changes import file_change

AskInChat: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Puts a question to the user as text, and waits for the next prompt."""

OptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

NEVER: Final = "never"
"""A no that holds for the tool as long as the session is open."""

_KINDS: Final[Mapping[str, OptionKind]] = {
    "once": "allow_once",
    "session": "allow_always",
    "always": "allow_always",
    "yes": "allow_once",
    "done": "allow_once",
    "trust": "allow_always",
    "distrust": "reject_always",
    NEVER: "reject_always",
}
"""The protocol's kinds of our answers; a no is `reject_once`."""

_ANSWER: Final = "answer"


class EditorQuestions:
    """Puts the questions of one session's runs (`modules.service.questions.PutQuestion`).

    Attributes:
        policy: says which files may be read, to show how a call would change them.
    """

    def __init__(
        self,
        session_id: str,
        editor: Editor,
        ask_in_chat: AskInChat,
        updates: RunUpdates,
        redactor: Redactor,
        folder: Path,
    ) -> None:
        """`folder` is where relative paths start."""
        self._session_id = session_id
        self._ask = editor.ask
        self._abilities = editor.abilities()
        self._ask_in_chat = ask_in_chat
        self._updates = updates
        self._redactor = redactor
        self._folder = folder
        self._refused: set[str] = set()
        self._numbers = itertools.count(1)
        self.policy = ProvenancePolicy()

    async def put(self, question: PersonQuestion) -> PersonAnswer | None:
        """The user's answer to a question of a run; None where there is none."""
        if question.tool in self._refused:
            return PersonAnswer("no")
        if question.url is not None and self._abilities.visits:
            return await self._send_to_page(question)
        if question.options:
            return await self._choose(question)
        if question.kind == "form":
            return await self._fill_in(question) if self._abilities.forms else None
        if self._abilities.forms:
            return await self._answer_in_form(question)
        text = await self._ask_in_chat("\n\n".join(filter(None, (question.text, question.detail))))
        return None if text is None else PersonAnswer(text)

    async def trust(self, text: GuidanceText) -> bool | None:
        """Whether a text of the project may reach a model (`guide.Confirm`); None: no answer."""
        told = "\n\n".join(filter(None, (text.description, text.text)))
        shown: JsonObject = {
            "title": one_line(f"Trust the {text.kind} {text.name}?", TITLE_CHARACTERS),
            "kind": "read",
            "content": [text_content(self._redactor.text(told[:TEXT_CHARACTERS_MAX]))],
            "locations": [{"path": str(text.path)}],
        }
        options = {
            "trust": "Trust it as it is now: a model will do as it says",
            "distrust": "Leave it out",
        }
        chosen = await self._permission(shown, options)
        return None if chosen is None else chosen == "trust"

    async def _choose(self, question: PersonQuestion) -> PersonAnswer | None:
        options = dict(question.options)
        if question.tool:
            shown = await asyncio.to_thread(self._call_shown, question)
            options[NEVER] = "no, and no more questions about this tool in this session"
        else:
            shown = _question_shown(question)
        chosen = await self._permission(shown, options, question.tool)
        if chosen == NEVER:
            self._refused.add(question.tool)
            return PersonAnswer("no")
        return None if chosen is None else PersonAnswer(chosen)

    def _call_shown(self, question: PersonQuestion) -> JsonObject:
        """A call that needs leave: why, its arguments, and how a file would differ."""
        try:
            arguments: JsonObject = json.loads(question.detail)
        except ValueError:  # levels or digits that are not written out
            arguments = {}
        shown = call_told(question.tool, arguments, self._redactor, self._folder)
        told = f"{question.text}\n\n```json\n{question.detail}\n```"
        content: list[Json] = [text_content(with_hidden_shown(told))]
        change = file_change(question.tool, arguments, self.policy)
        if change is not None:
            clean = change.redacted(self._redactor)
            path = str(self._folder / change.name)
            diff: JsonObject = {"type": "diff", "path": path, "oldText": clean.before}
            content.append({**diff, "newText": clean.after})
        return {**shown, "content": content}

    async def _permission(
        self, shown: JsonObject, options: Mapping[str, str], tool: str = ""
    ) -> str | None:
        """The option that the user chooses; None where the turn is cancelled."""
        id_ = f"question-{next(self._numbers)}"
        await self._updates.ask_about(id_, shown)
        offered: list[Json] = [
            {"optionId": value, "name": words, "kind": _KINDS.get(value, "reject_once")}
            for value, words in options.items()
        ]
        asked: JsonObject = {"toolCallId": id_, **shown, "status": "pending"}
        chosen: Json = None
        try:
            answer = await self._ask(
                "session/request_permission",
                {"sessionId": self._session_id, "toolCall": asked, "options": offered},
            )
            outcome = answer.get("outcome")
            if isinstance(outcome, dict) and outcome.get("outcome") == "selected":
                chosen = outcome.get("optionId")
        except (RpcError, Unanswered):
            pass  # the editor can't ask, or is gone
        is_offered = isinstance(chosen, str) and chosen in options
        is_allowed = is_offered and _KINDS.get(str(chosen), "").startswith("allow")
        await self._updates.settle(id_, tool, is_allowed=is_allowed)
        return str(chosen) if is_offered else None

    async def _fill_in(self, question: PersonQuestion) -> PersonAnswer | None:
        return await self._elicit(
            {"mode": "form", "message": question.text, "requestedSchema": question.form or _NO_FORM}
        )

    async def _answer_in_form(self, question: PersonQuestion) -> PersonAnswer | None:
        field: JsonObject = {"type": "string", "title": "Answer", "minLength": 1}
        form: JsonObject = {
            "type": "object",
            "properties": {_ANSWER: field},
            "required": [_ANSWER],
        }
        text = "\n\n".join(filter(None, (question.text, question.detail)))
        answer = await self._elicit({"mode": "form", "message": text, "requestedSchema": form})
        if answer is None or answer.declined:
            return answer
        return PersonAnswer(str(answer.content.get(_ANSWER, "")))

    async def _send_to_page(self, question: PersonQuestion) -> PersonAnswer | None:
        asked: JsonObject = {"mode": "url", "message": question.text, "url": question.url}
        answer = await self._elicit({**asked, "elicitationId": question.id})
        return answer if answer is None or answer.declined else PersonAnswer("done")

    async def _elicit(self, asked: JsonObject) -> PersonAnswer | None:
        """What the user fills in; None where they cancel, or the editor can't ask."""
        try:
            answer = await self._ask("elicitation/create", {"sessionId": self._session_id, **asked})
        except (RpcError, Unanswered):
            return None
        if answer.get("action") == "decline":
            return PersonAnswer(declined=True)
        content = answer.get("content")
        if answer.get("action") != "accept":
            return None
        return PersonAnswer(content=content if isinstance(content, dict) else {})


def _question_shown(question: PersonQuestion) -> JsonObject:
    """A question about no call: its words, where it leads, what belongs to it."""
    told = (question.text, question.url or "", question.detail)
    content: list[Json] = [text_content(with_hidden_shown(each)) for each in told if each]
    title = one_line(question.text, TITLE_CHARACTERS)
    return {"title": title, "kind": "other", "content": content}


_NO_FORM: Final[JsonObject] = {"type": "object", "properties": {}}
