"""What the dispatcher tells and asks the person in front of it, and how a server is."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, TypeAlias

from core.base.frozen import frozen
from core.mcp.hooks import Ask, Question, Reply, decline


@frozen
class ToolChange:
    """A tool whose definition is not the one that was first used.

    `before` and `after` are the definitions as text, made to be compared line by line.
    """

    server: str
    tool: str
    before: str
    after: str


Approve: TypeAlias = Callable[[Sequence[ToolChange]], Awaitable[bool]]
"""Whether the user accepts the new definitions, all of one server's; a server's changes are asked
about together, before anything is called by them."""


async def _tell_nobody(*_: str) -> None:
    """Keep it."""


def _watched_by_nobody(text: str) -> AbstractContextManager[None]:
    return nullcontext()


async def refuse(changes: Sequence[ToolChange]) -> bool:
    """Answer for a user who isn't there."""
    return False


@frozen
class DispatcherHooks:
    """Who is told and asked; by default nobody, and what needs an answer is declined.

    `on_notice` hears of servers that failed and of tools that are left out, `on_waiting` of
    servers that are slow to start, `on_log` (server, level, text) of what servers log, `on_tools`
    of a server (its id) whose tools are known anew. `waiting_for` is entered while something is
    waited for, which its text names. Where several requests are answered at once, `ask` and
    `approve` count by themselves how much is asked for each (`counts_questions` false).
    """

    on_notice: Callable[[str], Awaitable[None]] = _tell_nobody
    on_waiting: Callable[[str], Awaitable[None]] = _tell_nobody
    waiting_for: Callable[[str], AbstractContextManager[None]] = _watched_by_nobody
    on_log: Callable[[str, str, str], Awaitable[None]] = _tell_nobody
    on_tools: Callable[[str], Awaitable[None]] = _tell_nobody
    ask: Ask = decline
    approve: Approve = refuse
    counts_questions: bool = True


ServerState: TypeAlias = Literal["up", "not started", "down", "failed", "set aside"]
"""Running and spoken to; not needed so far; ended; tried in vain; or so often that it is left alone
until the user brings it back."""


@frozen
class ServerStatus:
    """One server; what is only known of a running one is None or empty for another.

    `title`, `version` and `protocol_version` are from its handshake, `tools` the number that it
    listed; `left_out` names those that can't be used, and why. `problem` is why it failed last.
    """

    id: str
    state: ServerState
    title: str = ""
    version: str = ""
    protocol_version: str = ""
    tools: int | None = None
    left_out: tuple[str, ...] = ()
    start_seconds: float | None = None
    log_path: Path | None = None
    pid: int | None = None
    problem: str | None = None


WAITING_MAX = 200
"""So many messages wait to be told; a server that logs faster loses the rest, and that is told."""


QUESTIONS_PER_RUN = 10
"""So many questions may servers put to the user in one run, changed tools included."""


class RunQuestions:
    """What servers may ask the user, counted; further questions of a run are declined."""

    def __init__(self, hooks: DispatcherHooks) -> None:
        """Ask through `hooks`."""
        self._hooks = hooks
        self._asked = 0

    def begin_run(self) -> None:
        """Begin at zero."""
        self._asked = 0

    async def ask(self, question: Question) -> Reply:
        """Put a server's question to the user."""
        return await self._hooks.ask(question) if await self._may_ask() else Reply("decline")

    async def approve(self, changes: Sequence[ToolChange]) -> bool:
        """Ask whether changed tools may be used."""
        return await self._may_ask() and await self._hooks.approve(changes)

    async def _may_ask(self) -> bool:
        """Count one more question of this run; whether it may be put to the user."""
        if not self._hooks.counts_questions:
            return True
        self._asked += 1
        if self._asked == QUESTIONS_PER_RUN + 1:
            most = f"servers have asked {QUESTIONS_PER_RUN} questions in this run"
            await self._hooks.on_notice(f"{most}; further ones are declined until the next request")
        return self._asked <= QUESTIONS_PER_RUN


class LogPump:
    """From the callbacks of sessions to a listener that takes its time."""

    def __init__(self, tell: Callable[[str, str, str], Awaitable[None]]) -> None:
        """`tell` gets server, level and text of each message."""
        self._tell = tell
        self._waiting: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue(WAITING_MAX)
        self._dropped: dict[str, int] = {}
        self._pump: asyncio.Task[None] | None = None

    def put(self, server: str, level: str, text: str) -> None:
        """Take one message; never waits."""
        try:
            self._waiting.put_nowait((server, level, text))
        except asyncio.QueueFull:
            self._dropped[server] = self._dropped.get(server, 0) + 1
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """Tell no more."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})

    async def _run(self) -> None:
        """Tell what waits; ends when nothing does."""
        while not self._waiting.empty():
            await self._tell(*self._waiting.get_nowait())
        dropped, self._dropped = self._dropped, {}
        for server, count in dropped.items():
            await self._tell(server, "warning", f"{count:,} more log messages came too fast")
