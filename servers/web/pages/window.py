"""The part of a page that a model is shown, and how it gets the rest."""

import re

from servers.web.ports import ReadPage

WINDOW_CHARACTERS = 8_000
LOOKED_BACK_SHARE = 0.2
"""Of a window, at its end: where a line or a word ends in it, the window does."""

_OUR_MARK = re.compile(r"\[(?=\s*(?:source\s*:|note\s*:|characters\s+\d))", re.IGNORECASE)
"""The beginning of lines that only we write below a text; a page is not to fake them."""


def page_window(page: ReadPage, offset: int = 0, characters: int = WINDOW_CHARACTERS) -> str:
    """The text of a page from `offset` on, with its title above and where it came from below.

    Offsets count characters of the page's markdown. The last line but one, if the page goes on,
    says with which offset to read on.
    """
    whole = page.markdown
    begin = min(max(offset, 0), len(whole))
    end = _end_of_window(whole, begin, characters)
    shown = _OUR_MARK.sub("(", f"{_head(page, begin)}\0{whole[begin:end]}")
    head, _, text = shown.partition("\0")
    parts = [head, text.strip("\n"), _rest(begin, end, len(whole))]
    parts += [f"[Note: {note}]" for note in page.notes if begin == 0]
    parts.append(f"[Source: {page.url}]")
    return "\n\n".join(part for part in parts if part)


def _head(page: ReadPage, begin: int) -> str:
    """The title, unless the text begins with it, and who wrote it when."""
    title = page.title if begin or not _begins_with(page.markdown, page.title) else ""
    by = f"By {page.author}" if page.author else ""
    line = " · ".join(part for part in (by, page.date) if part)
    return "\n\n".join(part for part in (f"# {title}" if title else "", line) if part)


def _begins_with(markdown: str, title: str) -> bool:
    first = markdown.lstrip().partition("\n")[0]
    return first.startswith("# ") and first[2:].strip().casefold() == title.casefold()


def _rest(begin: int, end: int, length: int) -> str:
    if begin >= length and begin:
        return f"[The page ends before: it has {length:,} characters.]"
    if end >= length:
        return ""
    return f"[Characters {begin:,} to {end:,} of {length:,}; read on with offset={end}]"


def _end_of_window(text: str, begin: int, characters: int) -> int:
    end = begin + max(characters, 1)
    if end >= len(text):
        return len(text)
    earliest = end - int(LOOKED_BACK_SHARE * characters)
    for sign in ("\n\n", "\n", " "):
        if (place := text.rfind(sign, earliest, end)) > begin:
            return place + len(sign)
    return end
