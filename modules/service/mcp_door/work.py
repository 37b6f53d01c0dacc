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
from typing import Final, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CallToolResult, ElicitResult, InputRequests, InputResponses, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from core.base.text import one_line
from modules.service.mcp_door.elicitation import answer_of, elicitation_of, means_of
from modules.service.questions import PersonAnswer, PersonQuestion, PutQuestion

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


class Client:
    """Who made one request: told of progress, and asked on behalf of the person behind it."""

    def __init__(self, request: Request) -> None:
        """Look at what the client can do."""
        self._session = request.session
        self._request_id = request.request_id
        self._told = 0
        self.means = means_of(request.session.client_capabilities)
        self.is_modern = request.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def tell(self, text: str) -> None:
        """Report progress, where the client wants to hear of it."""
        self._told += 1
        await self._session.report_progress(self._told, None, text)

    async def put(self, question: PersonQuestion) -> PersonAnswer | None:
        """Ask the person now; None where the client fails, or sends nonsense."""
        try:
            reply = await self._session.send_request(
                elicitation_of(question, self.means, has_ids=True),
                ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=self._request_id),
            )
        except (MCPError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return None
        return answer_of(question, reply, self.means)


class Work:
    """One call; begins at once.

    Attributes:
        token: names it to the client that comes back with answers.
        put_question: asks the client's person; None where nobody is there.
        interrupt: stops it in good order, or says that it can't yet.
        is_attended: whether a request waits for it.
        task: does it.
    """

    def __init__(
        self, do: Callable[["Work"], Coroutine[None, None, CallToolResult]], client: Client
    ) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.put_question: PutQuestion | None = None
        if client.means.forms:
            self.put_question = self._park if client.is_modern else client.put
        self.interrupt: Callable[[], bool] = lambda: False
        self.is_attended = False
        self._means = client.means
        self._told: deque[str] = deque(maxlen=TOLD_MAX)
        self._asked: dict[str, tuple[PersonQuestion, asyncio.Future[PersonAnswer | None]]] = {}
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(do(self))
        self.task.add_done_callback(lambda _: self._changed.set())

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.task.done()

    @property
    def questions(self) -> InputRequests:
        """What waits for an answer, by id."""
        return {
            id_: elicitation_of(question, self._means, has_ids=False)
            for id_, (question, answer) in self._asked.items()
            if not answer.done()
        }

    def tell(self, text: str) -> None:
        """Have the client told something; never waits."""
        self._told.append(one_line(text, MESSAGE_CHARACTERS))
        self._changed.set()

    def answer(self, responses: InputResponses | Mapping[str, object]) -> None:
        """Take answers to open questions; others are passed over."""
        for id_, reply in responses.items():
            if id_ in self._asked and isinstance(reply, ElicitResult):
                question, answer = self._asked[id_]
                if not answer.done():
                    answer.set_result(answer_of(question, reply, self._means))

    async def attend(self, client: Client) -> CallToolResult | None:
        """Tell the client what goes on up to the end; None where answers are needed first.

        Whoever stops waiting stops the work.
        """
        self.is_attended = True
        try:
            while True:
                self._changed.clear()
                is_done = self.is_done
                while self._told:
                    await client.tell(self._told.popleft())
                if is_done:
                    return self._result()
                if self.questions:
                    return None
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
        if not self.is_done and not self.interrupt():
            self.task.cancel()
        _, left = await asyncio.wait({self.task}, timeout=STOP_SECONDS)
        if left:
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=STOP_SECONDS)

    async def _park(self, question: PersonQuestion) -> PersonAnswer | None:
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

    def _result(self) -> CallToolResult:
        if self.task.cancelled():
            return failure("the call was stopped before it had a result; call the tool again")
        return self.task.result()


def failure(reason: str) -> CallToolResult:
    """A tool's error, which the client's model reads."""
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)
