"""Requests as they come, line by line, from the prompt or a pipe, answered one after the other."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TextIO

from core.errors import CortexError, ExitCode, exit_code_of
from core.run.execution import begin_of_process, working
from modules.session.request import MAX_REQUEST_CHARACTERS
from modules.terminal.streams import StdoutLost

MAX_LINE_BYTES = 4 * MAX_REQUEST_CHARACTERS + 1
"""A longer line can't be a request any more; its rest is read and dropped."""

_CHUNK_BYTES = 65_536

PROMPT = "cortex-r> "
GREETING = (
    "`help` says what can be asked, `/help` lists the commands; Ctrl-C cancels, Ctrl-D leaves"
)


_WORSE = (
    ExitCode.ANSWERED,
    ExitCode.NO_ANSWER,
    ExitCode.TOOL_FAILED,
    ExitCode.BAD_USAGE,
    ExitCode.WORLD_FAILED,
    ExitCode.INTERRUPTED,
)
"""Exit codes of requests, from good to bad."""


class Leaving(Exception):
    """The user has enough."""


class WayOut:
    """Ctrl-C at an empty prompt: the first is told, a second one with nothing between leaves."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """`tell` says that another one leaves."""
        self._tell = tell
        self._is_told = False

    def stay(self, _: object = None) -> None:
        """Something was typed: the next is the first again."""
        self._is_told = False

    def goes_on(self) -> bool:
        """Whether the prompt stays open for now."""
        if self._is_told:
            return False
        self._is_told = True
        self._tell()
        return True


class Repl:
    """Reads lines and hands them to `ask`.

    `ask` answers one request, or does a command, and gives an exit code; it is what Ctrl-C
    interrupts. `say` writes a line to stderr under a stage.
    """

    def __init__(
        self,
        ask: Callable[[str], Awaitable[ExitCode]],
        say: Callable[[str, str], None],
        log_bug: Callable[[Exception], str],
    ) -> None:
        """Read nothing yet; `log_bug` keeps a traceback and gives the line that says so."""
        self._ask = ask
        self._say = say
        self._log_bug = log_bug

    async def run(self, lines: AsyncIterator[str]) -> ExitCode:
        """Answer until the lines end or the user leaves.

        The exit code is that of the request that fared worst: what failed is not forgotten over
        what was answered later.
        """
        code = ExitCode.ANSWERED
        with contextlib.suppress(Leaving):
            async for line in lines:
                if request := line.strip():
                    code = max(code, await self._answer(request), key=_WORSE.index)
        return code

    async def _answer(self, request: str) -> ExitCode:
        """One request; what it raises, be it a bug of ours, is told, and the prompt goes on."""
        with working(begin_of_process(os.environ)):
            try:
                return await self._ask(request)
            except CortexError as error:
                self._say("loop", str(error))
                return exit_code_of(error)
            except (StdoutLost, Leaving):
                raise  # nothing more can be answered, or is asked
            except Exception as error:  # noqa: BLE001 - no bug ends the prompt
                self._say("loop", self._log_bug(error))
                return ExitCode.WORLD_FAILED


async def piped_lines(stream: TextIO) -> AsyncIterator[str]:
    """Lines of a pipe or file, while the event loop stays free; bytes not UTF-8 become U+FFFD.

    Read from the descriptor, not in a thread: a thread that waits for a line can't be ended.
    A line over `MAX_LINE_BYTES` is cut there, which is more than a request may have.
    """
    descriptor = stream.fileno()
    pending = b""
    while chunk := await read_chunk(descriptor):
        *complete, pending = (pending + chunk).split(b"\n")
        pending = pending[:MAX_LINE_BYTES]
        for line in complete:
            yield line[:MAX_LINE_BYTES].decode("utf-8", "replace")
    if pending:
        yield pending.decode("utf-8", "replace")


async def read_chunk(descriptor: int) -> bytes:
    """What can be read next; empty at the end."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:  # a regular file: never waits, and epoll won't have it
        await asyncio.sleep(0)
    else:
        try:
            await readable.wait()
        finally:
            loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
