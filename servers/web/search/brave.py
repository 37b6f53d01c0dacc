"""Brave Search: an index of its own, asked with a key.

Source: https://api-dashboard.search.brave.com/api-reference/web/search/get. One request gives at
most 20 results; further ones would each be billed, so no more are asked for. A wrong key is
answered with 422 (or 401), as are queries over 400 characters or 50 words.
"""

from typing import Literal
from urllib.parse import urlencode

from servers.web.ports import Fetcher, SearchResult
from servers.web.search.engine import Engine, ask
from servers.web.search.json_answers import Answer, Rows, read_answer, results_of
from servers.web.search.results import Hit, without_tags

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
MAX_RESULTS_PER_REQUEST = 20


class _Row(Answer):
    url: str
    title: str | None = None
    description: str | None = None


class _Web(Answer):
    results: Rows[_Row] = ()


class _Answer(Answer):
    type: Literal["search"]
    web: _Web | None = None
    """Left out when nothing was found."""


class BraveSearcher:
    """Searches with the key of the variable that is named in errors."""

    name = "brave"

    def __init__(
        self, fetcher: Fetcher, key: str, key_variable: str, address: str = BRAVE_URL
    ) -> None:
        self._fetcher = fetcher
        self._engine = Engine("Brave Search", address, key_variable, key)

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `SearchProvider.search`; at most 20 results."""
        parameters = urlencode({
            "q": query,
            "count": min(max_results, MAX_RESULTS_PER_REQUEST),
            "text_decorations": "false",
            "result_filter": "web",
        })  # fmt: skip
        headers = {
            "Accept": "application/json",
            "Cache-Control": "no-cache",  # without it some plans answer 422
            "X-Subscription-Token": self._engine.key,
        }
        url = f"{self._engine.address}?{parameters}"
        fetched = await ask(self._engine, self._fetcher, url=url, headers=headers)
        answer = read_answer(fetched, _Answer, self._engine)
        rows = answer.web.results if answer.web else ()
        hits = [
            Hit(without_tags(row.title or ""), row.url, without_tags(row.description or ""))
            for row in rows
            if row
        ]
        return results_of(hits, len(rows), max_results, self._engine)
