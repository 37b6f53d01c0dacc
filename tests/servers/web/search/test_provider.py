"""The provider that the options ask for: its engine, what it lacks, its pace."""

import pytest
from pydantic import TypeAdapter

from servers.web.errors import AddressRefused, RateLimited, SearchUnavailable, WebError
from servers.web.options import WebOptions
from servers.web.ports import Because, Fetched
from servers.web.search.provider import missing_setting, open_provider
from tests.servers.web.loopback import LoopbackWeb, page
from tests.servers.web.search import engine_pages as pages
from tests.servers.web.search.plain_fetcher import EchoingFetcher, PlainFetcher

KEYS = {"BRAVE_API_KEY": "sk-b", "TAVILY_API_KEY": " sk-t\n"}


def options(**given: object) -> WebOptions:
    return TypeAdapter(WebOptions).validate_python(given)


@pytest.mark.parametrize(
    ("search", "host"),
    [
        ("duckduckgo", "https://html.duckduckgo.com/html/"),
        ("brave", "https://api.search.brave.com/res/v1/web/search"),
        ("tavily", "https://api.tavily.com/search"),
    ],
)
async def test_each_engine_is_asked_at_its_own_address(search: str, host: str) -> None:
    provider = open_provider(options(search=search), EchoingFetcher(), KEYS)
    assert provider.name == search
    with pytest.raises(WebError, match=host):
        await provider.search("herons")


async def test_the_address_is_a_setting(web: LoopbackWeb) -> None:
    web.pages["/here"] = page(pages.results_page())
    provider = open_provider(options(search_url=web.url("/here")), PlainFetcher(), {})
    assert len(await provider.search("herons")) == 3


LACKS: list[tuple[dict[str, object], dict[str, str], str]] = [
    ({"search": "searxng"}, {}, "`web.search_url`"),
    ({"search": "brave"}, {}, "BRAVE_API_KEY"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "  "}, "BRAVE_API_KEY"),
    ({"search": "tavily"}, {"BRAVE_API_KEY": "x"}, "TAVILY_API_KEY"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "sk\nb"}, "no key has"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "schlüssel"}, "no key has"),
    ({"search": "brave", "search_url": "http://b.example/"}, KEYS, "unencrypted"),
    ({"search": "searxng", "search_url": "searx.example"}, {}, "http(s) address"),
    ({"search_url": "file:///etc/passwd"}, {}, "http(s) address"),
    ({"search_url": "https://é.example/"}, {}, "ASCII"),
    ({"search_url": ""}, {}, "http(s) address"),
]


@pytest.mark.parametrize(("given", "environ", "message"), LACKS)
async def test_what_an_engine_lacks_is_told_by_each_search(
    given: dict[str, object], environ: dict[str, str], message: str
) -> None:
    lack = missing_setting(options(**given), environ)
    assert lack is not None
    assert message in lack
    provider = open_provider(options(**given), EchoingFetcher(), environ)
    with pytest.raises(SearchUnavailable) as caught:
        await provider.search("herons")
    assert str(caught.value) == lack
    assert provider.name == options(**given).search


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"search": "searxng", "search_url": "http://searx.example/base"},
        {"search": "brave"},
        {"search": "tavily", "search_url": "https://proxy.example/tavily"},
        {
            "search": "brave",
            "search_url": "http://127.0.0.1:8080/",
            "allow_private": ("127.0.0.1",),
        },
    ],
)
def test_an_engine_that_has_what_it_needs_lacks_nothing(given: dict[str, object]) -> None:
    assert missing_setting(options(**given), KEYS) is None


async def test_only_real_requests_take_a_turn_and_our_own_limit_is_told_as_ours(
    web: LoopbackWeb,
) -> None:
    web.pages["/html/"] = page(pages.results_page())
    few = options(search_url=web.url("/html/"), searches_per_minute=1)
    provider = open_provider(few, PlainFetcher(), {})
    await provider.search("herons")
    await provider.search("herons")
    assert len(web.asked) == 1
    with pytest.raises(RateLimited, match="too many searches from here") as caught:
        await provider.search("egrets")
    assert "DuckDuckGo" not in str(caught.value)


class RefusingFetcher:
    """Finds an address private, or the server in want of a pause."""

    def __init__(self, error: WebError) -> None:
        self._error = error

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        raise self._error


async def test_a_private_address_says_how_to_allow_it() -> None:
    fetcher = RefusingFetcher(AddressRefused("127.0.0.1 is loopback"))
    given = options(search="searxng", search_url="http://localhost:8888")
    provider = open_provider(given, fetcher, {})
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1 is loopback\. .*`web\.allow_private`"):
        await provider.search("herons")


async def test_a_pause_that_a_server_asks_for_says_what_to_try() -> None:
    fetcher = RefusingFetcher(RateLimited("it asks for 3,600 s"))
    provider = open_provider(options(), fetcher, {})
    with pytest.raises(RateLimited, match=r"DuckDuckGo .* 3,600 s\. Wait .*`web\.search`"):
        await provider.search("herons")
