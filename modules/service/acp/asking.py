"""How an editor's user is asked: by permission requests, by forms, or in the chat.

A permission request has buttons: it serves whatever has options. A question with a free answer ends
the turn as text, and the next prompt is the answer. Forms of servers need an editor that has forms.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.asking import Answer, Question
from core.base.redaction import Redactor
from core.base.text import one_line, with_hidden_shown
from core.mcp.peer import RpcError, Unanswered
from core.provenance.known import ProvenancePolicy
from core.tools.json_schema import as_object
from core.values import Json, JsonObject
from modules.asking import TEXT_CHARACTERS_MAX, calls_text
from modules.planning.guidance.project import GuidanceText
from modules.service.acp.calls import TITLE_CHARACTERS, call_told, text_content
from modules.service.acp.door import Editor
from modules.service.acp.updates import RunUpdates
from modules.terminal.asking.file_changes import file_change

AskInChat: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Puts a question to the user as text, and waits for the next prompt."""

OptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

NEVER: Final = "never"
"""A no that holds for the tool as long as the session is open."""

OTHER: Final = "other"
"""An answer that no button is for."""

_KINDS: Final[Mapping[str, OptionKind]] = {
    "once": "allow_once",
    "always": "allow_always",
    "yes": "allow_once",
    "done": "allow_once",
    "trust": "allow_always",
    "distrust": "reject_always",
    NEVER: "reject_always",
}
"""The protocol's kinds of our answers; a no is `reject_once`."""


class EditorQuestions:
    """Puts the questions of one session's runs (`modules.asking.Person`).

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
        self._editor = editor
        self._ask_in_chat = ask_in_chat
        self._updates = updates
        self._redactor = redactor
        self._folder = folder
        self._refused: set[str] = set()
        self._numbers = itertools.count(1)
        self.policy = ProvenancePolicy()

    async def put(self, question: Question) -> Answer | None:
        """The user's answer to a question of a run; None where there is none."""
        if question.tool in self._refused:
            return Answer("no")
        if question.options:
            return await self._choose(question)
        if question.kind == "form":
            return await self._fill_in(question) if self._editor.has_forms else None
        text = "\n\n".join(filter(None, (question.text, question.detail)))
        said = await self._ask_in_chat(text)
        return None if said is None else Answer(said)

    async def trust(self, text: GuidanceText) -> bool | None:
        """Whether a text of the project may reach a model (`guide.Confirm`); None: no answer."""
        told = "\n\n".join(filter(None, (text.description, text.text)))
        shown: JsonObject = {
            "title": one_line(f"Trust the {text.kind} {text.name}?", TITLE_CHARACTERS),
            "kind": "other",  # no editor allows it without asking
            "content": [text_content(self._redactor.text(told[:TEXT_CHARACTERS_MAX]))],
            "locations": [{"path": str(text.path)}],
        }
        options = {
            "trust": "Trust it as it is now: a model will do as it says",
            "distrust": "Leave it out",
        }
        chosen = await self._permission(shown, options)
        return None if chosen is None else chosen == "trust"

    async def _choose(self, question: Question) -> Answer | None:
        options = dict(question.options)
        if question.kind == "approval":
            shown = await asyncio.to_thread(self._call_shown, question)
            # editors have a key for each kind: what is rarer than these is said in the chat
            options.pop("session", None)
            if not question.rules:
                options.pop("always", None)
            options[NEVER] = "no, and no more questions about this tool in this session"
            options[OTHER] = "something else, which you say in the chat"
        else:
            told = filter(None, (question.text, question.url, question.detail))
            content: list[Json] = [text_content(with_hidden_shown(each)) for each in told]
            shown: JsonObject = {"title": one_line(question.text, TITLE_CHARACTERS)}
            shown |= {"kind": "other", "content": content}
        chosen = await self._permission(shown, options, question.tool)
        if chosen == NEVER:
            self._refused.add(question.tool)
            return Answer("no")
        if chosen == OTHER:
            said = await self._ask_in_chat(_how_to_say(question))
            return None if said is None else _said_of_leave(question, said)
        return None if chosen is None else Answer(chosen)

    def _call_shown(self, question: Question) -> JsonObject:
        """Calls that need leave: how a file would differ, arguments with their origins, why."""
        each: list[JsonObject] = [{v.name: v.value for v in c.values} for c in question.calls]
        is_one = len(each) == 1
        arguments: JsonObject = each[0] if is_one else {"calls": [*each]}
        shown = call_told(question.tool, arguments, self._redactor, self._folder)
        told = with_hidden_shown(question.text)
        content: list[Json] = [text_content(f"{told}\n\n```\n{calls_text(question)}\n```")]
        change = file_change(question.tool, arguments, self.policy) if is_one else None
        if change is not None:
            clean = change.redacted(self._redactor)
            diff: JsonObject = {"type": "diff", "path": str(self._folder / change.name)}
            shown["kind"] = "edit"
            # first: CodeCompanion shows no other
            content.insert(0, {**diff, "oldText": clean.before, "newText": clean.after})
        return {**shown, "content": content}

    async def _permission(
        self, shown: JsonObject, options: Mapping[str, str], tool: str = ""
    ) -> str | None:
        """The option that the user chooses; None where the turn is cancelled."""
        id_ = f"question-{next(self._numbers)}"
        call: JsonObject = {"toolCallId": id_, **shown, "status": "pending"}
        await self._updates.ask_about(call)
        offered: list[Json] = [
            {"optionId": value, "name": words, "kind": _KINDS.get(value, "reject_once")}
            for value, words in options.items()
        ]
        answer = await self._asked(
            "session/request_permission", {"toolCall": call, "options": offered}
        )
        outcome = as_object(answer.get("outcome"))
        chosen = next((each for each in options if each == outcome.get("optionId")), None)
        is_allowed = chosen is not None and _KINDS.get(chosen, "").startswith("allow")
        await self._updates.settle(id_, tool, is_allowed=is_allowed)
        return chosen

    async def _fill_in(self, question: Question) -> Answer | None:
        """What the user fills in; None where they cancel, or the editor can't ask."""
        form = question.form or {"type": "object", "properties": {}}
        asked: JsonObject = {"mode": "form", "message": question.text, "requestedSchema": form}
        answer = await self._asked("elicitation/create", asked)
        match answer.get("action"):
            case "decline":
                return Answer(declined=True)
            case "accept":
                return Answer(content=as_object(answer.get("content")))
            case _:
                return None

    async def _asked(self, method: str, params: JsonObject) -> JsonObject:
        """The editor's answer; empty where it can't ask, or is gone."""
        try:
            return await self._editor.ask(method, {"sessionId": self._session_id, **params})
        except (RpcError, Unanswered):
            return {}


def _how_to_say(question: Question) -> str:
    """What may be said to a question for leave in the chat."""
    rule = question.rules[0] if question.rules else f"{question.tool}(argument=pattern)"
    some = (
        "the numbers of the calls that may be sent, such as `1, 3`; " if question.calls[1:] else ""
    )
    lasting = "`session`; " if question.rules else ""
    return (
        f"Say what holds for {question.tool}: {some}{lasting}`session` or `always` with a rule of "
        f"yours behind it, such as `always {rule}`; or a no in your own words, for the model."
    )


def _said_of_leave(question: Question, said: str) -> Answer:
    """The answer that words in the chat are."""
    first, _, rest = said.strip().partition(" ")
    if first.lower() in ("session", "always"):
        return Answer(first.lower(), rule=rest.strip().strip("`"))
    numbers = said.replace(",", " ").split()
    if question.calls[1:] and numbers and all(map(str.isdecimal, numbers)):
        return Answer("once", only=tuple(int(each) - 1 for each in numbers))
    return Answer(said)
