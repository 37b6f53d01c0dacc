"""A web page as markdown: its main content with links, tables and code, and what it says of itself.

One tree from the first step to the last. trafilatura finds the content; where the page's own
structure shows that something got lost, or the page is long and all text, the part that it calls
its main one, or that holds its text, is written as it stands.
"""

import re
from dataclasses import dataclass
from typing import Protocol, cast

from servers.reading.html.file_page import loses_structure
from servers.reading.html.hidden import drop_hidden
from servers.reading.html.links import absolute, base_of, make_absolute
from servers.reading.html.main_part import drop_surroundings, likely_part
from servers.reading.html.markdown import markdown_of
from servers.reading.html.metadata import metadata_of
from servers.reading.html.tree import (
    Element,
    Outline,
    alternative_text,
    document_of,
    main_part,
    outline_of,
    strip_surroundings,
    with_bars,
)
from servers.reading.markdown import first_heading, tidied
from servers.reading.process.page_messages import Told, picture_mark, without_marks
from servers.reading.unseen import readable, seen

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

_ESCAPED_PICTURE = re.compile(r"\\\[(Picture: [^\n]*?)\\\]")
"""What stands for a picture, where trafilatura takes its brackets for those of a link."""


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's text, and what is told beside it."""

    markdown: str
    told: Told
    notes: tuple[str, ...] = ()


class _Library(Protocol):
    def extract(
        self,
        filecontent: Element,
        *,
        fast: bool,
        output_format: str,
        include_comments: bool,
        include_tables: bool,
        include_links: bool,
        include_formatting: bool,
    ) -> str | None: ...


@dataclass(slots=True)
class _Pictures:
    """Collects pictures that nobody describes, up to a number, and marks their places."""

    base: str
    most: int
    addresses: list[str]

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


def read_web_page(html: str, url: str, pictures: int = 0) -> PageText:
    """The content of a page that came from `url`; empty if there is none.

    Up to `pictures` pictures without a description are named in the result.
    """
    tree = document_of(without_marks(readable(html)))
    if tree is None:
        return PageText("", Told())
    metadata = metadata_of(tree)
    shown = _Pictures(base_of(tree, url), pictures, [])
    hidden = drop_hidden(tree)
    make_absolute(tree, url)
    strip_surroundings(tree, shown.show)
    found, notes = _content_of(tree)
    markdown = _ESCAPED_PICTURE.sub(r"[\1]", seen(with_bars(tidied(found))))
    title = metadata.title or first_heading(markdown)
    told = Told(seen(title), seen(metadata.author), metadata.date, tuple(shown.addresses))
    if hidden > len(markdown):
        notes = (*notes, MUCH_HIDDEN)
    return PageText(markdown, told, notes)


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
    found = _found_quickly(tree)
    if _is_enough(found) and not loses_structure(found, outline, is_main=part is not None):
        return found, ()
    if part is not None:
        return markdown_of(part), ()
    found = _found_thoroughly(tree) if outline.words >= SEARCHED_WORDS_MIN else ""
    if _is_enough(found) and not loses_structure(found, outline, is_main=False):
        return found, ()
    return markdown_of(tree), (NO_MAIN_CONTENT,) if outline.words else ()


def _is_long_text(part: Element, outline: Outline) -> bool:
    if outline.words < LONG_WORDS_MIN:
        return False
    linked = sum(len(each.text_content()) for each in part.iter("a"))
    return linked <= LINKED_SHARE_MAX * len(part.text_content())


def _is_enough(found: str) -> bool:
    return len(found) >= FOUND_CHARS_MIN


def _found_quickly(tree: Element) -> str:
    return _main_content(tree, fast=True)


def _found_thoroughly(tree: Element) -> str:
    """By other libraries too, which takes twice as long."""
    return _main_content(tree, fast=False)


def _main_content(tree: Element, *, fast: bool) -> str:
    """What trafilatura takes for the content; empty if it finds none. It is given no address."""
    import trafilatura

    library = cast(_Library, trafilatura)
    return (
        library.extract(
            tree,
            fast=fast,
            output_format="markdown",
            include_comments=False,
            include_tables=True,
            include_links=True,
            include_formatting=True,
        )
        or ""
    )


def _is_ornament(picture: Element) -> bool:
    """Marked as saying nothing, or as small as what counts visitors."""
    if picture.get("role") in ("presentation", "none"):
        return True
    sides = (picture.get("width") or "", picture.get("height") or "")
    return any(side.isdecimal() and int(side) < SIDE_MIN_PIXELS for side in sides)


SIDE_MIN_PIXELS = 48
