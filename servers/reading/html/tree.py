"""HTML as a tree without what is no content, in forms that libraries can't get wrong.

Its links are absolute, of the web, and harmless in markdown.
Source: WHATWG HTML, 2.4.3 (the document base URL).
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement as Element
from lxml.html import HTMLParser, document_fromstring

from servers.reading.markdown import raised, unwrapped
from servers.reading.pictures.pictures import picture_paragraph

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
NO_CONTENT = (
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas",
    "button", "select", "textarea", "dialog",
)  # fmt: skip
"""Besides forms, unless the page's text stands in one."""

AROUND_CONTENT = ("nav", "aside", "footer", "header", "menu")
AROUND_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary"})
BAR_STAND_IN = "⏐"
"""U+23D0, which hardly any text holds; libraries differ in whether and how they escape a bar."""

LINE_NUMBERS = {"linenos", "gutter", "lineno", "line-numbers"}
"""Classes of cells that hold the numbers of lines of code: Pygments and others."""

FORM_PARAGRAPHS_MIN = 3
"""A form with so many holds the page: ASP.NET writes every page into one."""

ANCHORS = frozenset({"¶", "#", "§", "🔗", "⚓"})
"""Words of links that only lead to the heading they stand in."""

ADDRESS_CHARS_MAX = 2_000
_ESCAPED = {ord(char): f"%{ord(char):02X}" for char in " ()<>[]\\|\"`'{}^"}
"""What would end a link in markdown, or look like one."""

ShowPicture: TypeAlias = Callable[[Element], str]
"""What stands in the text in place of a picture; empty for nothing."""


def document_of(html: str) -> Element | None:
    """The tree of a page with all but its comments; None if there is nothing in it.

    libxml2 cuts what is nested deeper than 256 elements, and never loads what a page names.
    """
    # A declared encoding is refused by lxml in text that is decoded already.
    whole = re.sub(r"^\s*<\?xml[^>]*\?>", "", html, count=1)
    parser = HTMLParser(remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        return document_fromstring(whole, parser)
    except (etree.ParserError, ValueError, AssertionError):
        return None


def with_bars(markdown: str) -> str:
    """The markdown of a tree, with the bars in its cells as they are written there."""
    return markdown.replace(BAR_STAND_IN, "\\|")


def title_of(tree: Element) -> str:
    """What stands in `<title>`; empty without one."""
    return next((unwrapped(each.text_content()) for each in tree.iter("title")), "")


def alternative_text(picture: Element) -> str:
    """What a page says itself of a picture: what is shown is on the web, not here."""
    return picture_paragraph(picture.get("alt") or "")


def strip_surroundings(tree: Element, show_picture: ShowPicture = alternative_text) -> None:
    """Take out what is no content, and make of the rest what libraries can't get wrong.

    What is hidden is out already (`drop_hidden`).
    """
    for each in list(tree.iter("form")):
        if _holds_the_page(each):
            each.tag = "div"
    _drop(tree.iter("form", *NO_CONTENT))
    _drop(each for each in tree.iter("a") if each.text_content().strip() in ANCHORS)
    _drop(each for each in tree.iter(*AROUND_CONTENT) if _is_around(each))
    _drop(each for each in tree.xpath("//*[@role]") if _is_marked_around(each))
    for each in list(tree.iter("img")):
        _replace_picture(each, show_picture(each))
    for each in list(tree.iter("sup", "sub")):
        _write_out(each)
    for each in list(tree.iter("table")):
        if LINE_NUMBERS & {name for cell in each.iter("td") for name in _classes(cell)}:
            _unwrap_listing(each)
    for each in tree.iter("dl", "dt", "dd"):
        # Markdown would indent what a definition holds, and code in it would be no code any more.
        each.tag = "p" if each.tag == "dt" else "div"
    if "|" in tree.text_content():
        for each in list(tree.iter("td", "th")):
            _escape_bars(each)


def _drop(elements: Iterable[Element]) -> None:
    """Take elements out; one in another that is gone already goes with it."""
    for each in list(elements):
        if each.getparent() is not None:
            each.drop_tree()


def _holds_the_page(form: Element) -> bool:
    if next(form.iter("main", "article", "h1"), None) is not None:
        return True
    return sum(1 for _ in form.iter("p")) >= FORM_PARAGRAPHS_MIN


def _is_marked_around(each: Element) -> bool:
    return each.get("role") in AROUND_ROLES and _is_around(each)


def _is_around(each: Element) -> bool:
    # The header of an article holds its title; that of the page the name of the site.
    return not (each.tag in ("header", "footer") and _is_in_article(each))


def _unwrap_listing(table: Element) -> None:
    """Leave the code of a table that only sets line numbers beside it."""
    for cell in list(table.iter("td")):
        if LINE_NUMBERS & _classes(cell):
            cell.drop_tree()
    for each in table.iter("table", "thead", "tbody", "tr", "td"):
        each.tag = "div"


def _classes(each: Element) -> set[str]:
    return set((each.get("class") or "").split())


def _is_in_article(each: Element) -> bool:
    parent = each.getparent()
    while parent is not None:
        if parent.tag in ("article", "main") or parent.get("role") == "main":
            return True
        parent = parent.getparent()
    return False


def _replace_picture(each: Element, words: str) -> None:
    if each.getparent() is not None:
        if words:
            each.tail = f"{words} {each.tail or ''}"
        each.drop_tree()


def _write_out(each: Element) -> None:
    """Leave a superscript as `^48` and a subscript as it is: markdown has neither."""
    parent = each.getparent()
    if parent is None:
        return
    if each.tag == "sup":
        text = each.text_content()
        shown = raised(_before(each, parent), text)
        if shown != text:
            for inner in list(each):
                inner.drop_tree()
            each.text = shown
    each.drop_tag()


def _before(each: Element, parent: Element) -> str:
    """The text right before an element."""
    sibling = each.xpath("preceding-sibling::*[1]")
    if not sibling:
        return parent.text or ""
    return sibling[0].tail or sibling[0].text_content()


def _escape_bars(cell: Element) -> None:
    """Put a stand-in where a bar in a cell would begin another cell of the markdown table."""
    for each in cell.iter():
        each.text = (each.text or "").replace("|", BAR_STAND_IN)
        if each is not cell:
            each.tail = (each.tail or "").replace("|", BAR_STAND_IN)


def base_of(tree: Element, url: str) -> str:
    """The address against which links count: that of the first `<base>`, or the page's own."""
    for each in tree.iter("base"):
        if each.get("href") is not None:
            return absolute(each.get("href") or "", url) or url
    return url


def absolute(link: str, base: str) -> str:
    """Where a link leads; empty if that is no place on the web (scripts, data, mail, files)."""
    # Browsers ignore these inside an address, and so `java\nscript:` is one.
    bare = link.strip().replace("\n", "").replace("\r", "").replace("\t", "")
    if not bare:
        return ""
    try:
        whole = urljoin(base, bare)
        parts = urlsplit(whole)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        return ""
    if len(whole) > ADDRESS_CHARS_MAX or not whole.isprintable():
        return ""
    return whole.translate(_ESCAPED)


def make_absolute(tree: Element, url: str) -> None:
    """Give each link its whole address; leave the words alone of those that lead nowhere.

    Links to places in the page itself become their words too, and all links without a `url`.
    """
    base = base_of(tree, url)
    known: dict[str, str] = {}
    for each in list(tree.iter("a")):
        link = each.get("href")
        if not url or link is None or not link.strip() or link.lstrip().startswith("#"):
            target = ""
        elif link in known:
            target = known[link]
        else:
            target = known[link] = absolute(link, base)
        if target:
            each.set("href", target)
        elif each.getparent() is not None and each.text_content().strip() not in ANCHORS:
            each.drop_tag()
