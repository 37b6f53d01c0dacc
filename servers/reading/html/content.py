"""The main content of a page as markdown, and what stands around it.

Around it stand consent banners, buttons to share, boxes for newsletters, advertisements, lists of
other articles: none has an element of its own in HTML, but the names of their classes and ids are
much the same everywhere. What holds the page's text stays, whatever it is called.

Where the page does not say itself which part holds its text, text counts that is no link: menus are
links, and teasers mostly. From the page's one first heading outwards, the first element that holds
about half of it; without such a heading, the innermost one that holds most of it.

trafilatura finds the content. Where the page's own structure shows that something got lost, or the
page is long and all text, the part that it calls its main one, or that holds its text, is written
as it stands.
Source: A. Barbaresi, Trafilatura, ACL 2021 (demonstrations), pages 122-131.
"""

import re

from core.base.frozen import frozen
from servers.reading.html.markdown import markdown_of
from servers.reading.html.tree import HEADINGS, Element
from servers.reading.markdown import unwrapped

NO_MAIN_CONTENT = "no main content was found on the page; this is all of its text"

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

NAMES = (
    "cookie", "cookies", "consent", "gdpr", "onetrust", "cmp", "cookiebar",
    "share", "sharing", "sharebar", "social", "socials", "sharedaddy", "addthis",
    "newsletter", "subscribe", "subscription", "paywall", "signup",
    "ad", "ads", "advert", "adverts", "advertisement", "adslot", "sponsored", "sponsor", "promo",
    "related", "recommended", "recommendations", "outbrain", "taboola", "trending", "popular",
    "sidebar", "breadcrumb", "breadcrumbs", "pagination", "pager", "toc", "nav", "navbar",
    "navigation", "footer", "skip", "skiplink", "toolbar", "popup", "modal", "overlay", "banner",
    "masthead", "comments", "disqus", "respond", "tags", "taglist", "topbar", "flyout", "spinner",
    "loading", "skeleton", "votes", "vote", "reactions", "editsection",
)  # fmt: skip
"""Words in names of classes and ids, as they are parted by `-`, `_` and change of case."""

NAMES_MAX = 4
"""A name of more words says too much besides: `layout-with-sticky-sidebar-left`."""

WORDS_SHARE_MAX = 0.4
"""Of the page's words; what holds more is not around the text, it is the text."""

NOT_AROUND = frozenset(
    {"html", "body", "main", "article", "h1", "pre", "code", "table", "tr", "td"}
)
STATES = frozenset({"has", "with", "no", "is", "without", "layout", "page", "wrapper", "content"})
"""Words in names that tell of what is inside, or how it is set: `has-sidebar`."""

_CANDIDATES = "//body//*[@class or @id]"
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

SHARE_AROUND_HEADING = 0.45
SHARE_OF_MOST = 0.7
WORDS_MIN = 20
"""With fewer there is nothing to choose from."""

CONTAINERS = frozenset({
    "div", "section", "article", "main", "table", "tbody", "tr", "td", "center", "form", "font",
    "span", "fieldset",
})  # fmt: skip

HEADINGS_KEPT = 0.8
HEADINGS_KEPT_ANYWHERE = 0.5
"""The same on a page that does not say which part is the main one: sidebars have headings too."""

CODE_KEPT = 0.9
CELLS_KEPT = 0.8
WORDS_KEPT = 0.5
"""Shares below which what trafilatura gives is not taken."""

_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*\)")
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_ROW = re.compile(r"^\|(.*)\|\s*$", re.MULTILINE)
_RULE = re.compile(r"^[\s|:-]+$")
_NO_WORDS = re.compile(r"\W+")


@frozen
class Outline:
    """What of a page's structure has to be found again in its markdown."""

    headings: tuple[str, ...]
    code: tuple[str, ...]
    cells: int
    words: int


def main_content(tree: Element) -> tuple[str, tuple[str, ...]]:
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


def drop_surroundings(tree: Element) -> None:
    """Take out what stands around the text.

    A name that something large bears tells nothing on this page: on a forum the comments are the
    text.
    """
    most = WORDS_SHARE_MAX * len(tree.text_content())
    around = set(NAMES)
    for each in tree.xpath(_CANDIDATES):
        if each.tag in NOT_AROUND or each.getparent() is None:
            continue
        names = around & _words_of(each)
        if not names:
            continue
        if len(each.text_content()) > most or next(each.iter("main", "h1"), None) is not None:
            around -= names
        else:
            each.drop_tree()


def _words_of(each: Element) -> set[str]:
    """The words in its names that tell what it is."""
    found: set[str] = set()
    for name in f"{each.get('class') or ''} {each.get('id') or ''}".split():
        words = {word.lower() for word in _WORDS.findall(name)}
        if len(words) <= NAMES_MAX and STATES.isdisjoint(words):
            found |= words
    return found


def main_part(tree: Element) -> Element | None:
    """The part that a page itself calls its main one, if it does so once."""
    marked = tree.xpath("//*[self::main or @role='main']")
    if not marked:
        marked = list(tree.iter("article"))
    return marked[0] if len(marked) == 1 else None


def likely_part(tree: Element) -> Element | None:
    """That part; None where it is the whole page, or there is hardly any text."""
    body = next(tree.iter("body"), tree)
    words = _words_by_element(body)
    whole = words[body]
    if whole < WORDS_MIN:
        return None
    headings = list(body.iter("h1"))
    if len(headings) == 1:
        for around in headings[0].iterancestors():
            if around is body or around.tag == "html":
                break
            if words.get(around, 0) >= SHARE_AROUND_HEADING * whole:
                return around
    found = _innermost(body, words, SHARE_OF_MOST * whole)
    return None if found is body else found


def _words_by_element(body: Element) -> dict[Element, int]:
    """How many words stand in each element and in those inside it, but in no link."""
    words: dict[Element, int] = {}
    for each in reversed(list(body.iter())):  # so those inside an element come before it
        inside = words.get(each, 0) + _count(each.text)
        words[each] = 0 if each.tag == "a" else inside
        parent = each.getparent()
        if parent is not None and each is not body:
            words[parent] = words.get(parent, 0) + words[each] + _count(each.tail)
    return words


def _count(text: str | None) -> int:
    return len(text.split()) if text else 0


def _innermost(begin: Element, words: dict[Element, int], least: float) -> Element:
    found = begin
    while True:
        inner = next(
            (each for each in found if each.tag in CONTAINERS and words.get(each, 0) >= least), None
        )
        if inner is None:
            return found
        found = inner


def outline_of(part: Element) -> Outline:
    """The structure of a part of a page."""
    headings = (unwrapped(each.text_content()) for each in part.iter(*HEADINGS))
    code = (each.text_content() for each in part.iter("pre"))
    return Outline(
        headings=tuple(text for text in headings if text),
        code=tuple(text for text in code if text.strip()),
        cells=sum(1 for each in part.iter("td", "th") if each.text_content().strip()),
        words=len(part.text_content().split()),
    )


def loses_structure(markdown: str, outline: Outline, *, is_main: bool) -> bool:
    """Whether headings, code, tables or most of the text are missing from the markdown.

    Its links may stand as their words or with where they lead.
    """
    markdown = without_targets(markdown)
    kept_words = len(markdown.split())
    if kept_words < (WORDS_KEPT if is_main else WORDS_KEPT / 2) * outline.words:
        return True
    enough = HEADINGS_KEPT if is_main else HEADINGS_KEPT_ANYWHERE
    return (
        _kept_headings(markdown, outline) < enough
        or _kept_code(markdown, outline) < CODE_KEPT
        or _kept_cells(markdown, outline) < (CELLS_KEPT if is_main else CELLS_KEPT / 2)
    )


def without_targets(markdown: str) -> str:
    """The markdown with its links as their words only."""
    return _LINK.sub(r"\1", markdown) if "](" in markdown else markdown


def _kept_headings(markdown: str, outline: Outline) -> float:
    if not outline.headings:
        return 1.0
    lines = {_bare(line.lstrip("#")) for line in markdown.split("\n") if line.startswith("#")}
    return sum(_bare(text) in lines for text in outline.headings) / len(outline.headings)


def _kept_code(markdown: str, outline: Outline) -> float:
    """The share of lines of code that stand between fences as they are."""
    wanted = [line.rstrip() for text in outline.code for line in text.split("\n") if line.strip()]
    if not wanted:
        return 1.0
    fenced = {line.rstrip() for _, text in _FENCED.findall(markdown) for line in text.split("\n")}
    return sum(line in fenced for line in wanted) / len(wanted)


def _kept_cells(markdown: str, outline: Outline) -> float:
    """Tables that only arrange a page count too; so this asks for many of the cells only."""
    if not outline.cells:
        return 1.0
    rows = [row for row in _ROW.findall(markdown) if not _RULE.match(row)]
    return sum(bool(cell.strip()) for row in rows for cell in row.split("|")) / outline.cells


def _bare(text: str) -> str:
    """A heading by its letters and digits alone."""
    return _NO_WORDS.sub("", _INLINE_CODE.sub(lambda found: found[0].strip("`"), text)).lower()
