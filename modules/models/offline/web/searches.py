"""Requests to search the web, told from those that ask for more than the results.

Some words are needed that say where to search: "search the web for …", "look up … online",
"google …". What stands behind them is the query as it is, in all its words.
"""

import re
from typing import Final, NamedTuple, TypeAlias

from core.base.text import lazy_pattern
from modules.models.offline.quotes.asking import (
    QUESTION_CHARACTERS_MAX,
    asks_more,
    bare,
    matched,
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
