"""Requests about the web: searches, and what is asked of one page whose address they give.

Some words are needed that say where to search: "search the web for …", "look up … online",
"google …". What stands behind them is the query as it is, in all its words. An address is put
aside first, so that a request's words are read without it.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from core.base.text import lazy_pattern
from core.tools.ranking import stem
from modules.models.offline.quotes.asking import (
    COUNTING,
    QUESTION_CHARACTERS_MAX,
    asks_more,
    bare,
    matched,
    question_terms,
    whole_number,
)

RESULTS_MAX: Final = 50
"""The longest list that the search tool gives."""


class WebSearch(NamedTuple):
    """A search whose results are the answer; `max_results` is None where nobody says."""

    query: str
    max_results: int | None = None
    names_pages: bool = False
    """Whether the request only speaks of pages, which may be those of another server."""


class SearchThenRead(NamedTuple):
    """A search of which one result is read, the one at `position` from 1 on."""

    query: str
    position: int
    sums_up: bool


SearchRequest: TypeAlias = WebSearch | SearchThenRead

_WEB: Final = r"(?:the\s+)?(?:web|internet|net|world\s+wide\s+web)"
_ENGINE: Final = r"(?:duck\s*duck\s*go|ddg|google|bing|(?:a|the|any)\s+search\s+engine)"
_ONLINE: Final = (
    rf"(?:(?:on|in|from|across|over)\s+{_WEB}|online|on\s+{_ENGINE}|"
    rf"(?:with|using|via|through|by)\s+{_ENGINE})"
)
_FOR: Final = r"(?:\s+(?:for|about|on|regarding)\s+|\s*:\s*)"
_QUERY: Final = r"(?P<query>.+)"
_SOME: Final = r"(?:me\s+)?(?:some\s+|the\s+|a\s+few\s+|any\s+)?"

_NOUN_NOT_VERB: Final = (
    r"(?!(?:is|was|are|were|has|had|will|can|does|did|and|or|vs|versus|account|ads|analytics|"
    r"answers?|bard|calendar|chrome|cloud|docs?|drive|earth|fonts?|forms?|gemini|hangouts|home|"
    r"images?|inc|llc|lens|mail|maps?|meet|news|pay|photos?|pixel|play|scholar|search|shares?|"
    r"sheets?|slides|stock|stocks|translate|voice|workspace)\b)"
)
"""What makes of "google" a name: those requests are about Google, or one of its services."""

_FORMS: Final = (
    rf"(?:search|browse|scan|scour|query|check|consult)\s+(?:{_WEB}|{_ENGINE}|online){_FOR}{_QUERY}",
    rf"(?:search|look)\s+{_ONLINE}{_FOR}{_QUERY}",
    rf"(?:do|run|make|perform)\s+(?:an?\s+)?(?:quick\s+)?(?:web|internet|online|{_ENGINE})\s*search"
    rf"{_FOR}{_QUERY}",
    rf"(?:web|internet|online)\s*search{_FOR}{_QUERY}",
    rf"ask\s+{_ENGINE}\s+(?:about|for)\s+{_QUERY}",
    rf"use\s+{_ENGINE}\s+to\s+(?:search\s+for|search|look\s+for|look\s+up|find\s+out|find)\s+{_QUERY}",
    rf"look\s+up\s+(?P<query>.+?),?\s+{_ONLINE}",
    rf"look\s+(?P<query>.+?)\s+up\s+{_ONLINE}",
    rf"(?:search(?:\s+for)?|look\s+for)\s+(?P<query>.+?),?\s+{_ONLINE}",
    rf"find\s+{_SOME}(?:information\s+(?:about|on)\s+)?(?!out\b)(?P<query>.+?),?\s+{_ONLINE}",
    # No "online" here: "find out how to sell online" asks for just that.
    rf"find\s+out\s+(?:about\s+)?(?P<query>.+?),?\s+on\s+(?:{_WEB}|{_ENGINE})",
    rf"what\s+does\s+{_WEB}\s+say\s+(?:about|on)\s+{_QUERY}",
    rf"(?:google|duck\s*duck\s*go|ddg)\s+for\s+{_QUERY}",
    rf"(?:google|duck\s*duck\s*go|ddg)\s+{_NOUN_NOT_VERB}{_QUERY}",
    rf"(?:find|show|list|get|give)\s+{_SOME}(?:(?:top|first)\s+)?(?P<count>\w+\s+)?"
    rf"(?:web|internet|{_ENGINE})\s+(?:search\s+)?(?:results|hits)\s+(?:for|about|on)\s+{_QUERY}",
)  # fmt: skip
"""How requests name the web; patterns of whole requests, tried in this order."""

_PAGES: Final = (
    rf"find\s+{_SOME}(?:web\s*pages?|pages|web\s*sites?|sites)\s+(?:about|on|regarding|"
    rf"concerning|for)\s+{_QUERY}"
)
"""Names pages alone."""

_ORDINALS: Final = {
    "first": 1, "1st": 1, "top": 1, "best": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3,
    "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
}  # fmt: skip
_NTH: Final = rf"(?:the\s+)?(?P<nth>{'|'.join(_ORDINALS)})"
_READING: Final = r"(?P<how>summari[sz]e|sum\s+up|read|open|fetch|download)"
_RESULT: Final = r"(?:result|hit|match|page|link|site|website|article|one)"

_THEN_READ: Final = (
    rf"(?P<search>.+?)[,;.]?\s+(?:and\s+then|and|then)\s+{_READING}\s+{_NTH}\s+(?:of\s+the\s+)?"
    rf"(?:search\s+|web\s+)*{_RESULT}(?:\s+for\s+me)?"
)
_READ_OF_SEARCH: Final = (
    rf"{_READING}\s+{_NTH}\s+(?:web|internet|online|{_ENGINE})\s+(?:search\s+)?{_RESULT}\s+"
    rf"(?:for|about|on)\s+{_QUERY}"
)
_LIMITED: Final = (
    r"(?P<search>.+?)(?:,\s*|\s+\(|,?\s+and\s+(?:only\s+)?(?:show|give|list|get)\s+(?:me\s+)?|\s+with\s+)"
    r"(?:only\s+|just\s+)?(?:the\s+)?(?:max(?:imum|\.)?\s+|at\s+most\s+|up\s+to\s+|top\s+|first\s+"
    r"|best\s+)?(?P<count>\w+)\s+(?:results?|hits?|links?|pages?)\)?"
)
"""How many results are wanted, behind the query and plainly apart from it."""

OF_THE_WEB: Final = lazy_pattern(
    r"\b(?:web|internet|online|net|google|bing|ddg|duck\s*duck\s*go|search\s+engine|\w*pages?|\w*sites?)",
    re.IGNORECASE,
)
"""One of these words is in every request to search; where none is, no pattern need be tried."""

_NO_WORDS: Final = lazy_pattern(
    r"https?://|\bmax_results\b|\b(?:in|from|through|of|on)\s+(?:my|our)\s", re.IGNORECASE
)
"""What is no part of a query: an address, an argument, one's own files."""


def search_request(request: str) -> SearchRequest | None:
    """The search that the request asks for; None if it asks for none, or for more."""
    text = bare(request)
    if len(text) > QUESTION_CHARACTERS_MAX:
        return None
    then = matched(_THEN_READ, text)
    if then is not None and (search := _search(then["search"])) is not None:
        return _reading(search.query, then)
    read = matched(_READ_OF_SEARCH, text)
    if read is not None and (query := _query(read["query"])):
        return _reading(query, read)
    limited = matched(_LIMITED, text)
    count = None if limited is None else _count(limited["count"])
    if limited is not None and count is not None and (found := _search(limited["search"])):
        return found._replace(max_results=count)
    return _search(text)


def _search(text: str) -> WebSearch | None:
    for pattern in (*_FORMS, _PAGES):
        if (found := matched(pattern, text)) is None or not (query := _query(found["query"])):
            continue
        given = found.groupdict().get("count")
        count = _count(given) if given else None
        if count is not None or not given:
            return WebSearch(query, count, names_pages=pattern == _PAGES)
    return None


def _query(text: str) -> str:
    """The query, without quotes around all of it; empty if it may be more than a query."""
    query = text.strip(" ,:;")
    for opening, closing in ('""', "''", "“”", "``"):
        inner = query[1:-1]
        whole = query[:1] == opening and query[-1:] == closing and inner.strip()
        if whole and not {opening, closing} & {*inner}:
            return inner
    alone = _NO_WORDS.search(query) is None and not asks_more(query)
    return query if alone and re.search(r"\w", query) else ""


def _reading(query: str, found: re.Match[str]) -> SearchThenRead:
    sums_up = found["how"].lower().startswith("sum")
    return SearchThenRead(query, _ORDINALS[found["nth"].lower()], sums_up)


def _count(word: str) -> int | None:
    """How many results are wanted; None if the word says nothing of the kind."""
    count = whole_number(word)
    return count if count is not None and 1 <= count <= RESULTS_MAX else None


URL_CHARACTERS_MAX: Final = 2_000
SENTENCES_MAX: Final = 10
"""The longest summary that can be asked for."""

PAGE_MARK: Final = "\x00"
"""Stands in a request where its address was."""

PageForm: TypeAlias = Literal["text", "markdown", "source"]


class PageText(NamedTuple):
    """A page as it is; `verb` is how the request asks for it."""

    url: str
    form: PageForm
    verb: str


class PageSummary(NamedTuple):
    """The sentences of a page that say most; how many, if the request says it."""

    url: str
    sentences: int | None = None


class PageQuestion(NamedTuple):
    """A question that a page is to answer, or a subject that it may say something about."""

    url: str
    query: str


PageRequest: TypeAlias = PageText | PageSummary | PageQuestion

_NOUN: Final = (
    r"(?:web\s*page|page|web\s*site|site|article|blog\s+post|post|story|link|url|address|document|"
    r"paper|documentation|docs|entry)"
)
_PAGE: Final = (
    r"(?:(?:(?:the|this|that|following)\s+)?(?:(?:linked|web|news|blog|whole|full|entire)\s+)*"
    rf"(?:{_NOUN}\s*)?(?:(?:at|on|from|behind|under)\s+)?[:,]?\s*)?\x00"
)
_THIS: Final = rf"(?:it|this|that)(?:\s+{_NOUN})?|the\s+{_NOUN}"

_BRIEFLY: Final = r"(?:(?:briefly|shortly|quickly|concisely)\s+)?"
_LENGTH: Final = (
    r"(?:[\s,]+(?:in\s+(?:(?P<count>\d+|one|two|three|four|five|six|seven|eight|nine|ten)|a\s+few|"
    r"some|a\s+couple\s+of)\s+(?:short\s+|key\s+)?sentences?|in\s+short|in\s+brief|briefly|shortly|"
    r"quickly|concisely|for\s+me))*"
)
_SUM_UP: Final = r"(?:summari[sz]e|sum\s+up|recap|condense|tl;?dr)"
_SHORT: Final = r"(?:(?:a|an|the)\s+)?(?:(?:short|brief|quick|concise)\s+)*"
_SUMMARY: Final = (
    r"(?:summary|overview|gist|digest|recap|(?:main|key)\s+(?:points|ideas|facts|sentences))"
)
_GO: Final = r"(?:read|open|fetch|download|visit|get|load|go\s+to|look\s+at|look\s+into)"
_ABOUT: Final = r"(?:about|on|regarding|concerning)"
_ASKING: Final = r"(?:what|who|whom|whose|when|where|which|why|how)"
_ASKED: Final = (
    rf"(?P<query>(?:{_ASKING}|what['’]s|who['’]s|is|are|was|were|do|does|did|has|have|had|can|will|"
    r"may|must)\b.+)"
)

_SUMMARIES: Final = (
    rf"{_BRIEFLY}{_SUM_UP}\s*:?\s*{_BRIEFLY}(?:for\s+me\s*:?\s*)?{_PAGE}{_LENGTH}",
    rf"{_SUM_UP}{_LENGTH}\s*:?\s*{_PAGE}",
    rf"(?:(?:give|show|write|make|get)\s+(?:me\s+)?)?{_SHORT}(?:(?P<count>\w+)[-\s]sentences?\s+)?"
    rf"{_SUMMARY}\s+(?:of|for)\s+{_PAGE}",
    rf"what(?:['’]?s|\s+is|\s+are)\s+{_PAGE}\s+(?:all\s+)?about{_LENGTH}",
    rf"what\s+does\s+{_PAGE}\s+(?:say|tell(?:\s+(?:me|us))?|contain|discuss|describe|cover){_LENGTH}",
    rf"{_GO}\s+{_PAGE}\s*,?\s*(?:and\s+)?(?:then\s+)?(?:{_SUM_UP}(?:\s+(?:{_THIS}))?|"
    rf"sum\s+(?:{_THIS})\s+up|(?:give|write)\s+(?:me\s+)?{_SHORT}{_SUMMARY}|"
    rf"tell\s+(?:me|us)\s+what\s+(?:{_THIS})(?:['’]s|\s+is)\s+about|tell\s+(?:me|us)\s+what\s+(?:{_THIS})\s+says){_LENGTH}",
    rf"{_PAGE}\s*[:,;–-]?\s*(?:please\s+)?(?:{_SUM_UP}(?:\s+(?:{_THIS}))?|summary|what(?:['’]s|\s+is)\s+"
    rf"(?:{_THIS})\s+about){_LENGTH}",
)  # fmt: skip

_SHOW: Final = (
    r"(?P<verb>read|open|download|fetch|get|show|display|visit|load|print|view|retrieve|browse|"
    r"access|scrape|go\s+to)\s+(?:me\s+)?"
)
_CONVERT: Final = (
    r"(?P<verb>convert|turn|transform|change|render|make|export|fetch|get|give|show|read|open|"
    r"download)\s+(?:me\s+)?"
)
_MARKDOWN: Final = r"(?:markdown|md)(?:\s+(?:text|format))?"

_TEXTS: Final[tuple[tuple[PageForm, str], ...]] = (
    ("markdown", rf"{_CONVERT}{_PAGE}\s+(?:in|to|into|as)\s+(?:a\s+)?{_MARKDOWN}(?:\s+for\s+me)?"),
    ("markdown", rf"{_CONVERT}(?:the\s+)?{_MARKDOWN}(?:\s+version)?\s+(?:of|for|from)\s+{_PAGE}"),
    ("source", rf"{_SHOW}(?:the\s+)?(?:raw\s+)?(?:html(?:\s+(?:source|code))*|source(?:\s+code)?)"
               rf"\s+(?:of|from|at|for)\s+{_PAGE}"),
    ("text", rf"{_SHOW}(?:(?:the\s+)?(?:(?:full|whole|main|plain|readable)\s+)*(?:text|contents?)"
             rf"\s+(?:of|from|at|on)\s+)?{_PAGE}(?:\s+(?:as|in)\s+plain\s+text)?(?:\s+(?:for|to)\s+me)?"),
)  # fmt: skip

_QUESTIONS: Final = (
    rf"what\s+(?:do|does|did)\s+{_PAGE}\s+(?:say|tell(?:\s+(?:me|us))?|mention|state|write|report|"
    rf"know|have\s+to\s+say)\s+(?:{_ABOUT}|of)\s+(?P<query>.+)",
    rf"(?:according\s+to|based\s+on|going\s+by|as\s+per)\s+{_PAGE}\s*[,:]?\s+{_ASKED}",
    rf"(?:using|with|from|on|in|at|from)\s+{_PAGE}\s*[,:]\s+{_ASKED}",
    rf"{_ASKED},?\s+(?:according\s+to|based\s+on|going\s+by|as\s+per)\s+{_PAGE}",
    rf"(?P<query>{_ASKING}\b.+?)\s+(?:on|at|in|from)\s+{_PAGE}",
    rf"{_GO}\s+{_PAGE}\s*,?\s*(?:and|to)\s+(?:then\s+)?(?:tell\s+(?:me|us)|find\s+out|answer|see|say)"
    rf"\s*:?\s+{_ASKED}",
    rf"{_GO}\s+{_PAGE}\s*,?\s*(?:and|to)\s+(?:then\s+)?(?:find|look\s+for)\s+(?P<query>.+)",
    rf"(?:search|scan|look\s+through)\s+(?:in\s+|on\s+|through\s+)?{_PAGE}\s+for\s+(?P<query>.+)",
    rf"find\s+(?:out\s+)?(?P<query>.+?)\s+(?:on|at|in|from)\s+{_PAGE}",
    rf"{_PAGE}\s*[:,;–-]?\s+(?P<query>{_ASKING}\b.+)",
    rf"(?:do|does|did)\s+{_PAGE}\s+(?:say|mention|contain|cover|discuss|state|talk|tell|explain)"
    rf"\s+(?:(?:anything|something)\s+)?(?:(?:{_ABOUT}|of|that|whether|if)\s+)?(?P<query>.+)",
)  # fmt: skip

_URL: Final = lazy_pattern(r"https?://[^\s<>\"“”`]+", re.IGNORECASE)
_TRAILING: Final = ".,;:!?'’…*_"
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_QUOTES: Final = ('""', "''", "“”", "``", "<>", "()", "[]")

_VAGUE_TEXT: Final = (
    "all article author caption content date entry fact happen heading headline image important "
    "information interesting latest line link list main menu new news page paragraph photo "
    "picture point problem recent section sentence site story table text thing title topic url "
    "website word wrong"
)
_VAGUE: Final = frozenset(stem(word) for word in _VAGUE_TEXT.split())
"""Words about pages as such; a question in these alone asks for no sentence of the page."""

LANGUAGE: Final = (
    r"\b(?:in|into)\s+(?:german|french|spanish|italian|portuguese|dutch|english|chinese|japanese|"
    r"russian|hindi|arabic|turkish|polish|korean)"
)
_NEEDS_MORE: Final = lazy_pattern(
    rf"\btranslat|{LANGUAGE}\Z|\bhow\s+many\s+(?:images|lines|links|"
    r"pages|paragraphs|pictures|sentences)\b|\d\s*(?:%|percent)\s+of\b|"
    r"\b(?:times|plus|minus|(?:divided|multiplied)\s+by)\s+\d|\d\s*[+*/^×÷]\s*\d|https?://",
    re.IGNORECASE,
)
"""What no sentence of a page answers: it has to be translated, counted or computed."""


def page_request(request: str) -> PageRequest | None:
    """What the request asks of the one page that it gives the address of; None for all else."""
    found = set_aside(request)
    if found is None:
        return None
    text, url = found
    return _text(text, url) or _summary(text, url) or _question(text, url)


def set_aside(request: str) -> tuple[str, str] | None:
    """The request's words with the mark in the place of its address, and the address.

    None if it has none, or more than one.
    """
    plain = request.replace(PAGE_MARK, " ")
    places = list(_URL.finditer(plain))
    if len(places) != 1:
        return None
    url = _ending_well(places[0][0])
    before, after = plain[: places[0].start()], plain[places[0].start() + len(url) :]
    for opening, closing in _QUOTES:
        if before.endswith(opening) and after.startswith(closing):
            before, after = before[:-1], after[1:]
    text = bare(f"{before}{PAGE_MARK}{after}")
    if len(text) > QUESTION_CHARACTERS_MAX or len(url) > URL_CHARACTERS_MAX:
        return None
    return text, url


def addresses_in(request: str) -> int:
    """How many addresses the request gives."""
    return len(_URL.findall(request))


def _ending_well(url: str) -> str:
    """The address without the marks that end a sentence, or a bracket that it doesn't open."""
    while url and url[-1] in (*_TRAILING, *_BRACKETS):
        opening = _BRACKETS.get(url[-1])
        if opening is not None and url.count(opening) >= url.count(url[-1]):
            break
        url = url[:-1]
    return url


def _text(text: str, url: str) -> PageText | None:
    for form, pattern in _TEXTS:
        if (found := matched(pattern, text)) is not None:
            return PageText(url, form, found["verb"].lower())
    return None


def _summary(text: str, url: str) -> PageSummary | None:
    for pattern in _SUMMARIES:
        if (found := matched(pattern, text)) is None:
            continue
        given = found.groupdict().get("count")
        count = whole_number(given) if given else None
        if not given or (count is not None and 1 <= count <= SENTENCES_MAX):
            return PageSummary(url, count)
    return None


def _question(text: str, url: str) -> PageQuestion | None:
    for pattern in _QUESTIONS:
        found = matched(pattern, text)
        query = "" if found is None else found["query"].strip(" ,:\"'“”")
        if query and _can_be_quoted(query):
            return PageQuestion(url, query)
    return None


def _can_be_quoted(query: str) -> bool:
    """Whether sentences of a page, as they stand, can answer it."""
    if PAGE_MARK in query or asks_more(query) or _NEEDS_MORE.search(query):
        return False
    terms = question_terms(query)
    return COUNTING.match(query) is None and bool({*terms} - _VAGUE)
