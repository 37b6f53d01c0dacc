"""Ends a request that takes too long, as a limit that was reached."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from core.turn import RunOutcome


class RequestTimeout:
    """Within the `with`, so many seconds may pass before `interrupt` is called."""

    def __init__(
        self, seconds: float, interrupt: Callable[[], object], origin: str = "--timeout"
    ) -> None:
        """Begin nothing yet; `origin` names what sets the time."""
        self._seconds = seconds
        self._interrupt = interrupt
        self._origin = origin
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        """Let the time begin."""
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        """Let it end."""
        if self._timer is not None:
            self._timer.cancel()

    def settle(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome, which is no interruption by the user where the time was over."""
        if not self._is_over or outcome.status != "interrupted":
            return outcome
        told = f"No answer within {self._seconds:g} s ({self._origin})"
        return replace(outcome, status="no_answer", message=told)

    def _end(self) -> None:
        self._is_over = True
        self._interrupt()
