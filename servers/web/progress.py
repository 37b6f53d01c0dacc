"""What is being done for one call, told to whoever made it.

Fetcher, readers and limits are shared by all calls, so the listener goes with the task.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

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
