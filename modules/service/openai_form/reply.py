"""What goes back on the connection of a completion: all in one piece, or as a stream of events."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Final

from starlette.responses import Response, StreamingResponse

from core.base.redaction import Redactor
from core.events import Event, ModelWriting, RunFinished, RunStarted, SubtaskEvent
from core.values import JsonObject
from modules.service.http.problems import refusal_of
from modules.service.openai_form.asked import Asked
from modules.service.openai_form.completion import Answer, Completion, stopped
from modules.service.openai_form.errors import error_document, json_response
from modules.terminal.wording import Lines, part_lines, verbose_lines

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 15.0
"""A stream in which nothing happens gets a comment, which clients skip, after so long."""

STEPS_CHARACTERS_MAX: Final = 200_000
"""No more than that is told of one run's steps."""

HEADING: Final = "Steps:\n\n"
MARGIN: Final = "    "
"""What stands before each line of the steps. It makes them code to who reads them as markdown:
they may quote anybody, and an image in them would be loaded from wherever it points to."""


class Reply:
    """One completion while its run goes on; `begun` is set where the run has had its turn."""

    def __init__(
        self,
        asked: Asked,
        redactor: Redactor,
        *,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        """`redactor` goes over steps and errors."""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._body = asked.body
        self._completion = Completion.of(asked.body)
        self._headers = {"x-request-id": self._completion.id}
        self._redactor = redactor
        self._keep_alive_seconds = keep_alive_seconds
        self._steps = ""
        self._news = asyncio.Event()

    def hear(self, event: Event) -> None:
        """Note a step of the run, if steps are told."""
        if not self._body.include_reasoning or len(self._steps) > STEPS_CHARACTERS_MAX:
            return
        for stage, text in _lines(event):
            told = f"[{stage}] {self._redactor.text(text)}".splitlines()
            self._steps += "".join(f"{MARGIN}{line}\n" for line in told)
            self._news.set()

    async def response(self, answering: asyncio.Task[Answer]) -> Response:
        """The answer of HTTP, or the error for which there is none.

        A stream begins with its run, or where that waits long for its turn: until then an error
        has a status of its own.
        """
        answering.add_done_callback(lambda _: self._news.set())
        if self._body.stream:
            await asyncio.wait(
                {answering, self.begun},
                timeout=self._keep_alive_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if self.begun.done() or not answering.done():
                told = self._headers | {"X-Accel-Buffering": "no"}  # no proxy gathers it
                content = self._stream(answering)
                return StreamingResponse(content, headers=told, media_type="text/event-stream")
        await asyncio.wait({answering})
        answer = _result(answering)
        reasoning = HEADING + self._steps if self._steps else ""
        return json_response(self._completion.whole(answer, reasoning), 200, self._headers)

    async def _stream(self, answering: asyncio.Task[Answer]) -> AsyncGenerator[bytes]:
        """The pieces; an error is a piece of its own, at which clients raise theirs."""
        yield _line(self._completion.piece({"role": "assistant", "content": ""}))
        told = 0
        while not answering.done() or told < len(self._steps):
            if new := self._steps[told:]:
                heading = "" if told else HEADING
                told += len(new)
                yield _line(self._completion.piece({"reasoning_content": heading + new}))
                continue
            self._news.clear()
            try:
                async with asyncio.timeout(self._keep_alive_seconds):
                    await self._news.wait()
            except TimeoutError:
                yield b": keep-alive\n\n"
        try:
            pieces = self._completion.rest(_result(answering))
        except Exception as error:
            problem, _ = refusal_of(error)
            if problem.kind == "bug":
                log.exception("a completion failed by a bug of ours")
            pieces = [error_document(problem, self._redactor)]
        for piece in pieces:
            yield _line(piece)
        yield b"data: [DONE]\n\n"


def _line(piece: JsonObject) -> bytes:
    return b"data: %s\n\n" % json.dumps(piece).encode()


def _result(answering: asyncio.Task[Answer]) -> Answer:
    """The answer, or the error that is there in its place."""
    if answering.cancelled():
        raise stopped()
    return answering.result()


def _lines(event: Event) -> Lines:
    """What a step says; pieces of a reply, and beginning and end of the run, say nothing."""
    match event:
        case SubtaskEvent(subtask, _, inner):
            return part_lines(subtask, _lines(inner))
        case ModelWriting() | RunStarted() | RunFinished():
            return []
        case _:
            return [line for line in verbose_lines(event) if line[0] != "strategy"]
