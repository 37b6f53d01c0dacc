"""The engines with a JSON interface: SearXNG, Brave and Tavily."""

from typing import Annotated, Literal, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator

from servers.web.errors import SearchUnavailable
from servers.web.ports import Fetched, Fetcher, SearchResult
from servers.web.search.engine import CHANGE, Engine, ask
from servers.web.search.results import Hit, numbered, plain_text, without_tags

AnswerT = TypeVar("AnswerT", bound=BaseModel)
RowT = TypeVar("RowT")

MAX_ROWS = 2_000
"""More than all engines behind one SearXNG give for one page."""


def _none_if_misshapen(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        return None


Lenient: TypeAlias = Annotated[RowT | None, WrapValidator(_none_if_misshapen)]
"""One row of a list: None if it has another shape, so that the others are still read."""


Rows: TypeAlias = Annotated[tuple[Lenient[RowT], ...], Field(max_length=MAX_ROWS)]
"""All rows of a list, if they are plausibly many."""


class Answer(BaseModel):
    """What all answers have in common: fields that we don't know are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_answer(fetched: Fetched, shape: type[AnswerT], engine: Engine) -> AnswerT:
    """The body as the documented answer.

    Raises:
        SearchUnavailable: it is no JSON, or of another shape; the message names the place.
    """
    try:
        return shape.model_validate_json(fetched.body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        kind = fetched.media_type or "something"
        raise SearchUnavailable(f"{engine.label} sent {kind} that is no JSON. {CHANGE}")
    place = ".".join(str(part) for part in first["loc"])[:80]
    raise SearchUnavailable(
        f"{engine.label} sent JSON of another shape than documented ({place}: {first['msg']}). "
        f"{CHANGE}"
    )


def results_of(hits: list[Hit], rows: int, max_results: int, engine: Engine) -> list[SearchResult]:
    """The hits of an answer with `rows` rows, numbered.

    Raises:
        SearchUnavailable: there are rows, and none of them could be read.
    """
    results = numbered(hits, max_results)
    if rows and not results:
        raise SearchUnavailable(
            f"{engine.label} sent {rows} results, and none has a link that can be read. {CHANGE}"
        )
    return results


BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
BRAVE_RESULTS_MAX = 20


class _BraveRow(Answer):
    url: str
    title: str | None = None
    description: str | None = None


class _Web(Answer):
    results: Rows[_BraveRow] = ()


class _BraveAnswer(Answer):
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
            "count": min(max_results, BRAVE_RESULTS_MAX),
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
        answer = read_answer(fetched, _BraveAnswer, self._engine)
        rows = answer.web.results if answer.web else ()
        hits = [
            Hit(without_tags(row.title or ""), row.url, without_tags(row.description or ""))
            for row in rows
            if row
        ]
        return results_of(hits, len(rows), max_results, self._engine)


TAVILY_URL = "https://api.tavily.com/search"
TAVILY_RESULTS_MAX = 20


class _TavilyRow(Answer):
    url: str
    title: str | None = None
    content: str | None = None


class _TavilyAnswer(Answer):
    results: Rows[_TavilyRow]


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
            "max_results": min(max_results, TAVILY_RESULTS_MAX),
            "search_depth": "basic",
        }
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._engine.key}"}
        fetched = await ask(self._engine, self._fetcher, headers=headers, json=wish)
        rows = read_answer(fetched, _TavilyAnswer, self._engine).results
        hits = [Hit(row.title or "", row.url, row.content or "") for row in rows if row]
        return results_of(hits, len(rows), max_results, self._engine)


JSON_IS_OFF = (
    "refuses JSON (status 403): its `settings.yml` must list `json` under "
    "`search.formats`. Public instances rarely do; use one of your own."
)
MAX_NAMED_ENGINES = 5


class _SearxngRow(Answer):
    url: str
    title: str | None = None
    content: str | None = None


class _SearxngAnswer(Answer):
    results: Rows[_SearxngRow]
    unresponsive_engines: Rows[tuple[str, str]] = ()


class SearxngSearcher:
    """Searches through one instance, given by its base address or that of its `/search`."""

    name = "searxng"

    def __init__(self, fetcher: Fetcher, address: str) -> None:
        self._fetcher = fetcher
        self._engine = Engine("SearXNG", _search_address(address), at_403=JSON_IS_OFF)

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `SearchProvider.search`.

        Nothing found while engines behind the instance failed is an error, not "no results".
        """
        parameters = urlencode({"q": query, "format": "json"})
        url = f"{self._engine.address}?{parameters}"
        fetched = await ask(
            self._engine, self._fetcher, url=url, headers={"Accept": "application/json"}
        )
        answer = read_answer(fetched, _SearxngAnswer, self._engine)
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


def _failed(answer: _SearxngAnswer) -> str:
    named = [f"{each[0]} ({each[1]})" for each in answer.unresponsive_engines if each]
    return plain_text(", ".join(named[:MAX_NAMED_ENGINES]) or "unnamed ones", 200)
