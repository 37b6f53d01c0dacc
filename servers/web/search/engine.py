"""What all search engines share: who is asked, in whose turn, with errors that say what to try."""

from abc import ABC, abstractmethod
from dataclasses import field
from typing import ClassVar

from core.base.frozen import frozen
from core.base.text import sentence
from servers.web.errors import (
    AddressRefused,
    PageUnavailable,
    RateLimited,
    SearchUnavailable,
    WebError,
)
from servers.web.options import KEY_VARIABLES
from servers.web.ports import Fetched, Fetcher, SearchResult
from servers.web.rate_limit import RateLimiter
from servers.web.search.results import host_of

MAX_ANSWER_BYTES = 1024 * 1024
"""Twenty times the largest page of results that DuckDuckGo sends."""

CHANGE = "Name another engine (duckduckgo, searxng, brave, tavily) as `web.search` in the profile."
WAIT_OR_CHANGE = f"Wait some minutes, or n{CHANGE[1:]}"

PAUSE_STATUSES = frozenset({432, 433})
"""Tavily's for an allowance that is used up; 429 is a `RateLimited` of the fetcher already."""


@frozen
class Engine(ABC):
    """One search engine at an address, asked through a fetcher; `limiter` gives each its turn.

    `name` is what the profile calls it and `label` what messages do. `at_403` is what the status
    means at this engine, where that is no matter of keys.
    """

    fetcher: Fetcher
    address: str
    key: str = field(default="", repr=False)
    limiter: RateLimiter | None = None

    name: ClassVar[str]
    label: ClassVar[str]
    at_403: ClassVar[str] = ""

    @abstractmethod
    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """The best hits, without advertisements; none only if the engine says that there are none.

        Raises:
            RateLimited: the engine wants a pause.
            SearchUnavailable: what came can't be read as results.
            WebError: the engine can't be reached.
        """

    async def ask(
        self,
        *,
        url: str = "",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        """What it answers with success, at its own host and in a size that is plausible.

        Raises:
            RateLimited: it wants a pause, or too much was asked from here.
            SearchUnavailable: it refuses, has failed, sends the request elsewhere or too much back.
            AddressRefused: its address is not on the public internet and not allowed.
        """
        if self.limiter is not None:
            try:
                await self.limiter.acquire()
            except RateLimited as error:
                raise RateLimited(f"too many searches from here: {error}") from error
        try:
            fetched = await self.fetcher.fetch(
                url or self.address, headers=headers, form=form, json=json
            )
        except WebError as error:
            # Not chained: what lies below might quote the key in a traceback.
            raise self._explained(error) from None
        asked_host, answering_host = host_of(self.address), host_of(fetched.url)
        if answering_host != asked_host:
            raise SearchUnavailable(
                f"{self.label} at {asked_host} sent the search on to "
                f"{answering_host or 'nowhere'}, which is not trusted with it. "
                "If the engine has moved, set `web.search_url`."
            )
        if len(fetched.body) > MAX_ANSWER_BYTES:
            size = len(fetched.body) // 1024
            raise SearchUnavailable(f"{self.label} sent {size} KB, too much for results. {CHANGE}")
        return fetched

    def _explained(self, error: WebError) -> WebError:
        """A failed request as an error that says what to try; never with the key."""
        said = sentence(str(error).replace(self.key, "***") if self.key else str(error))
        match error:
            case RateLimited():
                return RateLimited(f"{self.label} asks for a pause: {said} {WAIT_OR_CHANGE}")
            case AddressRefused():
                return AddressRefused(
                    f"{self.label} can't be asked: {said} If the engine is your own, "
                    "name its host in `web.allow_private` of the profile."
                )
            case PageUnavailable(status=None):
                return SearchUnavailable(f"{self.label} can't be reached: {said}")
            case PageUnavailable(status=int(status)) if status in PAUSE_STATUSES:
                return RateLimited(
                    f"{self.label} answers {status}: too many searches. {WAIT_OR_CHANGE}"
                )
            case PageUnavailable(status=int(status)):
                return SearchUnavailable(f"{self.label} {self._refused(status)}")
            case _:
                return SearchUnavailable(f"{self.label} can't be asked: {said}")

    def _refused(self, status: int) -> str:
        if status == 403 and self.at_403:
            return self.at_403
        variable = KEY_VARIABLES.get(self.name) if self.key else None
        if status in (401, 403) and variable:
            return (
                f"refuses the key in {variable} (status {status}): "
                "check it, and that its plan covers web search."
            )
        if status in (400, 422):
            key = f", and check the key in {variable}" if variable else ""
            return (
                f"does not accept this search (status {status}): make it shorter or simpler{key}."
            )
        if status in (404, 405):
            host = host_of(self.address)
            return (
                f"has no search at {host} (status {status}): check `web.search_url` in the profile."
            )
        return f"answers {status} instead of results. {WAIT_OR_CHANGE}"
