"""One session of an editor: prompts one after the other, each a request of one conversation.

A run may outlast the turn that began it: a question that the editor has no form for ends the turn,
and the next prompt is the answer.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.text import one_line
from core.errors import StorageError
from core.mcp.peer import RpcError
from core.mcp.wire import INVALID_REQUEST
from core.run.execution import current
from core.turn import RunOutcome
from core.values import JsonObject
from modules.planning.guidance.commands import request_meant
from modules.planning.guidance.guide import Guide
from modules.service.acp.asking import EditorQuestions
from modules.service.acp.content import Asked, asked_in
from modules.service.acp.door import Editor
from modules.service.acp.messages import INTERNAL_ERROR, Block
from modules.service.acp.updates import RunUpdates
from modules.service.agents import AgentConversation
from modules.service.pool import DEFAULT_PROFILE, AgentPool, User
from modules.session.brought import Brought
from modules.session.history import folder_item, folder_of
from modules.session.kept import TITLE_CHARACTERS
from modules.session.request import clean_request

END_SECONDS: Final = 3.0
"""So long a run that was interrupted may take to end, where the session is closed."""

MODEL_ORIGIN: Final = "the option 'model' of the session"
"""What names a model that the user has picked, for messages."""

_STOP_REASONS: Final = {"tokens": "max_tokens", "calls": "max_turn_requests"}
"""The protocol's words for budgets that are spent."""

_OWNER: Final = User()
"""An editor works for the owner of CORTEX_HOME."""


class AcpSession:
    """Answers prompts; `aclose` it.

    Attributes:
        id: as `agent.py sessions list` shows it.
        folder: where the editor's user is.
        model: what the user has picked, for the next prompt on; None for nothing.
    """

    def __init__(
        self, id_: str, folder: Path, pool: AgentPool, editor: Editor, *, has_guide: bool
    ) -> None:
        """Start nothing; `pool` has the conversation, with others of the same folder."""
        self.id = id_
        self.folder = folder
        self.model: str | None = None
        self._pool = pool
        self._editor = editor
        self._home = pool.setting.places.home
        self._redactor = redactor = pool.setting.redactor
        self._updates = RunUpdates(self.update, redactor, folder)
        self._questions = EditorQuestions(
            id_, editor, self._ask_in_chat, self._updates, redactor, folder
        )
        self._guide = Guide(self._home, folder, self._questions.trust) if has_guide else None
        self._run: asyncio.Task[JsonObject] | None = None
        self._conversation: AgentConversation | None = None
        self._chat = asyncio.Lock()
        self._question: asyncio.Future[None] | None = None  # of the turn, if there is one
        self._reply: asyncio.Future[str] | None = None  # to a question in the chat

    async def update(self, told: JsonObject) -> None:
        """Tell the editor something about the session."""
        await self._editor.tell(self.id, told)

    async def prompt(self, blocks: Sequence[Block]) -> JsonObject:
        """The end of the turn that a prompt begins: the run's end, or a question of it.

        Raises:
            RpcError: the session is in a turn, or the run failed.
            UserError, WorldError, SettingsError, Busy: it can't be answered.
        """
        reply, run = self._reply, self._run
        goes_on = run is not None and not run.done()
        if self._question is not None or (goes_on and reply is None):
            told = "the session answers another prompt; wait for its end, or cancel it"
            raise RpcError(INVALID_REQUEST, told)
        question = self._question = asyncio.get_running_loop().create_future()
        try:
            if reply is None or run is None:
                run = self._run = asyncio.create_task(self._answer(blocks))
            else:
                asked = await asyncio.to_thread(self._read, blocks)
                if not reply.done():  # else it is not waited for any more
                    reply.set_result(asked.request)
            await asyncio.wait({run, question}, return_when=asyncio.FIRST_COMPLETED)
            if not run.done():
                return {"stopReason": "end_turn"}
            return {"stopReason": "cancelled"} if run.cancelled() else run.result()
        finally:
            self._question = None

    def cancel(self) -> None:
        """End the run, if there is one; its turn ends as "cancelled"."""
        if self._run is None or self._run.done():
            return
        if self._conversation is None or not self._conversation.interrupt():
            self._run.cancel()  # it has not got that far

    async def aclose(self) -> None:
        """End the run; bounded."""
        self.cancel()
        if self._run is not None and not self._run.done():
            await asyncio.wait({self._run}, timeout=END_SECONDS)
            self._run.cancel()

    def _read(self, blocks: Sequence[Block]) -> Asked:
        asked = asked_in(blocks)
        request = asked.request
        if request.startswith("/"):
            request = request_meant(request, self._home)
        return replace(asked, request=clean_request(request))

    async def _answer(self, blocks: Sequence[Block]) -> JsonObject:
        """Answer one request, and tell what came of it; the result of its turn."""
        asked = await asyncio.to_thread(self._read, blocks)
        model, put = self.model or self._pool.setting.model, self._questions.put
        async with self._pool.conversation(_OWNER, DEFAULT_PROFILE, self.id, put) as conversation:
            await conversation.use_model(model, MODEL_ORIGIN)
            whole = conversation.conversation
            whole.guide = self._guide
            self._questions.policy = whole.policy
            self._updates.begin(conversation.tools, whole.model.traits.context_tokens)
            self._conversation = conversation
            brought = Brought(images=asked.images)
            try:
                outcome = await conversation.ask(
                    asked.request, self._updates, asked.texts, brought=brought
                )
            finally:
                self._conversation = None
            await self._keep_folder(conversation, asked.request)
        return await self._ended(outcome)

    async def _ended(self, outcome: RunOutcome) -> JsonObject:
        """Tell what the run's events have not told; the result of the turn.

        Raises:
            RpcError: something outside of us failed.
        """
        if outcome.status == "interrupted":
            return {"stopReason": "cancelled"}
        if outcome.status == "failed":
            raise RpcError(INTERNAL_ERROR, outcome.message)
        if outcome.answer is None or not self._updates.has_answered:
            await self._updates.say(outcome.answer or outcome.message)
        spent = outcome.budget.measure if outcome.budget is not None else ""
        result: JsonObject = {"stopReason": _STOP_REASONS.get(spent, "end_turn")}
        if (usage := outcome.usage).tokens:
            counts = {"totalTokens": usage.tokens, "inputTokens": usage.input_tokens}
            more = {"outputTokens": usage.output_tokens, "cachedReadTokens": usage.cached_tokens}
            result["usage"] = {**counts, **more}
        meta: JsonObject = {}
        if outcome.grounded is not None:
            meta["cortex_r"] = {"grounded": outcome.grounded}
        if (execution := current()) is not None:
            meta["traceparent"] = execution.traceparent
        if meta:
            result["_meta"] = meta
        return result

    async def _keep_folder(self, conversation: AgentConversation, request: str) -> None:
        """Keep where a new session belongs, and let the editor name it by its first request."""
        session = conversation.conversation.session
        if session.kept_id is None or folder_of(session.items) is not None:
            return
        with contextlib.suppress(StorageError):  # it is told with the next request
            await session.keep(folder_item(self.folder))
        title = one_line(self._redactor.text(request), TITLE_CHARACTERS)
        await self.update({"sessionUpdate": "session_info_update", "title": title})

    async def _ask_in_chat(self, text: str) -> str | None:
        """End the turn with a question; what the next prompt says."""
        async with self._chat:
            await self._updates.say(text)
            self._reply = asyncio.get_running_loop().create_future()
            if self._question is not None and not self._question.done():
                self._question.set_result(None)
            try:
                return await self._reply
            finally:
                self._reply = None
