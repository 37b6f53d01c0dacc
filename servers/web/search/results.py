"""What an engine found, made into numbered results, and these into text for a model."""

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from servers.web.ports import SearchResult
from servers.web.search.links import host_of, web_link

JOINERS = frozenset("\u200c\u200d") | frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Joiners and variation selectors: emoji and many scripts need them, one at a time."""

FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
) | frozenset(map(chr, range(0xE0100, 0xE01F0)))
"""Letters and marks that show nothing (Default_Ignorable_Code_Point, UAX #44)."""

SPACES = frozenset({"Cc", "Zs", "Zl", "Zp"})
UNSEEN = frozenset({"Cf", "Cs", "Co", "Cn"})
"""Format characters (bidirectional controls, zero widths, tags), halves of pairs, unassigned."""

_RUN_OF_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]{3,}")
"""So many in a row join nothing: they can only be a code."""

READ_AHEAD = 8
"""So many times the limit is looked at, in case most of it can't be seen."""


def plain_text(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control and invisible characters.

    Line ends, tabs and runs of blanks become one space, so that no text can pass for the next
    entry of a list. What is cut ends in an ellipsis.
    """
    start = text[: limit * READ_AHEAD]
    if not start.isascii():
        start = _RUN_OF_JOINERS.sub("", start)
    line = " ".join("".join(map(_seen, start)).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _seen(character: str) -> str:
    if " " <= character <= "~" or character in JOINERS:
        return character
    if character in FILLERS:
        return ""
    category = unicodedata.category(character)
    if category in SPACES or character == "\u2800":  # the braille pattern without a dot
        return " "
    return "" if category in UNSEEN else character


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
        if link is None or _same(link) in results:
            continue
        results[_same(link)] = SearchResult(
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


def _same(link: str) -> str:
    """What two links to one page share: all but scheme, case of the host, last slash, fragment."""
    address, _, _ = link.partition("#")
    _, _, rest = address.partition("//")
    host, slash, path = rest.partition("/")
    return host.lower() + (slash + path).rstrip("/")
