"""The engines with a JSON interface, whose answers are checked before a word of them is used."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from core.base.frozen import frozen
from servers.web.errors import SearchUnavailable
from servers.web.ports import Fetched, SearchResult
from servers.web.search.engine import CHANGE, Engine
from servers.web.search.results import Hit, numbered, plain_text, without_tags

AnswerT = TypeVar("AnswerT", bound=BaseModel)
RowT = TypeVar("RowT")

MAX_ROWS = 2_000
"""More than all engines behind one SearXNG give for one page."""

RESULTS_MAX = 20
"""What Brave and Tavily give at most for one request; a further one would cost anew."""

MAX_NAMED_ENGINES = 5


def _none_if_misshapen(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        return None


Lenient: TypeAlias = Annotated[RowT | None, WrapValidator(_none_if_misshapen)]
"""One row of a list: None if it has another shape, so that the others are still read."""

Rows: TypeAlias = Annotated[tuple[Lenient[RowT], ...], Field(max_length=MAX_ROWS)]
"""All rows of a list, if they are plausibly many."""


class _Answer(BaseModel):
    """What all answers have in common: fields that we don't know are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Row(_Answer):
    url: str
    title: str | None = None
    content: Annotated[
        str | None, Field(validation_alias=AliasChoices("content", "description"))
    ] = None


class _BraveWeb(_Answer):
    results: Rows[_Row] = ()


class _BraveAnswer(_Answer):
    type: Literal["search"]
    web: _BraveWeb | None = None
    """Left out when nothing was found."""


class _TavilyAnswer(_Answer):
    results: Rows[_Row]


class _SearxngAnswer(_TavilyAnswer):
    unresponsive_engines: Rows[tuple[str, str]] = ()


@frozen
class BraveSearcher(Engine):
    """Brave Search, an index of its own; it wants a key.

    Source: https://api-dashboard.search.brave.com/api-reference/web/search/get. A wrong key is
    answered with 422 (or 401), as are queries over 400 characters or 50 words.
    """

    address: str = "https://api.search.brave.com/res/v1/web/search"

    name: ClassVar[str] = "brave"
    label: ClassVar[str] = "Brave Search"

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `Engine.search`; at most 20 results."""
        parameters = urlencode({
            "q": query,
            "count": min(max_results, RESULTS_MAX),
            "text_decorations": "false",
            "result_filter": "web",
        })  # fmt: skip
        headers = {
            "Accept": "application/json",
            "Cache-Control": "no-cache",  # without it some plans answer 422
            "X-Subscription-Token": self.key,
        }
        fetched = await self.ask(url=f"{self.address}?{parameters}", headers=headers)
        web = _answer(fetched, _BraveAnswer, self).web or _BraveWeb()
        return _results(web.results, max_results, self, has_tags=True)


@frozen
class TavilySearcher(Engine):
    """Tavily, made for language models; it wants a key.

    Source: https://docs.tavily.com/documentation/api-reference/endpoint/search. A basic search
    costs one credit. 401 is a wrong key, 429 too many requests; 432 and 433 say that the allowance
    of the key or plan is used up.
    """

    address: str = "https://api.tavily.com/search"

    name: ClassVar[str] = "tavily"
    label: ClassVar[str] = "Tavily"

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `Engine.search`; at most 20 results."""
        wish = {
            "query": query,
            "max_results": min(max_results, RESULTS_MAX),
            "search_depth": "basic",
        }
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self.key}"}
        fetched = await self.ask(headers=headers, json=wish)
        return _results(_answer(fetched, _TavilyAnswer, self).results, max_results, self)


@frozen
class SearxngSearcher(Engine):
    """SearXNG, a metasearch engine that anybody can run: one instance, by its base address.

    Source: https://docs.searxng.org/dev/search_api.html. An instance answers JSON only if its
    `settings.yml` lists `json` under `search.formats`, else with status 403; how many results come
    in one page is its own choice, and one page is asked for.
    """

    address: str = ""
    """That of its `/search` will do too."""

    name: ClassVar[str] = "searxng"
    label: ClassVar[str] = "SearXNG"
    at_403: ClassVar[str] = (
        "refuses JSON (status 403): its `settings.yml` must list `json` under "
        "`search.formats`. Public instances rarely do; use one of your own."
    )

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """As `Engine.search`.

        Nothing found while engines behind the instance failed is an error, not "no results".
        """
        place = urlsplit(self.address)
        path = f"{place.path.rstrip('/').removesuffix('/search')}/search"
        wish = urlencode({"q": query, "format": "json"})
        url = urlunsplit((place.scheme, place.netloc, path, wish, ""))
        fetched = await self.ask(url=url, headers={"Accept": "application/json"})
        answer = _answer(fetched, _SearxngAnswer, self)
        if not answer.results and answer.unresponsive_engines:
            named = [f"{each[0]} ({each[1]})" for each in answer.unresponsive_engines if each]
            failed = plain_text(", ".join(named[:MAX_NAMED_ENGINES]) or "unnamed ones", 200)
            raise SearchUnavailable(
                "SearXNG found nothing while engines behind it did not answer: "
                f"{failed}. Try again later, or turn other engines on."
            )
        return _results(answer.results, max_results, self)


def _answer(fetched: Fetched, shape: type[AnswerT], engine: Engine) -> AnswerT:
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


def _results(
    rows: Sequence[_Row | None], max_results: int, engine: Engine, *, has_tags: bool = False
) -> list[SearchResult]:
    """The rows of an answer, numbered; `has_tags` where titles and snippets are HTML.

    Raises:
        SearchUnavailable: there are rows, and none of them could be read.
    """
    plain = without_tags if has_tags else str
    hits = [Hit(plain(row.title or ""), row.url, plain(row.content or "")) for row in rows if row]
    results = numbered(hits, max_results)
    if rows and not results:
        raise SearchUnavailable(
            f"{engine.label} sent {len(rows)} results, and none has a link that can be read. "
            f"{CHANGE}"
        )
    return results
