"""The search provider that the options ask for."""

import os
from collections.abc import Collection, Mapping
from typing import assert_never

from servers.web.errors import SearchUnavailable
from servers.web.options import KEY_VARIABLES, WebOptions
from servers.web.ports import Fetcher, SearchProvider, SearchResult
from servers.web.rate_limit import TURN_SECONDS_MAX, RateLimiter
from servers.web.search.cache import CachedProvider
from servers.web.search.duckduckgo import DUCKDUCKGO_URL, DuckDuckGoSearcher
from servers.web.search.json_engines import (
    BRAVE_URL,
    TAVILY_URL,
    BraveSearcher,
    SearxngSearcher,
    TavilySearcher,
)
from servers.web.search.links import host_of, split_or_none, web_link


class UnreadyProvider:
    """Stands for an engine that lacks a setting: each search says which.

    So a server starts, and its other tools work.
    """

    def __init__(self, name: str, lack: str) -> None:
        self.name = name
        self._lack = lack

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """Nothing but the error.

        Raises:
            SearchUnavailable: what is lacking.
        """
        raise SearchUnavailable(self._lack)


def open_provider(
    options: WebOptions,
    fetcher: Fetcher,
    environ: Mapping[str, str] = os.environ,
) -> CachedProvider:
    """The engine of the options, behind a cache and a rate limit.

    `environ` holds the keys, by `KEY_VARIABLES`.
    Nothing is asked, and nothing raised, before the first search: what is missing is told then.
    """
    return CachedProvider(_engine(options, fetcher, environ), options.cache_seconds)


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


def _engine(options: WebOptions, fetcher: Fetcher, environ: Mapping[str, str]) -> SearchProvider:
    lack = missing_setting(options, environ)
    if lack:
        return UnreadyProvider(options.search, lack)
    variable = KEY_VARIABLES.get(options.search, "")
    key = environ.get(variable, "").strip()
    url = options.search_url
    limiter = RateLimiter(options.searches_per_minute, wait_seconds_max=TURN_SECONDS_MAX)
    match options.search:
        case "duckduckgo":
            return DuckDuckGoSearcher(fetcher, url or DUCKDUCKGO_URL, limiter)
        case "searxng":
            return SearxngSearcher(fetcher, url or "", limiter)
        case "brave":
            return BraveSearcher(fetcher, key, variable, url or BRAVE_URL, limiter)
        case "tavily":
            return TavilySearcher(fetcher, key, variable, url or TAVILY_URL, limiter)
        case _:
            assert_never(options.search)


def _is_opened(address: str, allowed: Collection[str]) -> bool:
    """Whether the profile names a host as one that may be private, alone or with its port."""
    parts = split_or_none(address)
    return parts is not None and bool({host_of(address), parts.netloc} & {*allowed})


def _is_in_clear(address: str) -> bool:
    parts = split_or_none(address)
    return parts is None or parts.scheme != "https"
