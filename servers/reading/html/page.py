"""A page as markdown: its main content with tables and code, and what it says of itself.

One tree from the first step to the last. trafilatura finds the content; where the page's own
structure shows that something got lost, or the page is long and all text, the part that it calls
its main one, or that holds its text, is written as it stands.
Sources: A. Barbaresi, Trafilatura, ACL 2021 (demonstrations), pages 122-131, and htmldate, Journal
of Open Source Software 5 (51), 2020.
"""

import re
from dataclasses import dataclass, field

from servers.reading.context import Reading
from servers.reading.html.hidden import drop_hidden
from servers.reading.html.links import absolute, base_of, make_absolute
from servers.reading.html.main_part import drop_surroundings, likely_part, main_part
from servers.reading.html.markdown import markdown_of
from servers.reading.html.structure import Outline, loses_structure, outline_of
from servers.reading.html.tree import (
    Element,
    alternative_text,
    document_of,
    strip_surroundings,
    title_of,
    with_bars,
)
from servers.reading.markdown import as_title, cleaned, first_heading, seen, tidied
from servers.reading.pictures.pictures import SIDE_MIN_PIXELS
from servers.reading.source import Extracted, Source, picture_mark, without_marks

NO_MAIN_CONTENT = "no main content was found on the page; this is all of its text"
MUCH_HIDDEN = "the page hides more text than it shows; what it hides was left out"

FOUND_CHARS_MIN = 250
"""Below this trafilatura itself takes its finding for a failure, and gives all words there are."""

SEARCHED_WORDS_MIN = 150
"""A page of fewer is shown whole, rather than searched through by all means."""

LONG_WORDS_MIN = 5_000
LINKED_SHARE_MAX = 0.2
"""A part of so many words, of which so few are links, is text: the little that may stand around
in it is not worth searching, which takes longer than all the rest."""

MAIN_WORDS_MIN = 25
"""With fewer in what a page calls its main part, another one is looked for."""

_DATE = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_ADDRESS = re.compile(r"https?://|www\.|@")
AUTHOR_CHARS_MAX = 100

_ESCAPED_PICTURE = re.compile(r"\\\[(Picture: [^\n]*?)\\\]")
"""What stands for a picture, where trafilatura takes its brackets for those of a link."""


@dataclass(frozen=True, slots=True)
class _Metadata:
    """Empty where the page names none. `date` is ISO 8601, the day of first publication."""

    title: str = ""
    author: str = ""
    date: str = ""


@dataclass(slots=True)
class _Pictures:
    """Collects pictures that nobody describes, up to a number, and marks their places."""

    base: str
    most: int
    addresses: list[str] = field(default_factory=list[str])

    def show(self, picture: Element) -> str:
        """What stands in the text in place of a picture."""
        if said := alternative_text(picture):
            return said
        if len(self.addresses) >= self.most or _is_ornament(picture):
            return ""
        address = absolute(picture.get("src") or picture.get("data-src") or "", self.base)
        if not address or address in self.addresses:
            return ""
        self.addresses.append(address)
        return picture_mark(len(self.addresses) - 1)


def read_html(source: Source, reading: Reading) -> Extracted:
    """The content of a page; empty if there is none.

    The links of a page of the web lead where they do; those of a file become their words.
    """
    return read_page(source.text, source.url, reading.pictures_named)


def read_page(html: str, url: str = "", pictures: int = 0) -> Extracted:
    """The content of a page that came from `url`, or of a file without one.

    Up to `pictures` pictures without a description are named in the result.
    """
    tree = document_of(without_marks(cleaned(html)))
    if tree is None:
        return Extracted("")
    metadata = _metadata_of(tree)
    shown = _Pictures(base_of(tree, url), pictures)
    hidden = drop_hidden(tree)
    make_absolute(tree, url)
    strip_surroundings(tree, shown.show)
    found, notes = _content_of(tree)
    markdown = _ESCAPED_PICTURE.sub(r"[\1]", seen(with_bars(tidied(found))))
    if hidden > len(markdown):
        notes = (*notes, MUCH_HIDDEN)
    return Extracted(
        markdown,
        seen(metadata.title or first_heading(markdown)),
        notes=notes,
        author=seen(metadata.author),
        date=metadata.date,
        pictures=tuple(shown.addresses),
    )


def whole_markdown(html: str) -> str:
    """All of what HTML inside another format shows; its links become their words."""
    tree = document_of(cleaned(html))
    if tree is None:
        return ""
    drop_hidden(tree)
    make_absolute(tree, "")
    strip_surroundings(tree)
    return with_bars(tidied(markdown_of(tree)))


def _metadata_of(tree: Element) -> _Metadata:
    """The metadata of a whole page; its tree stays as it is.

    Only what is marked as date is looked for, in the head and in the text: a guess by every number
    on the page costs more than reading it, and is often wrong.
    """
    from trafilatura.metadata import extract_metadata

    try:
        found = extract_metadata(tree, extensive=False)
    except Exception:  # noqa: BLE001 - odd pages make its parsers of JSON and dates raise anything
        return _Metadata(as_title(title_of(tree)))
    date = found.date or ""
    return _Metadata(
        title=as_title(found.title or title_of(tree)),
        author=_names(found.author or ""),
        date=date if _DATE.fullmatch(date) else "",
    )


def _names(author: str) -> str:
    """Names with commas between; empty for an address or half a page."""
    names = as_title(author.replace(";", ","))
    return "" if _ADDRESS.search(names) or len(names) > AUTHOR_CHARS_MAX else names


def _content_of(tree: Element) -> tuple[str, tuple[str, ...]]:
    """The main content of a page that is stripped, and notes on it."""
    drop_surroundings(tree)
    part = main_part(tree)
    outline = outline_of(tree if part is None else part)
    if part is None or outline.words < MAIN_WORDS_MIN:
        part = likely_part(tree)
        outline = outline_of(tree if part is None else part)
    if part is not None and _is_long_text(part, outline):
        return markdown_of(part), ()
    found = _searched(tree, fast=True)
    if found and not loses_structure(found, outline, is_main=part is not None):
        return found, ()
    if part is not None:
        return markdown_of(part), ()
    found = _searched(tree, fast=False) if outline.words >= SEARCHED_WORDS_MIN else ""
    if found and not loses_structure(found, outline, is_main=False):
        return found, ()
    return markdown_of(tree), (NO_MAIN_CONTENT,) if outline.words else ()


def _is_long_text(part: Element, outline: Outline) -> bool:
    if outline.words < LONG_WORDS_MIN:
        return False
    linked = sum(len(each.text_content()) for each in part.iter("a"))
    return linked <= LINKED_SHARE_MAX * len(part.text_content())


def _searched(tree: Element, *, fast: bool) -> str:
    """What trafilatura takes for the content, which is given no address; empty if that is little.

    Unless it is to be `fast`, it asks other libraries too, which takes twice as long.
    """
    import trafilatura

    found = trafilatura.extract(
        tree,
        fast=fast,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        include_links=True,
        include_formatting=True,
    )
    return found if found and len(found) >= FOUND_CHARS_MIN else ""


def _is_ornament(picture: Element) -> bool:
    """Marked as saying nothing, or as small as what counts visitors."""
    if picture.get("role") in ("presentation", "none"):
        return True
    sides = (picture.get("width") or "", picture.get("height") or "")
    return any(side.isdecimal() and int(side) < SIDE_MIN_PIXELS for side in sides)
