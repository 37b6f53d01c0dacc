"""What an engine found: untrusted hits, made into numbered results, and these into text.

Links are brought into one form, and remembered as found.
"""

import html
import re
from collections.abc import Iterable, Sequence
from urllib.parse import SplitResult, quote, unquote, urlsplit

from core.base.frozen import frozen
from core.base.text import READ_AHEAD, shorten
from servers.reading.markdown import seen, unwrapped
from servers.web.fetching.targets import DEFAULT_PORTS
from servers.web.ports import Because, SearchResult

MAX_TITLE_CHARACTERS = 300
MAX_SNIPPET_CHARACTERS = 1_000

NOTHING_FOUND = (
    "No results: the search engine found nothing for this query. "
    "Try fewer or other words, without quotation marks."
)

MAX_REMEMBERED_LINKS = 5_000
"""A hundred searches of the largest size; the oldest go first."""

MAX_LINK_CHARACTERS = 2_048
"""Longer addresses are of no use to a model, and servers refuse many of them."""

_EMPHASIS = re.compile(r"</?(?:strong|b|em)>", re.IGNORECASE)


@frozen
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


def plain_text(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control and invisible characters.

    Line ends, tabs and runs of blanks become one space, so that no text can pass for the next
    entry of a list. What is cut ends in an ellipsis.
    """
    return shorten(unwrapped(seen(text[: limit * READ_AHEAD])), limit)


def _entry(result: SearchResult) -> str:
    lines = [f"{result.position}. {result.title}", f"   URL: {result.link}"]
    if result.snippet:
        lines.append(f"   Summary: {result.snippet}")
    return "\n".join(lines)


class FoundLinks:
    """Remembers links, at most `limit` of them; `page_key` tells which are the same."""

    def __init__(self, limit: int = MAX_REMEMBERED_LINKS) -> None:
        self._limit = limit
        self._keys: dict[str, None] = {}

    def remember(self, results: Iterable[SearchResult]) -> None:
        """Take the links of a search in; those seen before become the newest again."""
        for each in results:
            key = page_key(each.link)
            self._keys.pop(key, None)
            self._keys[key] = None
        while len(self._keys) > self._limit:
            del self._keys[next(iter(self._keys))]

    def because(self, url: str) -> Because:
        """Why a page at `url` is read: a search found it, or else somebody typed it."""
        return "found" if page_key(url) in self._keys else "typed"


def page_key(url: str) -> str:
    """What all ways to write the address of one page share.

    Scheme and fragment are left out, and the case of the host, a default port, the last dot of a
    host, the last slash and percent-encoding make no difference.
    """
    parts = split_or_none(url.strip())
    if parts is None:
        return url
    port = "" if parts.port in (None, *DEFAULT_PORTS.values()) else f":{parts.port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{host_of(url)}{port}{unquote(parts.path.rstrip('/') + query)}"


def web_link(address: str) -> str | None:
    """An http(s) address on one line, or None if it is none.

    Blanks and characters that can't be seen are percent-encoded. Refused are other schemes, user
    names in front of the host (they make a link look like another), control characters and
    backslashes, which browsers and libraries read differently.
    """
    trimmed = address.strip()
    if len(trimmed) > MAX_LINK_CHARACTERS or any(map(_is_forbidden, trimmed)):
        return None
    encoded = "".join(map(_visible, trimmed))
    parts = split_or_none(encoded)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    if "@" in parts.netloc or "%" in parts.netloc or len(encoded) > MAX_LINK_CHARACTERS:
        return None
    return encoded


def split_or_none(address: str) -> SplitResult | None:
    """The parts of an address; None if its host or port is wrong in itself."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def host_of(address: str) -> str:
    """The host of an address in lower case, without a last dot; empty if it has none."""
    parts = split_or_none(address)
    return (parts.hostname or "").rstrip(".") if parts else ""


def _is_forbidden(character: str) -> bool:
    return character < " " or character in "\\\x7f" or "\ud800" <= character <= "\udfff"


def _visible(character: str) -> str:
    if character != " " and character.isprintable():
        return character
    return quote(character)
