"""A page as markdown: its main content with tables and code, and what it says of itself.

One tree from the first step to the last.
Source of dates: A. Barbaresi, htmldate, Journal of Open Source Software 5 (51), 2020.
"""

import re
from dataclasses import dataclass, field

from core.base.frozen import frozen
from servers.reading.context import Reading
from servers.reading.html.content import main_content
from servers.reading.html.hidden import drop_hidden
from servers.reading.html.markdown import markdown_of
from servers.reading.html.tree import (
    Element,
    absolute,
    alternative_text,
    base_of,
    document_of,
    make_absolute,
    strip_surroundings,
    title_of,
    with_bars,
)
from servers.reading.markdown import as_title, cleaned, first_heading, seen, tidied
from servers.reading.pictures.pictures import SIDE_MIN_PIXELS
from servers.reading.source import Extracted, Source, picture_mark, without_marks

MUCH_HIDDEN = "the page hides more text than it shows; what it hides was left out"

_DATE = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_ADDRESS = re.compile(r"https?://|www\.|@")
AUTHOR_CHARS_MAX = 100

_ESCAPED_PICTURE = re.compile(r"\\\[(Picture: [^\n]*?)\\\]")
"""What stands for a picture, where trafilatura takes its brackets for those of a link."""


@frozen
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
    found, notes = main_content(tree)
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


def _is_ornament(picture: Element) -> bool:
    """Marked as saying nothing, or as small as what counts visitors."""
    if picture.get("role") in ("presentation", "none"):
        return True
    sides = (picture.get("width") or "", picture.get("height") or "")
    return any(side.isdecimal() and int(side) < SIDE_MIN_PIXELS for side in sides)
