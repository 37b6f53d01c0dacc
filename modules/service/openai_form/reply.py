"""What goes back on the connection of a completion: all in one piece, or as a stream of events."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from core.base.redaction import Redactor
from core.events import Event, ModelWriting, RunFinished, RunStarted, SubtaskEvent
from core.values import JsonObject
from modules.service.openai_form.asked import Asked
from modules.service.openai_form.errors import Refused, json_response, stopped
from modules.service.openai_form.told import Answer, Completion
from modules.terminal.wording import Lines, part_lines, verbose_lines

KEEP_ALIVE_SECONDS: Final = 15.0
"""A stream in which nothing happens gets a comment, which clients skip, after so long."""

SEND_SECONDS: Final = 30.0
"""A client that does not read for so long is gone."""

STEPS_CHARACTERS_MAX: Final = 200_000
"""No more than that is told of one run's steps."""

HEADING: Final = "Steps:\n\n"
MARGIN: Final = "    "
"""What stands before each line of the steps. It makes them code to who reads them as markdown:
they may quote anybody, and an image in them would be loaded from wherever it points to."""


class ClientGone(Exception):
    """The client does not read any more."""


class Reply:
    """Sends one completion; `begin` is its first word, `end` or `fail` its last."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        asked: Asked,
        completion: Completion,
        headers: Mapping[str, str],
        redactor: Redactor,
        *,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        send_seconds: float = SEND_SECONDS,
    ) -> None:
        """Send nothing yet; `redactor` goes over steps and errors."""
        self._scope, self._receive, self._send = scope, receive, send
        self._asked = asked
        self._completion = completion
        self._headers = dict(headers)
        self._redactor = redactor
        self._keep_alive_seconds, self._send_seconds = keep_alive_seconds, send_seconds
        self._has_begun = False
        self._steps = ""
        self._told_steps = 0
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()

    async def begin(self) -> None:
        """Begin the stream, where one is wanted: from now on errors are told in it."""
        if not self._asked.is_stream or self._has_begun:
            return
        sent = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-store",
            "x-accel-buffering": "no",  # a proxy that gathers would hold the stream back
            **self._headers,
        }
        encoded = [(name.encode(), value.encode()) for name, value in sent.items()]
        self._has_begun = True
        async with self._sending:
            start = {"type": "http.response.start", "status": 200, "headers": encoded}
            await self._send_in_time(start)
        await self._piece(self._completion.first())

    def hear(self, event: Event) -> None:
        """Note a step of the run, if steps are told."""
        if not self._asked.tells_steps or len(self._steps) > STEPS_CHARACTERS_MAX:
            return
        for stage, text in _lines(event):
            told = f"[{stage}] {self._redactor.text(text)}"
            self._steps += "".join(f"{MARGIN}{line}\n" for line in told.splitlines())
        self._news.set()

    async def following(self, work: Coroutine[None, None, Answer]) -> Answer:
        """What the work comes to; meanwhile steps are told, or that it goes on.

        What takes long before it can begin, such as a turn that is waited for, begins the stream.
        """
        run = asyncio.create_task(work)
        run.add_done_callback(lambda _: self._news.set())
        try:
            while not run.done():
                await self._tell_news()
            if run.cancelled():
                raise stopped()
            return run.result()
        finally:
            run.cancel()
            await asyncio.wait({run})

    async def _tell_news(self) -> None:
        try:
            async with asyncio.timeout(self._keep_alive_seconds):
                await self._news.wait()
        except TimeoutError:
            await self.begin()
            if self._has_begun:
                await self._write(b": keep-alive\n\n")
            return
        self._news.clear()
        if self._has_begun:
            await self._tell_steps()

    async def _tell_steps(self) -> None:
        heading = "" if self._told_steps else HEADING
        if new := self._steps[self._told_steps :]:
            self._told_steps = len(self._steps)
            await self._piece(self._completion.thought(heading + new))

    async def end(self, answer: Answer) -> None:
        """Send the answer."""
        if not self._has_begun:
            reasoning = HEADING + self._steps if self._steps else ""
            whole = self._completion.whole(answer, reasoning)
            response = json_response(whole, headers=self._headers)
            await response(self._scope, self._receive, self._send)
            return
        await self._tell_steps()
        for piece in self._completion.rest(answer):
            await self._piece(piece)
        await self._write(b"data: [DONE]\n\n", is_last=True)

    async def fail(self, refused: Refused) -> None:
        """Send an error; in a stream it is a piece of its own, at which clients raise theirs."""
        document = self._redactor.object(refused.document)
        if not self._has_begun:
            headers = self._headers | refused.headers
            response = json_response(document, refused.status, headers)
            await response(self._scope, self._receive, self._send)
            return
        await self._piece(document)
        await self._write(b"data: [DONE]\n\n", is_last=True)

    async def _piece(self, piece: JsonObject) -> None:
        await self._write(b"data: %s\n\n" % json.dumps(piece).encode())

    async def _write(self, data: bytes, *, is_last: bool = False) -> None:
        async with self._sending:
            body = {"type": "http.response.body", "body": data, "more_body": not is_last}
            await self._send_in_time(body)

    async def _send_in_time(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._send_seconds):
                await self._send(message)
        except TimeoutError:
            raise ClientGone from None


def _lines(event: Event) -> Lines:
    """What a step says; pieces of a reply, and beginning and end of the run, say nothing."""
    match event:
        case SubtaskEvent(subtask, _, inner):
            return part_lines(subtask, _lines(inner))
        case ModelWriting() | RunStarted() | RunFinished():
            return []
        case _:
            return [line for line in verbose_lines(event) if line[0] != "strategy"]
