"""What the dispatcher tells and asks the person in front of it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from core.mcp.hooks import Ask, decline


@dataclass(frozen=True, slots=True)
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


async def _tell_nobody(text: str) -> None:
    """Keep it."""


async def _tell_nobody_of_log(server: str, level: str, text: str) -> None:
    """Keep it."""


def _watched_by_nobody(text: str) -> AbstractContextManager[None]:
    return nullcontext()


async def refuse(changes: Sequence[ToolChange]) -> bool:
    """Answer for a user who isn't there."""
    return False


@dataclass(frozen=True, slots=True)
class DispatcherHooks:
    """Who is told and asked; by default nobody, and what needs an answer is declined.

    `on_notice` hears of servers that failed and of tools that are left out, `on_waiting` of
    servers that are slow to start, `on_log` (server, level, text) of what servers log.
    `waiting_for` is entered while something is waited for, which its text names.
    """

    on_notice: Callable[[str], Awaitable[None]] = _tell_nobody
    on_waiting: Callable[[str], Awaitable[None]] = _tell_nobody
    waiting_for: Callable[[str], AbstractContextManager[None]] = _watched_by_nobody
    on_log: Callable[[str, str, str], Awaitable[None]] = _tell_nobody_of_log
    ask: Ask = decline
    approve: Approve = refuse
