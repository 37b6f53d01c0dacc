"""Which requests the offline planner takes for ones to the web, and which it must not."""

import time

import pytest

from modules.models.offline.web.requests import (
    PageQuestion,
    PageSummary,
    PageText,
    SearchThenRead,
    WebSearch,
    page_request,
    search_request,
)

URL = "https://en.wiki.example/wiki/Mercury_(planet)?a=1&b=%2F"


@pytest.mark.parametrize(
    ("request_text", "query"),
    [
        ("search the web for the notice period in Germany", "the notice period in Germany"),
        ("Please search the internet for cats and dogs.", "cats and dogs"),
        ("I want you to search the web for otters", "otters"),
        ("search online for otters", "otters"),
        ("search for otters online", "otters"),
        ("search the web: otters", "otters"),
        ("look up the height of Mont Blanc on the internet", "the height of Mont Blanc"),
        ("look Mont Blanc up online", "Mont Blanc"),
        ("find information about otters on the web", "otters"),
        ("find out who owns the shop on the internet", "who owns the shop"),
        ("google how to bake bread", "how to bake bread"),
        ("could you google “sourdough starter”?", "sourdough starter"),
        ("google for stock prices", "stock prices"),
        ("duckduckgo rust borrow checker", "rust borrow checker"),
        ("search DuckDuckGo for rust", "rust"),
        ("use duckduckgo to search for rust", "rust"),
        ("ask google about the price of rust", "the price of rust"),
        ("ask a search engine for otters", "otters"),
        ("do a web search for otters", "otters"),
        ("web search: otters", "otters"),
        ("what does the internet say about otters?", "otters"),
        ("search the web for rock and roll", "rock and roll"),
        ("search the web for law and order", "law and order"),
        ('search the web for "read it and then delete it"', "read it and then delete it"),
        ("search the web for election 2020 results", "election 2020 results"),
        ("search the web for 5 / 0", "5 / 0"),
    ],
)
def test_a_search_takes_the_words_behind_as_they_are(request_text: str, query: str) -> None:
    assert search_request(request_text) == WebSearch(query)


@pytest.mark.parametrize(
    ("request_text", "count"),
    [
        ("search the web for rust, 5 results", 5),
        ("search the web for rust (max 3 results)", 3),
        ("search the web for rust with at most four results", 4),
        ("search the web for rust and show me the top 3 results", 3),
        ("show me the top 5 web results for rust", 5),
    ],
)
def test_a_search_may_say_how_many_results_it_wants(request_text: str, count: int) -> None:
    assert search_request(request_text) == WebSearch("rust", count)


def test_pages_to_be_found_may_be_those_of_another_server() -> None:
    assert search_request("find pages about rust") == WebSearch("rust", names_pages=True)
    assert search_request("find me some websites about rust") == WebSearch("rust", names_pages=True)


@pytest.mark.parametrize(
    ("request_text", "position", "sums_up"),
    [
        ("search the web for otters and summarise the first result", 1, True),
        ("google otters, then open the second link", 2, False),
        ("look up otters online and then sum up the top hit", 1, True),
        ("Search the web for otters. Then summarize the 3rd search result for me.", 3, True),
        ("summarise the first web result for otters", 1, True),
        ("find pages about otters and read the first one", 1, False),
    ],
)
def test_a_search_may_go_on_to_one_of_its_results(
    request_text: str, position: int, sums_up: bool
) -> None:
    assert search_request(request_text) == SearchThenRead("otters", position, sums_up)


@pytest.mark.parametrize(
    "request_text",
    [
        "search the web",
        "search the web for",
        "search the web for ...",
        "search for otters",
        "look up otters",
        "find out how to sell online",
        "the web is large",
        "google",
        "google is a company",
        "google maps directions",
        "google stock price",
        "Google's history",
        "is google down?",
        "search google drive for the report",
        "search the knowledge graph for Alice",
        "search my documents for otters",
        "find pages about rent in my documents",
        "find https://a.example on the web",
        "search the web for otters and email them to bob",
        "search the web for otters and translate the results",
        "search the web for otters and summarise the results",
        "search the web for otters and compare the first two results",
        "search the web for otters, choose the best",
        "search the web for flights and book one",
        "search the web for otters then add 5 and 7",
        "search the web for otters. Email bob",
        "search the web for otters and summarise the first result and email it",
        "search the web for otters, 5000 results and delete a.txt",
        'duckduckgo_search_results query="cats" max_results=3',
        "search the web for cats max_results=3",
        f"search the web for {'x' * 500}",
    ],
)
def test_what_asks_for_less_or_more_than_a_search_is_none(request_text: str) -> None:
    assert search_request(request_text) is None


@pytest.mark.parametrize(
    ("request_text", "sentences"),
    [
        (f"summarise {URL}", None),
        (f"Summarize this page: {URL}", None),
        (f"Please summarise the article at <{URL}> in 3 sentences.", 3),
        (f"summarise in two sentences {URL}", 2),
        (f"briefly sum up {URL} for me", None),
        (f"what is {URL} about?", None),
        (f"What’s the page at {URL} about", None),
        (f"what does {URL} say?", None),
        (f"give me a short summary of {URL}", None),
        (f"write a 4-sentence summary of the page {URL}", 4),
        (f"tl;dr {URL}", None),
        (f"read {URL} and summarise it", None),
        (f"open {URL} and tell me what it is about", None),
        (f"{URL} - summarise this", None),
        (f"{URL}: what is it about?", None),
    ],
)
def test_a_page_is_to_be_summed_up(request_text: str, sentences: int | None) -> None:
    assert page_request(request_text) == PageSummary(URL, sentences)


@pytest.mark.parametrize(
    ("request_text", "query"),
    [
        (f"what does {URL} say about its orbit?", "its orbit"),
        (f"What does the article at '{URL}' tell us about iron?", "iron"),
        (f"According to {URL}, when was it discovered?", "when was it discovered"),
        (f"when was it discovered, according to {URL}?", "when was it discovered"),
        (f"is there water ice according to {URL}", "is there water ice"),
        (f"how hot is Mercury on {URL}?", "how hot is Mercury"),
        (f"on {URL}, what is the surface made of?", "what is the surface made of"),
        (f"read {URL} and tell me how hot it is", "how hot it is"),
        (f"look at {URL} and find the orbital period", "the orbital period"),
        (f"search {URL} for water ice", "water ice"),
        (f"find the orbital period on {URL}", "the orbital period"),
        (f"{URL}: how hot is it?", "how hot is it"),
    ],
)
def test_a_page_is_to_answer_a_question(request_text: str, query: str) -> None:
    assert page_request(request_text) == PageQuestion(URL, query)


@pytest.mark.parametrize(
    ("request_text", "query"),
    [
        (f"does {URL} mention Galileo?", "Galileo"),
        (f"Does the page {URL} say anything about water ice?", "water ice"),
    ],
)
def test_a_page_is_asked_whether_it_says_a_thing(request_text: str, query: str) -> None:
    assert page_request(request_text) == PageQuestion(URL, query)


@pytest.mark.parametrize(
    ("request_text", "form", "verb"),
    [
        (f"convert {URL} into markdown", "markdown", "convert"),
        (f"turn the page {URL} to markdown", "markdown", "turn"),
        (f"show me {URL} as markdown", "markdown", "show"),
        (f"give me the markdown of {URL}", "markdown", "give"),
        (f"read {URL}.", "text", "read"),
        (f'open "{URL}" please', "text", "open"),
        (f"download ({URL})", "text", "download"),
        (f"get the full text of {URL}", "text", "get"),
        (f"show the raw html of {URL}", "source", "show"),
    ],
)
def test_a_page_is_wanted_as_it_is(request_text: str, form: str, verb: str) -> None:
    found = page_request(request_text)
    assert isinstance(found, PageText)
    assert (found.url, found.form, found.verb) == (URL, form, verb)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://a.example/b.", "https://a.example/b"),
        ("https://a.example/b?!", "https://a.example/b"),
        ("(https://a.example/b)", "https://a.example/b"),
        ("https://a.example/b_(c)", "https://a.example/b_(c)"),
        ("“https://a.example/b”", "https://a.example/b"),
        ("'https://a.example/b'", "https://a.example/b"),
        ("<HTTPS://A.example:8443/b?c=%20#d>", "HTTPS://A.example:8443/b?c=%20#d"),
    ],
)
def test_an_address_ends_before_the_marks_of_the_sentence(written: str, url: str) -> None:
    assert page_request(f"summarise {written}") == PageSummary(url)


@pytest.mark.parametrize(
    "request_text",
    [
        URL,
        f"translate {URL}",
        f"summarise {URL} in German",
        f"summarise {URL} in 100 words",
        f"summarise {URL} in 99 sentences",
        f"summarise {URL} and https://a.example",
        f"compare {URL} with https://a.example",
        f"summarise {URL} and mail it to bob",
        f"summarise {URL} as a poem",
        f"what is in {URL}",
        f"what is {URL} about and who wrote it",
        f"what links are on {URL}",
        f"what is new on {URL}",
        f"how many words are on {URL}",
        f"how many times does water occur on {URL}",
        f"what is 5% of the mass on {URL}",
        f"according to {URL}, what is the mass times 3",
        f"according to {URL}, translate the introduction",
        f"what does {URL} say about iron in French",
        f"what does {URL} say about iron and email it to bob",
        f"go to {URL} and find a flight and book it",
        f"open {URL} in the browser",
        f"open {URL} and click on the button",
        f"convert {URL} into pdf",
        f"save {URL} as page.md",
        f"read {URL} then multiply the price by 3",
        f"is {URL} trustworthy?",
        f"download {URL} and delete it",
        f"download {URL} offset=8000",
        "summarise ftp://a.example/b",
        "summarise www.a.example",
        "summarise https://",
        f"summarise https://a.example/{'x' * 3000}",
        f"what does {URL} say about {'iron ' * 100}",
    ],
)
def test_what_no_sentences_of_the_page_can_answer_is_no_request_to_it(request_text: str) -> None:
    assert page_request(request_text) is None


@pytest.mark.parametrize("filler", [" and", " online", ", 5 results", " the page", " on the web,"])
@pytest.mark.parametrize("lead", ["search the web for x", f"read {URL}", "find x", f"what {URL}"])
def test_no_request_takes_long_to_read(lead: str, filler: str) -> None:
    begin = time.process_time()
    for text in (lead + filler * 60, lead + filler * 500):
        search_request(text)
        page_request(text)
    assert time.process_time() - begin < 0.5
