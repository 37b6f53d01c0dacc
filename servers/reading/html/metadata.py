"""What a page says of itself: its title, author and date, by trafilatura and htmldate.

Source: A. Barbaresi, htmldate, Journal of Open Source Software 5 (51), 2020.
"""

import re
from dataclasses import dataclass

from servers.reading.html.tree import Element, title_of
from servers.reading.markdown import as_title

_DATE = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_ADDRESS = re.compile(r"https?://|www\.|@")
AUTHOR_CHARS_MAX = 100


@dataclass(frozen=True, slots=True)
class Metadata:
    """Empty where the page names none. `date` is ISO 8601, the day of first publication."""

    title: str = ""
    author: str = ""
    date: str = ""


def metadata_of(tree: Element) -> Metadata:
    """The metadata of a whole page; its tree stays as it is.

    Only what is marked as date is looked for, in the head and in the text: a guess by every number
    on the page costs more than reading it, and is often wrong.
    """
    from trafilatura.metadata import extract_metadata

    try:
        found = extract_metadata(tree, extensive=False)
    except Exception:  # noqa: BLE001 - odd pages make its parsers of JSON and dates raise anything
        return Metadata(as_title(title_of(tree)))
    date = found.date or ""
    return Metadata(
        title=as_title(found.title or title_of(tree)),
        author=_names(found.author or ""),
        date=date if _DATE.fullmatch(date) else "",
    )


def _names(author: str) -> str:
    """Names with commas between; empty for an address or half a page."""
    names = as_title(author.replace(";", ","))
    return "" if _ADDRESS.search(names) or len(names) > AUTHOR_CHARS_MAX else names
