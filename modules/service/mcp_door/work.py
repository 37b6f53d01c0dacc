"""A call of one of our tools while it is worked on: what it tells, what it asks, how it ends.

The work has a task of its own, so that it can outlive the request that began it. Up to MCP
2025-11-25 a server asks the person with a request of its own while the call is open. From
2026-07-28 on it ends the call with its questions, and the client calls again with the answers: the
work waits meanwhile, and goes on.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Final, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CallToolResult, ElicitResult, InputRequests, InputRequiredResult, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from core.asking import Answer, Person, Question
from core.base.frozen import frozen
from core.base.text import one_line
from core.values import JsonObject
from modules.asking import until_fitting
from modules.service.mcp_door.elicitation import answer_of, elicitation_of, means_of
from modules.service.pool import DEFAULT_PROFILE, User

Request: TypeAlias = ServerRequestContext[None]
"""A request of a client, as the SDK hands it to us."""

TOLD_MAX: Final = 64
"""So many messages wait for a client that is slow to read; older ones are dropped."""

MESSAGE_CHARACTERS: Final = 500
"""A longer message on progress is cut."""

TELL_EVERY_SECONDS: Final = 0.1
"""What comes meanwhile is told together."""

STOP_SECONDS: Final = 5.0
"""So long work that was cancelled may take to end in good order."""

TOKEN_BYTES: Final = 24
"""Nobody guesses the name of work that waits for answers."""


@frozen
class Caller:
    """Whose client it is, and by which profile it is answered."""

    user: User = User()
    profile: str = DEFAULT_PROFILE


@frozen
class Call:
    """What is called, and by whom: answers are taken for the same call alone."""

    caller: Caller
    name: str
    arguments: JsonObject


class Work:
    """The work for one call; begins at once.

    Attributes:
        call: what is worked on.
        token: names it to the client that comes back with answers.
        put_question: asks the client's person; None where nobody is there.
        interrupt: stops it in good order, or says that it can't yet.
        is_attended: whether a request waits for it.
        task: does it.
    """

    def __init__(
        self,
        do: Callable[["Work"], Coroutine[None, None, CallToolResult]],
        call: Call,
        request: Request,
    ) -> None:
        self.call = call
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.interrupt: Callable[[], bool] = lambda: False
        self.is_attended = False
        self._request = request
        self._means = means_of(request.session.client_capabilities)
        self.put_question: Person | None = None
        if self._means.forms:
            is_modern = request.protocol_version in MODERN_PROTOCOL_VERSIONS
            self.put_question = partial(until_fitting, self._park if is_modern else self._put)
        self._told: deque[str] = deque(maxlen=TOLD_MAX)
        self._number_told = 0
        self._asked: dict[str, tuple[Question, asyncio.Future[Answer | None]]] = {}
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(do(self))
        self.task.add_done_callback(lambda _: self._changed.set())

    def tell(self, text: str) -> None:
        """Have the client told something; never waits."""
        self._told.append(one_line(text, MESSAGE_CHARACTERS))
        self._changed.set()

    def tell_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Hand on what a server says of its progress (`core.mcp.hooks.OnProgress`)."""
        self.tell(message or f"{done:g}{'' if total is None else f' of {total:g}'}")

    def answer(self, responses: Mapping[str, object]) -> None:
        """Take answers to open questions; others are passed over."""
        for id_, reply in responses.items():
            if id_ in self._asked and isinstance(reply, ElicitResult):
                question, answer = self._asked[id_]
                if not answer.done():
                    answer.set_result(answer_of(question, reply, self._means))

    async def attend(self, request: Request) -> CallToolResult | InputRequiredResult:
        """Tell the client what goes on, up to the end or to questions.

        Whoever stops waiting stops the work.
        """
        self._request, self.is_attended = request, True
        try:
            while True:
                self._changed.clear()
                is_done = self.task.done()
                while self._told:
                    self._number_told += 1
                    await request.session.report_progress(
                        self._number_told, None, self._told.popleft()
                    )
                if is_done:
                    if self.task.cancelled():
                        return failure("the call was stopped before it had a result; call again")
                    return self.task.result()
                asked: InputRequests = {
                    id_: elicitation_of(question, self._means, has_ids=False)
                    for id_, (question, answer) in self._asked.items()
                    if not answer.done()
                }
                if asked:
                    return InputRequiredResult(input_requests=asked, request_state=self.token)
                await asyncio.wait({self.task}, timeout=TELL_EVERY_SECONDS)
                await self._changed.wait()
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self.stop()
            raise
        finally:
            self.is_attended = False

    async def stop(self) -> None:
        """End it, in good order if it can; bounded."""
        if not self.task.done() and not self.interrupt():
            self.task.cancel()
        _, left = await asyncio.wait({self.task}, timeout=STOP_SECONDS)
        if left:
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=STOP_SECONDS)

    async def _put(self, question: Question) -> Answer | None:
        """Ask the person now; None where the client fails, or sends nonsense."""
        try:
            reply = await self._request.session.send_request(
                elicitation_of(question, self._means, has_ids=True),
                ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=self._request.request_id),
            )
        except (MCPError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return None
        return answer_of(question, reply, self._means)

    async def _park(self, question: Question) -> Answer | None:
        """Wait until the client comes back with the answer; if it never does, end the work."""
        answer = asyncio.get_running_loop().create_future()
        self._asked[question.id] = question, answer
        self._changed.set()
        try:
            return await answer
        finally:
            del self._asked[question.id]
            if not self.is_attended and not self.interrupt():
                self.task.cancel()


def failure(reason: str) -> CallToolResult:
    """A tool's error, which the client's model reads."""
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)
