"""How any engine is asked: in its turn, with errors that say what to try."""

from dataclasses import dataclass, field

from core.base.text import sentence
from servers.web.errors import (
    AddressRefused,
    PageUnavailable,
    RateLimited,
    SearchUnavailable,
    WebError,
)
from servers.web.ports import Fetched, Fetcher
from servers.web.rate_limit import RateLimiter
from servers.web.search.links import host_of

MAX_ANSWER_BYTES = 1024 * 1024
"""Twenty times the largest page of results that DuckDuckGo sends."""

WAIT_OR_CHANGE = (
    "Wait some minutes, or name another engine (duckduckgo, searxng, brave, tavily) "
    "as `web.search` in the profile."
)
CHANGE = "Name another engine (duckduckgo, searxng, brave, tavily) as `web.search` in the profile."

PAUSE_STATUSES = frozenset({429, 432, 433})
"""Too many requests; 432 and 433 are Tavily's for an allowance that is used up."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Who is asked: its name in messages, its address, and its key with the variable it is from.

    `limiter` gives each request its turn. `at_403` is what the status means at this engine, where
    that is no matter of keys.
    """

    label: str
    address: str
    fetcher: Fetcher
    limiter: RateLimiter | None = None
    key_variable: str = ""
    key: str = field(default="", repr=False)
    at_403: str = ""

    async def ask(
        self,
        *,
        url: str | None = None,
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
            raise explained(error, self) from None
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


def explained(error: WebError, engine: Engine) -> WebError:
    """A failed request, as an error of this engine that says what to try; never with the key."""
    said = sentence(str(error).replace(engine.key, "***") if engine.key else str(error))
    if isinstance(error, RateLimited):
        return RateLimited(f"{engine.label} asks for a pause: {said} {WAIT_OR_CHANGE}")
    if isinstance(error, AddressRefused):
        return AddressRefused(
            f"{engine.label} can't be asked: {said} If the engine is your own, "
            "name its host in `web.allow_private` of the profile."
        )
    if isinstance(error, PageUnavailable):
        return _refusal(error.status, said, engine)
    return SearchUnavailable(f"{engine.label} can't be asked: {said}")


def _refusal(status: int | None, said: str, engine: Engine) -> WebError:
    if status is None:
        return SearchUnavailable(f"{engine.label} can't be reached: {said}")
    if status in PAUSE_STATUSES:
        return RateLimited(f"{engine.label} answers {status}: too many searches. {WAIT_OR_CHANGE}")
    return SearchUnavailable(f"{engine.label} {_refused(status, engine)}")


def _refused(status: int, engine: Engine) -> str:
    if status == 403 and engine.at_403:
        return engine.at_403
    if status in (401, 403) and engine.key:
        return (
            f"refuses the key in {engine.key_variable} (status {status}): "
            "check it, and that its plan covers web search."
        )
    if status in (400, 422):
        key = f", and check the key in {engine.key_variable}" if engine.key else ""
        return f"does not accept this search (status {status}): make it shorter or simpler{key}."
    if status in (404, 405):
        host = host_of(engine.address)
        return f"has no search at {host} (status {status}): check `web.search_url` in the profile."
    return f"answers {status} instead of results. {WAIT_OR_CHANGE}"
