"""What an engine found, made into numbered results, and these into text for a model."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.base.text import READ_AHEAD, shorten
from servers.reading.markdown import seen, unwrapped
from servers.web.ports import SearchResult
from servers.web.search.links import host_of, page_key, web_link


def plain_text(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control and invisible characters.

    Line ends, tabs and runs of blanks become one space, so that no text can pass for the next
    entry of a list. What is cut ends in an ellipsis.
    """
    return shorten(unwrapped(seen(text[: limit * READ_AHEAD])), limit)


MAX_TITLE_CHARACTERS = 300
MAX_SNIPPET_CHARACTERS = 1_000

NOTHING_FOUND = (
    "No results: the search engine found nothing for this query. "
    "Try fewer or other words, without quotation marks."
)


_EMPHASIS = re.compile(r"</?(?:strong|b|em)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hit:
    """A result as an engine gives it: untrusted, and not yet numbered."""

    title: str
    link: str
    snippet: str


def numbered(hits: Iterable[Hit], limit: int) -> list[SearchResult]:
    """The first `limit` results with a link that can be read, each link once.

    Titles and snippets become one line each; a result without a title is called by its host.
    """
    results: dict[str, SearchResult] = {}
    for hit in hits:
        if len(results) == limit:
            break
        link = web_link(hit.link)
        if link is None or page_key(link) in results:
            continue
        results[page_key(link)] = SearchResult(
            position=len(results) + 1,
            title=plain_text(hit.title, MAX_TITLE_CHARACTERS) or host_of(link),
            link=link,
            snippet=plain_text(hit.snippet, MAX_SNIPPET_CHARACTERS),
        )
    return list(results.values())


def format_results_for_llm(results: Sequence[SearchResult]) -> str:
    """Numbered text: position and title, below them link and snippet."""
    if not results:
        return NOTHING_FOUND
    count = "1 search result" if len(results) == 1 else f"{len(results)} search results"
    return "\n\n".join([f"Found {count}:", *map(_entry, results)])


def without_tags(text: str) -> str:
    """Text that an engine gives as HTML, without its emphasis and entities."""
    return html.unescape(_EMPHASIS.sub("", text))


def _entry(result: SearchResult) -> str:
    lines = [f"{result.position}. {result.title}", f"   URL: {result.link}"]
    if result.snippet:
        lines.append(f"   Summary: {result.snippet}")
    return "\n".join(lines)
