"""How long, and how often, a fetch goes on: its deadline, its retries, and the pauses between."""

from core.base.timing import Timing

RETRIES_MAX = 2
"""Of one fetch, redirects included."""

FIRST_PAUSE_SECONDS = 0.5
PAUSE_SECONDS_MAX = 15.0
"""A server that wants more is not waited for."""

WHOLE_PER_ATTEMPT = 1.5
"""The whole fetch may take so much of the time of one attempt: 45 s of 30, so that it has ended,
and can say why, before a tool call is given up after 60 s."""


class Attempts:
    """What is left to one fetch."""

    def __init__(self, attempt_seconds: float, timing: Timing) -> None:
        """The time begins now."""
        self._attempt_seconds = attempt_seconds
        self._timing = timing
        self._deadline = timing.now() + attempt_seconds * WHOLE_PER_ATTEMPT
        self._retries = 0

    def attempt_seconds(self) -> float:
        """What one attempt that begins now may take."""
        return max(0.0, min(self._attempt_seconds, self._deadline - self._timing.now()))

    def pause(self, asked: float | None = None) -> float | None:
        """How long to wait before the next try; None if there is none left, or no time for it.

        Without a wish of the server, a window that doubles with each retry, of which at least half
        is waited (exponential backoff with equal jitter: Brooker, AWS, 2015). A wish is kept, and
        up to a tenth of it added, so that all who were sent off don't come back at once.
        """
        if self._retries == RETRIES_MAX:
            return None
        if asked is None or asked <= 0:
            pause = FIRST_PAUSE_SECONDS * 2**self._retries * (0.5 + self._timing.draw() / 2)
        else:
            pause = asked * (1 + self._timing.draw() / 10)
        left = self._deadline - self._timing.now()
        return pause if pause <= min(PAUSE_SECONDS_MAX, left) else None

    async def wait(self, seconds: float) -> None:
        """Wait, and count a retry."""
        self._retries += 1
        await self._timing.sleep(seconds)
