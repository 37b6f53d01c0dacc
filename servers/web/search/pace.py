"""A fetcher that takes its turn: no request goes out without a place in the rate limit."""

from typing import Protocol

from servers.web.faults import RateLimited
from servers.web.ports import Because, Fetched, Fetcher
from servers.web.rate_limit import RateLimiter


class Pace(Protocol):
    """What a rate limiter is to a search: something to wait for."""

    async def acquire(self) -> None:
        """Return when a request may go out.

        Raises:
            RateLimited: that would take too long.
        """
        ...


class OwnLimit(RateLimited):
    """The limit that the options set is reached; no engine was asked."""


class BoundedPace:
    """A rate limiter whose turn is waited for so long only."""

    def __init__(self, limiter: RateLimiter, wait_seconds_max: float) -> None:
        self._limiter = limiter
        self._wait_seconds_max = wait_seconds_max

    async def acquire(self) -> None:
        """As `Pace.acquire`."""
        await self._limiter.acquire(self._wait_seconds_max)


class PacedFetcher:
    """Fetches with one fetcher, each request after a turn of the pace."""

    def __init__(self, fetcher: Fetcher, pace: Pace) -> None:
        self._fetcher = fetcher
        self._pace = pace

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        """As `Fetcher.fetch`, after waiting for the turn.

        Raises:
            OwnLimit: the turn would come too late.
        """
        try:
            await self._pace.acquire()
        except RateLimited as error:
            raise OwnLimit(f"too many searches from here: {error}") from error
        return await self._fetcher.fetch(
            url, because=because, headers=headers, form=form, json=json
        )
