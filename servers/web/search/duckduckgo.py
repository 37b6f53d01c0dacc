"""DuckDuckGo: its HTML endpoint for browsers without scripts, which needs no key.

It is made for people: some requests in quick succession, or a client that looks odd, get a
challenge with status 202 instead of results. That is told as a rate limit, never as "no results".
"""

from collections.abc import Sequence

from servers.reading.text.encodings import text_of
from servers.web.errors import RateLimited, SearchUnavailable, WebError
from servers.web.ports import Fetcher, SearchResult
from servers.web.rate_limit import RateLimiter
from servers.web.search.duckduckgo_page import ResultsPage, read_results, start_of
from servers.web.search.engine import CHANGE, WAIT_OR_CHANGE, Engine
from servers.web.search.results import Hit, format_results_for_llm, numbered

DUCKDUCKGO_URL = "https://html.duckduckgo.com/html/"
MAX_PAGES = 3
"""The first has about 10 results, others about 15; the fifth quick request gets a challenge."""

CHALLENGE_STATUS = 202

HEADERS = {
    # The endpoint challenges clients that don't say what they accept, as a browser's form does.
    "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.8",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-User": "?1",
}


class DuckDuckGoSearcher:
    """Searches DuckDuckGo through a guarded fetcher."""

    name = "duckduckgo"

    def __init__(
        self,
        fetcher: Fetcher,
        address: str = DUCKDUCKGO_URL,
        limiter: RateLimiter | None = None,
    ) -> None:
        at_403 = f"refuses the search (status 403). {WAIT_OR_CHANGE}"
        self._engine = Engine("DuckDuckGo", address, fetcher, limiter, at_403=at_403)

    async def search(self, query: str, max_results: int = 10) -> list[SearchResult]:
        """As `SearchProvider.search`; further pages are asked for while there are too few hits.

        What the first page gave stands even if a later one is refused.
        """
        hits: list[Hit] = []
        form = {"q": _without_bangs(query), "b": "", "kl": ""}
        for _ in range(MAX_PAGES):
            page = await self._page_or_end(form, hits)
            hits.extend(page.hits)
            if not page.next_form or len(numbered(hits, max_results)) == max_results:
                break
            form = page.next_form
        return numbered(hits, max_results)

    def format_results_for_llm(self, results: Sequence[SearchResult]) -> str:
        """Numbered text, or that there is nothing."""
        return format_results_for_llm(results)

    async def _page_or_end(self, form: dict[str, str], hits: Sequence[Hit]) -> ResultsPage:
        try:
            return await self._page(form)
        except WebError:
            if not hits:
                raise
            return ResultsPage()

    async def _page(self, form: dict[str, str]) -> ResultsPage:
        headers = {**HEADERS, "Referer": self._engine.address}
        fetched = await self._engine.ask(headers=headers, form=form)
        page = read_results(text_of(fetched.body, fetched.charset), start_of(form))
        if fetched.status == CHALLENGE_STATUS or page.is_challenge:
            raise RateLimited(
                f"DuckDuckGo takes this for a robot (status {fetched.status}) and asks for a "
                f"challenge to be solved instead of searching. {WAIT_OR_CHANGE}"
            )
        if not page.hits and not page.says_none:
            raise SearchUnavailable(
                f"DuckDuckGo's page has changed (status {fetched.status}, {len(fetched.body)} "
                f"bytes): it shows neither results nor that there are none. {CHANGE}"
            )
        return page


def _without_bangs(query: str) -> str:
    r"""`!w heron`, `heron w!` and `\ heron` would leave for another site instead of searching."""
    words = (word.lstrip("!\\").rstrip("!") for word in query.split())
    return " ".join(filter(None, words)) or query
