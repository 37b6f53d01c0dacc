"""SearXNG, Brave and Tavily against the JSON that they document, and against what else may come."""

import json
from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs

import pytest

from servers.web.errors import RateLimited, SearchUnavailable, WebError
from servers.web.ports import Fetcher, SearchResult
from servers.web.search.engine import Engine
from servers.web.search.json_engines import MAX_ROWS, BraveSearcher, SearxngSearcher, TavilySearcher
from tests.servers.web.loopback import LoopbackWeb, Reply, page
from tests.servers.web.search.engine_pages import EchoingFetcher

KEY = "sk-heron-4711"
JSON = "application/json"


Asked = Callable[[Fetcher, str], Engine]
"""An engine by its fetcher and its address."""

searxng: Asked = SearxngSearcher
brave: Asked = partial(BraveSearcher, key=KEY)
tavily: Asked = partial(TavilySearcher, key=KEY)
ENGINES = [searxng, brave, tavily]

SEARXNG_ANSWER: dict[str, object] = {
    "query": "herons",
    "results": [
        {
            "url": "https://herons.example/almanac",
            "title": "The Heron Almanac",
            "content": "Where herons winter.",
            "engine": "mojeek",
            "parsed_url": ["https", "herons.example", "/almanac", "", "", ""],
            "template": "default.html",
            "score": 2.5,
            "publishedDate": None,
        },
        {"url": "https://grey.example/", "title": "Grey heron", "content": None},
    ],
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": ["heron nest"],
    "unresponsive_engines": [["qwant", "timeout"]],
}
BRAVE_ANSWER: dict[str, object] = {
    "type": "search",
    "query": {"original": "herons", "more_results_available": True},
    "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}]},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "The <strong>Heron</strong> Almanac",
                "url": "https://herons.example/almanac",
                "description": "Where <strong>herons</strong> winter.",
                "is_source_local": False,
                "page_age": "2026-03-01T00:00:00",
                "profile": {"name": "Herons", "url": "https://herons.example/"},
                "language": "en",
            },
            {"title": "Grey heron", "url": "https://grey.example/", "description": ""},
        ],
        "family_friendly": True,
    },
}
TAVILY_ANSWER: dict[str, object] = {
    "query": "herons",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [
        {
            "url": "https://herons.example/almanac",
            "title": "The Heron Almanac",
            "content": "Where herons winter.",
            "score": 0.91,
            "raw_content": None,
        },
        {"url": "https://grey.example/", "title": "Grey heron", "content": None, "score": 0.3},
    ],
    "response_time": 0.8,
    "request_id": "c0ffee",
}
ANSWERS = [(searxng, SEARXNG_ANSWER), (brave, BRAVE_ANSWER), (tavily, TAVILY_ANSWER)]


async def found(web: LoopbackWeb, engine: Asked, answer: object) -> list[SearchResult]:
    web.pages["/search"] = page(json.dumps(answer), JSON)
    return await engine(web.public_fetcher(), web.url("/search", "engine.example")).search(
        "herons & reeds", 5
    )


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
async def test_the_documented_answer_becomes_results(
    web: LoopbackWeb, engine: Asked, answer: object
) -> None:
    assert await found(web, engine, answer) == [
        SearchResult(
            1, "The Heron Almanac", "https://herons.example/almanac", "Where herons winter."
        ),
        SearchResult(2, "Grey heron", "https://grey.example/", ""),
    ]


async def test_searxng_is_asked_for_json_under_any_base(web: LoopbackWeb) -> None:
    for base in ("", "/", "/searx/", "/search"):
        path = base.rstrip("/").removesuffix("/search") + "/search"
        web.pages[path] = page(json.dumps(SEARXNG_ANSWER), JSON)
        assert await SearxngSearcher(web.public_fetcher(), web.url(base, "engine.example")).search(
            "herons & reeds", 5
        )
        asked = web.asked[-1]
        assert (asked.method, asked.path) == ("GET", path)
        assert parse_qs(asked.query) == {"q": ["herons & reeds"], "format": ["json"]}


async def test_brave_is_asked_with_the_key_in_its_header(web: LoopbackWeb) -> None:
    await found(web, brave, BRAVE_ANSWER)
    (asked,) = web.asked
    assert asked.method == "GET"
    assert asked.headers["x-subscription-token"] == KEY
    assert parse_qs(asked.query)["q"] == ["herons & reeds"]
    assert parse_qs(asked.query)["count"] == ["5"]
    assert KEY not in asked.query


async def test_tavily_is_asked_with_the_key_as_a_bearer(web: LoopbackWeb) -> None:
    await found(web, tavily, TAVILY_ANSWER)
    (asked,) = web.asked
    assert asked.method == "POST"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(asked.body) == {
        "query": "herons & reeds",
        "max_results": 5,
        "search_depth": "basic",
    }


@pytest.mark.parametrize(("engine", "answer"), ANSWERS[1:])
async def test_no_more_than_one_request_gives_are_asked_for(
    web: LoopbackWeb, engine: Asked, answer: object
) -> None:
    web.pages["/search"] = page(json.dumps(answer), JSON)
    await engine(web.public_fetcher(), web.url("/search", "engine.example")).search("herons", 50)
    assert "20" in web.asked[0].query + web.asked[0].body.decode()


@pytest.mark.parametrize(
    ("engine", "answer"),
    [
        (searxng, {"results": [], "unresponsive_engines": []}),
        (brave, {"type": "search", "query": {"original": "herons"}}),
        (brave, {"type": "search", "web": {"type": "search", "results": []}}),
        (brave, {"type": "search", "web": None}),
        (tavily, {"results": []}),
    ],
)
async def test_nothing_found_is_an_empty_list(
    web: LoopbackWeb, engine: Asked, answer: object
) -> None:
    assert await found(web, engine, answer) == []


async def test_nothing_found_while_engines_failed_is_an_error(web: LoopbackWeb) -> None:
    answer = {"results": [], "unresponsive_engines": [["brave", "too many\nrequests"], 7]}
    with pytest.raises(SearchUnavailable, match=r"brave \(too many requests\)\. Try again later"):
        await found(web, searxng, answer)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "answer",
    [{}, [], "results", {"results": {}}, {"results": None, "web": []}, {"type": "ErrorResponse"}],
)
async def test_json_of_another_shape_is_an_error_that_says_so(
    web: LoopbackWeb, engine: Asked, answer: object
) -> None:
    with pytest.raises(SearchUnavailable, match=r"another shape than documented.*`web\.search`"):
        await found(web, engine, answer)


@pytest.mark.parametrize("engine", ENGINES)
async def test_an_answer_that_is_no_json_is_an_error(web: LoopbackWeb, engine: Asked) -> None:
    deep = "[" * 100_000
    for body in ("<html>log in</html>", "", "{", deep, "\ud800".encode("utf-8", "surrogatepass")):
        text = body if isinstance(body, bytes) else body.encode()
        web.pages["/search"] = Reply(text, headers={"content-type": "text/html"})
        with pytest.raises(SearchUnavailable, match=r"text/html that is no JSON"):
            await engine(web.public_fetcher(), web.url("/search", "engine.example")).search(
                "herons", 5
            )


@pytest.mark.parametrize("engine", ENGINES)
async def test_rows_that_cannot_be_read_are_passed_over(web: LoopbackWeb, engine: Asked) -> None:
    good = {"url": "https://a.example/", "title": "A", "content": "x", "description": "x"}
    rows: list[object] = [7, None, {"title": "no link"}, {"url": ["x"]}, {"url": "magnet:?xt=1"}]
    answer = {"type": "search", "results": [*rows, good], "web": {"results": [*rows, good]}}
    assert await found(web, engine, answer) == [SearchResult(1, "A", "https://a.example/", "x")]
    answer = {"type": "search", "results": rows, "web": {"results": rows}}
    with pytest.raises(SearchUnavailable, match=r"5 results, and none has a link"):
        await found(web, engine, answer)


@pytest.mark.parametrize("engine", ENGINES)
async def test_implausibly_many_rows_are_refused(web: LoopbackWeb, engine: Asked) -> None:
    rows = [7] * (MAX_ROWS + 1)
    answer = {"type": "search", "results": rows, "web": {"results": rows}}
    with pytest.raises(SearchUnavailable, match=f"at most {MAX_ROWS} items"):
        await found(web, engine, answer)


@pytest.mark.parametrize("engine", ENGINES)
async def test_texts_are_made_harmless(web: LoopbackWeb, engine: Asked) -> None:
    title = "Herons\n\n2. Trusted\u202e\u200b\U000e0041"
    row = {
        "url": "https://a.example/",
        "title": title,
        "content": "s\n\x07s",
        "description": "s\n\x07s",
    }
    answer = {"type": "search", "results": [row], "web": {"results": [row]}}
    (result,) = await found(web, engine, answer)
    assert (result.title, result.snippet) == ("Herons 2. Trusted", "s s")


REFUSALS: list[tuple[Asked, int, type[WebError], str]] = [
    (searxng, 403, SearchUnavailable, r"SearXNG refuses JSON.*`search\.formats`"),
    (searxng, 404, SearchUnavailable, r"no search at engine\.example.*`web\.search_url`"),
    (searxng, 429, RateLimited, r"SearXNG asks for a pause: .*3,600 s.*429.*Wait.*`web\.search`"),
    (searxng, 500, SearchUnavailable, r"SearXNG answers 500.*Wait"),
    (brave, 401, SearchUnavailable, r"refuses the key in BRAVE_API_KEY"),
    (brave, 403, SearchUnavailable, r"refuses the key in BRAVE_API_KEY"),
    (brave, 422, SearchUnavailable, r"\(status 422\).*shorter.*key in BRAVE_API_KEY"),
    (brave, 429, RateLimited, r"Brave Search asks for a pause"),
    (tavily, 400, SearchUnavailable, r"\(status 400\).*shorter"),
    (tavily, 401, SearchUnavailable, r"refuses the key in TAVILY_API_KEY"),
    (tavily, 429, RateLimited, r"Tavily asks for a pause"),
    (tavily, 432, RateLimited, r"Tavily answers 432: too many searches"),
    (tavily, 433, RateLimited, r"Tavily answers 433"),
    (tavily, 500, SearchUnavailable, r"Tavily answers 500"),
]


@pytest.mark.parametrize(("engine", "status", "error", "message"), REFUSALS)
async def test_a_refusal_names_the_cause_and_the_remedy(
    web: LoopbackWeb, engine: Asked, status: int, error: type[WebError], message: str
) -> None:
    body = json.dumps({"detail": {"error": f"no {KEY}"}}).encode()
    headers = {"content-type": JSON, "retry-after": "3600"}
    web.pages["/search"] = Reply(body, status, headers)
    with pytest.raises(error, match=message) as caught:
        await engine(web.public_fetcher(), web.url("/search", "engine.example")).search("herons", 5)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
async def test_an_engine_that_is_not_there_is_named(engine: Asked) -> None:
    nobody = LoopbackWeb(port=9).public_fetcher()
    with pytest.raises(SearchUnavailable, match=r"can't be reached"):
        await engine(nobody, "http://engine.example/search").search("herons", 5)


@pytest.mark.parametrize("engine", [brave, tavily])
@pytest.mark.parametrize("status", [None, 401, 422, 500])
async def test_the_key_is_in_no_error_even_if_the_fetcher_tells_it(
    engine: Asked, status: int | None
) -> None:
    provider = engine(EchoingFetcher(status), "https://engine.example/search")
    with pytest.raises(WebError) as caught:
        await provider.search("herons", 5)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__
    assert KEY not in repr(provider)
