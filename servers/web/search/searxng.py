"""SearXNG: a metasearch engine that anybody can run.

Source: https://docs.searxng.org/dev/search_api.html. An instance answers JSON only if its
`settings.yml` lists `json` under `search.formats`, else with status 403; how many results come in
one page is its own choice, and one page is asked for.
"""

from urllib.parse import urlencode, urlsplit, urlunsplit

from servers.web.faults import SearchUnavailable
from servers.web.ports import Fetcher, SearchResult
from servers.web.search.engine import Engine, ask
from servers.web.search.json_answers import Answer, Rows, read_answer, results_of
from servers.web.search.plain_text import plain_text
from servers.web.search.results import Hit

JSON_IS_OFF = (
    "refuses JSON (status 403): its `settings.yml` must list `json` under "
    "`search.formats`. Public instances rarely do; use one of your own."
)
MAX_NAMED_ENGINES = 5


class _Row(Answer):
    url: str
    title: str | None = None
    content: str | None = None


class _Answer(Answer):
    results: Rows[_Row]
    unresponsive_engines: Rows[tuple[str, str]] = ()


class SearxngSearcher:
    """Searches through one instance, given by its base address or that of its `/search`."""

    name = "searxng"

    def __init__(self, fetcher: Fetcher, address: str) -> None:
        self._fetcher = fetcher
        self._engine = Engine("SearXNG", _search_address(address), at_403=JSON_IS_OFF)

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `SearchProvider.search`.

        Nothing found while engines behind the instance failed is a fault, not "no results".
        """
        parameters = urlencode({"q": query, "format": "json"})
        url = f"{self._engine.address}?{parameters}"
        fetched = await ask(
            self._engine, self._fetcher, url=url, headers={"Accept": "application/json"}
        )
        answer = read_answer(fetched, _Answer, self._engine)
        if not answer.results and answer.unresponsive_engines:
            raise SearchUnavailable(
                "SearXNG found nothing while engines behind it did not answer: "
                f"{_failed(answer)}. Try again later, or turn other engines on."
            )
        hits = [Hit(row.title or "", row.url, row.content or "") for row in answer.results if row]
        return results_of(hits, len(answer.results), max_results, self._engine)


def _search_address(address: str) -> str:
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    if not path.endswith("/search"):
        path += "/search"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _failed(answer: _Answer) -> str:
    named = [f"{each[0]} ({each[1]})" for each in answer.unresponsive_engines if each]
    return plain_text(", ".join(named[:MAX_NAMED_ENGINES]) or "unnamed ones", 200)
