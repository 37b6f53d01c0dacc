"""Tavily: search made for language models, asked with a key.

Source: https://docs.tavily.com/documentation/api-reference/endpoint/search. A basic search costs
one credit and gives at most 20 results. 401 is a wrong key, 429 too many requests; 432 and 433
say that the allowance of the key or plan is used up.
"""

from servers.web.ports import Fetcher, SearchResult
from servers.web.search.engine import Engine, ask
from servers.web.search.json_answers import Answer, Rows, read_answer, results_of
from servers.web.search.results import Hit

TAVILY_URL = "https://api.tavily.com/search"
MAX_RESULTS_PER_REQUEST = 20


class _Row(Answer):
    url: str
    title: str | None = None
    content: str | None = None


class _Answer(Answer):
    results: Rows[_Row]


class TavilySearcher:
    """Searches with the key of the variable that is named in errors."""

    name = "tavily"

    def __init__(
        self, fetcher: Fetcher, key: str, key_variable: str, address: str = TAVILY_URL
    ) -> None:
        self._fetcher = fetcher
        self._engine = Engine("Tavily", address, key_variable, key)

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `SearchProvider.search`; at most 20 results."""
        wish = {
            "query": query,
            "max_results": min(max_results, MAX_RESULTS_PER_REQUEST),
            "search_depth": "basic",
        }
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._engine.key}"}
        fetched = await ask(self._engine, self._fetcher, headers=headers, json=wish)
        rows = read_answer(fetched, _Answer, self._engine).results
        hits = [Hit(row.title or "", row.url, row.content or "") for row in rows if row]
        return results_of(hits, len(rows), max_results, self._engine)
