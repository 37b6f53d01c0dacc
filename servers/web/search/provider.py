"""The search provider that the options ask for: an engine, its pace, and answers that are kept."""

import os
import time
import unicodedata
from collections.abc import Callable, Collection, Mapping

from core.base.clock import Clock
from core.base.frozen import frozen
from servers.web.cache import SharedCache
from servers.web.errors import SearchUnavailable
from servers.web.options import KEY_VARIABLES, WebOptions
from servers.web.ports import Fetcher, SearchResult
from servers.web.rate_limit import TURN_SECONDS_MAX, RateLimiter
from servers.web.search.duckduckgo import DuckDuckGoSearcher
from servers.web.search.engine import Engine
from servers.web.search.json_engines import BraveSearcher, SearxngSearcher, TavilySearcher
from servers.web.search.results import host_of, split_or_none, web_link

MAX_RESULTS = 50
FULL_PAGE = 10
"""An engine is asked for at least so many: they cost no more, and later calls may want them."""

MAX_CACHED_QUERIES = 128
MAX_QUERY_CHARACTERS = 400
"""What Brave and Tavily take; DuckDuckGo takes 499."""

ENGINES: dict[str, Callable[..., Engine]] = {
    "duckduckgo": DuckDuckGoSearcher,
    "searxng": SearxngSearcher,
    "brave": BraveSearcher,
    "tavily": TavilySearcher,
}
"""By their names in the profile; made of a fetcher, and of an address other than their own."""


@frozen
class _Found:
    """What an engine gave; it serves those who want as many results or fewer."""

    serves: int
    results: tuple[SearchResult, ...]


class SearchProvider:
    """Asks an engine only for what it doesn't know.

    An answer serves all who want as many results or fewer, until `keep_seconds` after it came.
    """

    def __init__(
        self,
        engine: Engine,
        keep_seconds: float,
        *,
        lack: str | None = None,
        max_queries: int = MAX_CACHED_QUERIES,
        clock: Clock = time.monotonic,
    ) -> None:
        """`lack` is what the engine can't be asked without, in a sentence: each search says so."""
        self._engine = engine
        self._lack = lack
        self._found = SharedCache[str, _Found](lambda found: keep_seconds, max_queries, clock=clock)

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._engine.name

    async def search(self, query: str, max_results: int = FULL_PAGE) -> list[SearchResult]:
        """As `Engine.search`, for 1 to 50 results: other numbers become the nearest one.

        Raises:
            SearchUnavailable: the query is empty or too long, or as the engine's.
        """
        words = normalised(query)
        if self._lack:
            raise SearchUnavailable(self._lack)
        count = min(max(max_results, 1), MAX_RESULTS)
        found = await self._found.get(
            words,
            lambda: self._ask(words, max(count, FULL_PAGE)),
            lambda found: found.serves >= count,
        )
        return list(found.results[:count])

    async def _ask(self, words: str, wanted: int) -> _Found:
        results = tuple(await self._engine.search(words, wanted))
        # A list that is shorter than asked for may be so because a later page was refused.
        return _Found(min(wanted, max(len(results), FULL_PAGE)), results)


def open_provider(
    options: WebOptions,
    fetcher: Fetcher,
    environ: Mapping[str, str] = os.environ,
) -> SearchProvider:
    """The engine of the options, behind a cache and a rate limit.

    `environ` holds the keys, by `KEY_VARIABLES`. Nothing is asked, and nothing raised, before the
    first search: what is missing is told then, so that a server starts and its other tools work.
    """
    given = {"address": options.search_url} if options.search_url else {}
    limiter = RateLimiter(options.searches_per_minute, wait_seconds_max=TURN_SECONDS_MAX)
    key = environ.get(KEY_VARIABLES.get(options.search, ""), "").strip()
    engine = ENGINES[options.search](fetcher, key=key, limiter=limiter, **given)
    lack = missing_setting(options, environ)
    return SearchProvider(engine, options.cache_seconds, lack=lack)


def missing_setting(options: WebOptions, environ: Mapping[str, str] = os.environ) -> str | None:
    """What the chosen engine lacks, as a sentence, or None: a key, an address, one for a key."""
    address = options.search_url
    if address is None:
        if options.search == "searxng":
            return (
                "SearXNG needs the address of an instance: set `web.search_url` in the profile, "
                "for example https://searx.example.org."
            )
    elif web_link(address) != address or not address.isascii():
        return "`web.search_url` in the profile must be an http(s) address, and in ASCII."
    variable = KEY_VARIABLES.get(options.search)
    if variable is None:
        return None
    key = environ.get(variable, "").strip()
    if not key:
        return f"{options.search} needs a key: set {variable}, or change `web.search`."
    if not (key.isascii() and key.isprintable()):
        return f"{variable} holds characters that no key has: set it anew."
    if address and _is_in_clear(address) and not _is_opened(address, options.allow_private):
        return f"The key in {variable} is not sent unencrypted: `web.search_url` must be https."
    return None


def _is_opened(address: str, allowed: Collection[str]) -> bool:
    """Whether the profile names a host as one that may be private, alone or with its port."""
    parts = split_or_none(address)
    return parts is not None and bool({host_of(address), parts.netloc} & {*allowed})


def _is_in_clear(address: str) -> bool:
    parts = split_or_none(address)
    return parts is None or parts.scheme != "https"


def normalised(query: str) -> str:
    """A query with single blanks, in the composed form (NFC); its case may carry a meaning (OR).

    Raises:
        SearchUnavailable: nothing is left, or it is too long.
    """
    words = unicodedata.normalize("NFC", " ".join(query.split()))
    if not words:
        raise SearchUnavailable("There is nothing to search for: the query is empty.")
    if len(words) > MAX_QUERY_CHARACTERS:
        raise SearchUnavailable(
            f"The query has {len(words)} characters, and search engines take at most "
            f"{MAX_QUERY_CHARACTERS}: name the few words that matter."
        )
    return words
