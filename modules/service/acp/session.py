"""One session of an editor: prompts one after the other, each a request of one conversation.

A run may outlast the turn that began it: a question that the editor has no form for ends the turn,
and the next prompt is the answer.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from core.base.text import one_line
from core.errors import StorageError
from core.mcp.peer import RpcError
from core.mcp.wire import INVALID_REQUEST
from core.run.execution import current
from core.turn import RunOutcome
from core.values import JsonObject
from modules.planning.guidance.guide import Guide
from modules.service.acp.asking import EditorQuestions
from modules.service.acp.choices import Choices
from modules.service.acp.content import Asked
from modules.service.acp.door import Editor
from modules.service.acp.messages import INTERNAL_ERROR
from modules.service.acp.updates import RunUpdates
from modules.service.agents import AgentConversation
from modules.service.pool import AgentPool, User
from modules.session.brought import Brought
from modules.session.history import folder_item, folder_of
from modules.session.kept import TITLE_CHARACTERS

END_SECONDS: Final = 3.0
"""So long a run that was interrupted may take to end, where the session is closed."""

MODEL_ORIGIN: Final = "the option 'model' of the session"
"""What names a model that the user has picked, for messages."""

CANCELLED: Final[JsonObject] = {"stopReason": "cancelled"}

OWNER: Final = User()
"""An editor works for the owner of CORTEX_HOME."""


class AcpSession:
    """Answers prompts; `aclose` it.

    Attributes:
        id: as `agent.py sessions list` shows it.
        folder: where the editor's user is.
        pool: has the conversation, with others of the same folder and servers.
        choices: hold from the next prompt on.
        guide: what user and project have written for the agent; None where it is left out.
    """

    def __init__(
        self,
        id_: str,
        folder: Path,
        pool: AgentPool,
        choices: Choices,
        editor: Editor,
        *,
        has_guide: bool,
    ) -> None:
        """Start nothing."""
        self.id = id_
        self.folder = folder
        self.pool = pool
        self.choices = choices
        self._editor = editor
        redactor = pool.setting.redactor
        self._updates = RunUpdates(self.update, redactor, folder)
        self._questions = EditorQuestions(
            id_, editor, self._ask_in_chat, self._updates, redactor, folder
        )
        home = pool.setting.places.home
        self.guide = Guide(home, folder, self._questions.trust) if has_guide else None
        self._run: asyncio.Task[JsonObject] | None = None
        self._conversation: AgentConversation | None = None
        self._is_in_turn = self._is_cancelled = False
        self._chat = asyncio.Lock()
        self._reply: asyncio.Future[str] | None = None
        self._has_asked = asyncio.Event()

    async def update(self, told: JsonObject) -> None:
        """Tell the editor something about the session."""
        await self._editor.tell("session/update", {"sessionId": self.id, "update": told})

    async def prompt(self, reading: Callable[[], Awaitable[Asked]]) -> JsonObject:
        """The end of the turn that a prompt begins: the run's end, or a question of it.

        The turn has begun before the prompt is read: it can be cancelled meanwhile.

        Raises:
            RpcError: the session is in a turn, or the run failed.
            UserError, WorldError, SettingsError, Busy: it can't be answered.
        """
        if self._is_in_turn:
            raise RpcError(
                INVALID_REQUEST,
                "the session answers another prompt; wait for its end, or cancel it",
            )
        self._is_in_turn, self._is_cancelled = True, False
        self._has_asked.clear()
        question = asyncio.create_task(self._has_asked.wait())
        try:
            asked = await reading()
            if self._reply is not None and not self._reply.done():
                self._reply.set_result(asked.request)
                run = self._run
            else:
                run = await self._begin(asked)
            if run is None:
                return CANCELLED
            await asyncio.wait({run, question}, return_when=asyncio.FIRST_COMPLETED)
            if not run.done():
                return {"stopReason": "end_turn"}
            return CANCELLED if run.cancelled() else run.result()
        finally:
            question.cancel()
            self._is_in_turn = False

    def cancel(self) -> None:
        """End the run, if there is one; its turn ends as "cancelled"."""
        self._is_cancelled = True
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

    async def _begin(self, asked: Asked) -> asyncio.Task[JsonObject] | None:
        """A run for a prompt; None where it is cancelled before.

        One whose question was not answered in time may still go on by itself: it ends first.
        """
        if self._run is not None and not self._run.done():
            await asyncio.wait({self._run})
        if self._is_cancelled:
            return None
        self._run = asyncio.create_task(self._answer(asked))
        self._run.add_done_callback(_seen)
        return self._run

    async def _answer(self, asked: Asked) -> JsonObject:
        """Answer one request, and tell what came of it; the result of its turn."""
        profile, model = self.choices.profile, self.choices.model or self.pool.setting.model
        put = self._questions.put
        async with self.pool.conversation(OWNER, profile, self.id, put) as conversation:
            await conversation.use_model(model, MODEL_ORIGIN)
            whole = conversation.conversation
            whole.guide = self.guide
            self._questions.policy = whole.policy
            self._updates.begin(conversation.tools, whole.model.traits.context_tokens)
            self._conversation = conversation
            try:
                outcome = await conversation.ask(
                    asked.request,
                    self._updates,
                    asked.texts,
                    brought=Brought(images=asked.images),
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
            return CANCELLED
        if outcome.status == "failed":
            raise RpcError(INTERNAL_ERROR, outcome.message)
        if outcome.answer is None:
            await self._updates.say(outcome.message)
        elif not self._updates.has_answered:
            await self._updates.say(outcome.answer)
        result: JsonObject = {"stopReason": _stop_reason(outcome)}
        if used := outcome.usage.tokens:
            usage = outcome.usage
            counts = {"totalTokens": used, "inputTokens": usage.input_tokens}
            more = {"outputTokens": usage.output_tokens, "cachedReadTokens": usage.cached_tokens}
            result["usage"] = {**counts, **more}
        if (execution := current()) is not None:
            result["_meta"] = {"traceparent": execution.traceparent}
        return result

    async def _keep_folder(self, conversation: AgentConversation, request: str) -> None:
        """Keep where a new session belongs, and let the editor name it by its first request."""
        session = conversation.conversation.session
        if session.kept_id is None or folder_of(session.items) is not None:
            return
        with contextlib.suppress(StorageError):  # it is told with the next request
            await session.keep(folder_item(self.folder))
        title = one_line(self.pool.setting.redactor.text(request), TITLE_CHARACTERS)
        await self.update({"sessionUpdate": "session_info_update", "title": title})

    async def _ask_in_chat(self, text: str) -> str | None:
        """End the turn with a question; what the next prompt says."""
        async with self._chat:
            await self._updates.say(text)
            self._reply = asyncio.get_running_loop().create_future()
            self._has_asked.set()
            try:
                return await self._reply
            finally:
                self._reply = None


def _stop_reason(outcome: RunOutcome) -> str:
    """The protocol's word for how a turn ended that was neither cancelled nor failed."""
    match outcome.budget.measure if outcome.budget is not None else None:
        case "tokens":
            return "max_tokens"
        case "calls":
            return "max_turn_requests"
        case _:
            return "end_turn"


def _seen(run: asyncio.Task[JsonObject]) -> None:
    """A run that fails after its turn, while nobody waits for it, has told all there is."""
    if not run.cancelled():
        run.exception()
