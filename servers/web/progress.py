"""What is being done for one call, told to whoever made it.

Fetcher, readers and limits are shared by all calls, so the listener goes with the task.
"""

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

from core.base.clock import Clock
from core.base.text import one_line
from servers.shared.errors import ToolInputError
from servers.web.errors import WebError

PROGRESS_SECONDS = 0.5
"""So far apart are reports on one call, but for the first."""

SHOWN_CHARACTERS = 80
"""How much of a query or an address a report names."""

Tell: TypeAlias = Callable[[str], Awaitable[None]]
"""Hears what is being done for one call."""

_LISTENING: ContextVar[Tell | None] = ContextVar("listening", default=None)


@contextmanager
def heard_by(listener: Tell) -> Generator[None]:
    """Have the work that is done inside told, as long as it lasts."""
    token = _LISTENING.set(listener)
    try:
        yield
    finally:
        _LISTENING.reset(token)


async def tell(text: str) -> None:
    """Tell whoever listens to the call that this task works on."""
    if (listener := _LISTENING.get()) is not None:
        await listener(text)


class Reports(Protocol):
    """The part of the SDK's `Context` that is needed here."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far its call is, if it wants to know."""
        ...


@contextmanager
def on_the_web(context: Reports, what: str, clock: Clock = time.monotonic) -> Generator[None]:
    """Work on the web: its errors become messages for the caller, its progress is reported.

    `what` is the query or address, which each report names. Progress counts the seconds since
    the call began, because there is no telling how much is left.
    """
    name = one_line(what, SHOWN_CHARACTERS)
    began = clock()
    told = began - PROGRESS_SECONDS

    async def tell(text: str) -> None:
        nonlocal told
        if (now := clock()) - told < PROGRESS_SECONDS:
            return
        told = now
        await context.report_progress(round(now - began, 1), None, f"{one_line(text)}: {name}")

    with heard_by(tell):
        try:
            yield
        except WebError as error:
            raise ToolInputError(one_line(str(error))) from error
