"""Fetches pages: redirects followed, busy servers asked again, robots.txt heeded, under guard."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import httpcore2

from core.base.http import PAUSE_STATUSES
from core.base.timing import Timing
from servers.web.cache import SharedCache
from servers.web.errors import AddressRefused, PageUnavailable, RateLimited
from servers.web.fetching.guard import AddressGuard, Resolver, system_resolver
from servers.web.fetching.http_messages import (
    PRODUCT,
    REDIRECT_STATUSES,
    Answer,
    Request,
    first_request,
    next_request,
    status_error,
)
from servers.web.fetching.robots import SITES_MAX, TEXT_BYTES_MAX, Rules, parse_robots
from servers.web.fetching.targets import Target, parse_target, shown_url
from servers.web.fetching.transport import (
    BodyBounds,
    ConnectionLost,
    Connector,
    exchange,
    system_connector,
)
from servers.web.options import WebOptions, read_options
from servers.web.ports import Because, Fetched

REDIRECTS_MAX = 10
ROBOTS_REDIRECTS_MAX = 5
ROBOTS_SECONDS = 10.0

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


class GuardedFetcher:
    """A `ports.Fetcher`. It keeps what sites say in robots.txt and nothing else between fetches.

    It belongs to one event loop, and holds no connection that would have to be closed.
    """

    def __init__(
        self,
        options: WebOptions,
        *,
        resolver: Resolver = system_resolver,
        connector: Connector = system_connector,
        trust: Callable[[], ssl.SSLContext] = httpcore2.default_ssl_context,
        timing: Timing | None = None,
    ) -> None:
        """Nothing is connected yet.

        All but `options` are for tests, and none of them passes by the guard: a `connector` is
        given addresses that were checked.

        Raises:
            OptionsError: `allow_private` holds something that is no host.
        """
        self._options = options
        self._guard = AddressGuard(options.allow_private, resolver)
        self._timing = timing or Timing()
        self._robots = SharedCache[str, Rules](
            lambda rules: rules.fresh_seconds, SITES_MAX, clock=self._timing.now
        )
        self._trust = cache(trust)
        self._connector = connector

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        """As `Fetcher.fetch`; one attempt takes at most `timeout_seconds`.

        A request with headers, a form or JSON is a call of a service and no reading of a page:
        robots.txt, which is for readers, is not asked then.

        Raises:
            ValueError: the caller's mistake: two bodies, or a header that can't be set.
            WebError: as `Fetcher.fetch`.
        """
        request = first_request(parse_target(url), headers, form, json)
        request = replace(request, may_be_private=self._guard.opens(request.target))
        is_reading = not headers and request.body is None
        heeds = is_reading and self._options.robots in ("always", because)
        attempts = Attempts(self._options.timeout_seconds, self._timing)
        bounds = BodyBounds(self._options.page_bytes)
        asked: set[tuple[str, str]] = set()
        for _ in range(REDIRECTS_MAX + 1):
            if heeds:
                await self._check_robots(request, attempts)
            answer = await self._answered(request, bounds, attempts)
            location = answer.header(b"location")
            if answer.status not in REDIRECT_STATUSES or not location:
                return _fetched(request, answer)
            asked.add((request.method, request.target.url))
            request = next_request(request, answer.status, location)
            if (request.method, request.target.url) in asked:
                raise PageUnavailable(
                    f"{shown_url(url)} sends round in a circle, back to "
                    f"{shown_url(request.target.url)}; perhaps it wants cookies, which are not "
                    "kept; try another source",
                    answer.status,
                )
        raise PageUnavailable(
            f"{shown_url(url)} redirects more than {REDIRECTS_MAX} times; try another source"
        )

    async def _answered(self, request: Request, bounds: BodyBounds, attempts: Attempts) -> Answer:
        """The answer to one request, asked again where that may help."""
        while True:
            try:
                answer = await self._once(request, bounds, attempts.attempt_seconds())
            except ConnectionLost:
                # Data that may have arrived is not sent twice.
                pause = None if request.body is not None else attempts.pause()
                if pause is None:
                    raise
            else:
                if answer.status not in PAUSE_STATUSES:
                    return answer
                pause = attempts.pause(answer.pause_seconds)
                if pause is None:
                    raise _busy(request.target, answer)
            await attempts.wait(pause)

    async def _once(self, request: Request, bounds: BodyBounds, seconds: float) -> Answer:
        """One look-up, one connection, one answer, all of it within some seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await exchange(
                    request,
                    await self._guard.addresses(
                        request.target, may_be_private=request.may_be_private
                    ),
                    bounds,
                    connector=self._connector,
                    trust=self._trust,
                )
        except TimeoutError:
            bound = self._options.timeout_seconds
            raise PageUnavailable(
                f"{shown_url(request.target.url)} takes longer than {bound:g} s, or "
                f"{bound * WHOLE_PER_ATTEMPT:g} s with its redirects and retries "
                "('timeout_seconds' in the profile's web section); try later or another source"
            ) from None

    async def _check_robots(self, page: Request, attempts: Attempts) -> None:
        """Raises PageUnavailable if the site wishes that programs leave a page out."""
        target = page.target
        first = Request(replace(target, path="/robots.txt"), {}, may_be_private=page.may_be_private)
        rules = await self._robots.get(target.origin, lambda: self._asked_rules(first, attempts))
        if rules.allow(target.path):
            return
        if rules.failure:
            why = f"its site can't say whether programs may read it ({rules.failure})"
        else:
            why = "its site asks programs not to read it (robots.txt)"
        raise PageUnavailable(
            f"{shown_url(target.url)} is left out: {why}; try another source, or let the user give "
            "the address"
        )

    async def _asked_rules(self, first: Request, attempts: Attempts) -> Rules:
        """Ask a site for its rules (RFC 9309, 2.3.1).

        Refused with a status of 400 to 499 means that there are none; in trouble, or not to be
        reached, that nothing may be read.
        """
        request = first
        bounds = BodyBounds(TEXT_BYTES_MAX, is_cut=True)
        for _ in range(ROBOTS_REDIRECTS_MAX + 1):
            try:
                seconds = min(ROBOTS_SECONDS, attempts.attempt_seconds())
                answer = await self._once(request, bounds, seconds)
                location = answer.header(b"location")
                if answer.status in REDIRECT_STATUSES and location:
                    request = next_request(request, answer.status, location)
                    continue
            except AddressRefused as error:
                if request is first:
                    raise  # the page itself could not be asked for either
                return Rules(failure=str(error))
            except PageUnavailable as error:
                return Rules(failure=str(error))
            if answer.is_success:
                return parse_robots(answer.body, PRODUCT)
            if 300 <= answer.status < 500:
                return Rules()
            return Rules(failure=f"robots.txt answered with status {answer.status}")
        return Rules()  # sent on too often: as if there were none (2.3.1.2)


def _fetched(request: Request, answer: Answer) -> Fetched:
    """The answer as others see it; raises PageUnavailable unless it is a success."""
    if not answer.is_success:
        raise status_error(shown_url(request.target.url), answer.status)
    url = request.target.url
    return Fetched(url, answer.status, answer.media_type, answer.charset, answer.body)


def _busy(target: Target, answer: Answer) -> RateLimited | PageUnavailable:
    """A server that wants to be left in peace, for longer than is waited or once too often."""
    pause = answer.pause_seconds
    if pause:
        return RateLimited(
            f"{shown_url(target.url)} asks for a pause of {pause:,.0f} s (status {answer.status}); "
            "try again then, or try another source"
        )
    error = status_error(shown_url(target.url), answer.status)
    return RateLimited(str(error)) if answer.status == 429 else error


def fetch_blocking(url: str, options: WebOptions | None = None) -> Fetched:
    """What the server at a URL answers; blocks, in an event loop of its own.

    Without `options` those of this process are taken.

    Raises:
        WebError: as `ports.Fetcher.fetch`, and if the options can't be read.
    """
    return asyncio.run(GuardedFetcher(options or read_options()).fetch(url))
